"""The sentence that says why, and threads that wait alike in one row."""

from __future__ import annotations

from dataclasses import replace

from tests.page.stalls import stalled
from tests.report import verdicts
from whyperf.diagnose.origin import ChainEnd, Hop, HopKind, Origin
from whyperf.diagnose.verdict import VerdictKind
from whyperf.report.headline import headline
from whyperf.report.waiting_threads import name_of, rungs_of


def test_the_first_suspect_says_it_in_a_clause() -> None:
    verdict = verdicts.difference()
    first = replace(verdict.suspects[0], why="It takes 5 s more per run: 1 s became 6 s. And more.", evidence=())
    said = headline(replace(verdict, suspects=(first,), counts=None))
    assert said == f"`{first.function}` takes 5 s more per run"


def test_where_a_value_was_followed_back_it_says_who_set_it() -> None:
    verdict = verdicts.difference()
    hop = Hop(HopKind.CONSTANT, "configure", "tool", "/src/tool.c", 9, "", "limit", "30", "9,000", "")
    origin = Origin((hop,), ChainEnd.CONSTANT, "", 0, 2, 1.0)
    first = replace(verdict.suspects[0], why="It takes 5 s more per run.", evidence=(), origin=origin, proofs=())
    said = said_without_a_proof = headline(replace(verdict, suspects=(first,), counts=None))
    assert said.endswith("5 s more per run; this goes back to `limit` in `configure`, which is 9,000, was 30")
    # WHEN forcing proves it, THEN it is the reason
    proof = replace(verdicts.proof(), function="configure", what="limit", good="30", bad="9,000")
    proven = replace(first, proofs=(proof,))
    said = headline(replace(verdict, suspects=(proven,), counts=None))
    assert said.endswith(", because `limit` in `configure` is 9,000, was 30")
    # WHEN another hop is proven, THEN that one is
    other = replace(first, proofs=(replace(proof, function="plan", what="batch", good="8", bad="1"),))
    said = headline(replace(verdict, suspects=(other,), counts=None))
    assert said.endswith(", because `batch` in `plan` is 1, was 8")
    # WHEN what is proven is a nameless part of the line, THEN its values are not those of what the line is named by
    nameless = replace(first, proofs=(replace(proof, good="2", bad="3", is_part=True),))
    assert headline(replace(verdict, suspects=(nameless,), counts=None)) == said_without_a_proof
    # WHEN the suspect is who set it, THEN that is said once
    setting = replace(first, function="configure", why="Here `limit` is 9,000, was 30; find pays for it.")
    said = headline(replace(verdict, suspects=(setting,), counts=None))
    assert said == "`configure`: here `limit` is 9,000, was 30"


def test_ranges_of_values_are_no_reason_before_a_proof() -> None:
    verdict = verdicts.difference()
    hop = Hop(HopKind.COMPUTED, "add", "tool", "/src/t.c", 9, "", "slot", "36 to 4,056,568", "36 to 4,293,137", "")
    origin = Origin((hop,), ChainEnd.SAME_INPUTS, "", 0, 2, 1.0)
    first = replace(verdict.suspects[0], why="It takes 5 s more per run.", evidence=(), origin=origin, proofs=())
    said = headline(replace(verdict, suspects=(first,), counts=None))
    assert said.endswith("takes 5 s more per run")


def test_where_no_hop_is_known_to_differ_no_hop_is_named() -> None:
    # GIVEN a chain whose good values are unknown
    verdict = verdicts.difference()
    hop = Hop(HopKind.ARGUMENT, "enter", "tool", "/src/t.c", 9, "", "depth", "unknown", "5", "", differs=False)
    origin = Origin((hop,), ChainEnd.CONSTANT, "", None, 2, 1.0)
    first = replace(verdict.suspects[0], why="It takes 5 s more per run.", evidence=(), origin=origin, proofs=())
    said = headline(replace(verdict, suspects=(first,), counts=None))
    assert said.endswith("takes 5 s more per run")


def test_a_range_of_values_is_not_cut() -> None:
    verdict = verdicts.difference()
    told = "The table is typically 16 (2 .. 16); was 5: it flips a branch."
    ranging = replace(verdict.suspects[0], why=told, origin=None)
    said = headline(replace(verdict, suspects=(ranging,), counts=None))
    assert said == f"`{ranging.function}`: the table is typically 16 (2 .. 16)"


def test_without_a_suspect_the_symptom_is_all_there_is_to_say() -> None:
    verdict = verdicts.difference()
    assert headline(replace(verdict, suspects=())) == ""
    assert headline(replace(verdict, kind=VerdictKind.NONE)) == ""


def test_a_stall_is_told_by_its_end() -> None:
    assert headline(stalled()) == "convoy/flusher (30445) slept in `append_line` for 1.49 s; 2 threads waited for it"


def test_five_threads_that_wait_for_one_lock_are_one_row() -> None:
    # GIVEN a chain of waits at one place, that ends with who holds the lock
    (suspect,) = stalled().suspects
    detail = suspect.evidence[0].detail
    waiting, _, holder = detail.ladder
    several = [replace(waiting, thread=f"worker-{n}", tid=100 + n, time_s=0.3 + n / 1000) for n in range(5)]
    rungs = rungs_of(replace(detail, ladder=(*several, holder)))
    # THEN
    assert [name_of(rung) for rung in rungs] == ["convoy/worker-* (5 threads)", "convoy/flusher (30445)"]
    assert rungs[0].ids == (100, 101, 102, 103, 104) and rungs[0].start_s == 0.3
    # AND who waits elsewhere, or by other means, is another
    elsewhere = [replace(several[1], stack=("futex_wait (futex.h:146)", "commit")), several[2]]
    assert len(rungs_of(replace(detail, ladder=(several[0], *elsewhere, holder)))) == 4
