"""Which hops of a chain are tried, in which order, and what is said of the others."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.collect.observation.programs import compiled
from tests.report import verdicts
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.program import find_program
from whyperf.diagnose.origin import ChainEnd, Hop, HopKind, Origin, Proof, ProofFinding
from whyperf.investigation import proving
from whyperf.investigation.investigate import follow
from whyperf.investigation.proving import ChainProof
from whyperf.investigation.so_far import SoFar
from whyperf.investigation.subject import ProofBounds, Subject
from whyperf.investigation.trials import Investigated
from whyperf.origin.forcible import ForcibleSite
from whyperf.origin.search import FoundOrigin
from whyperf.origin.starts import start_at_variable
from whyperf.proof.by_value import ForcedPlace
from whyperf.proof.rounds import ProofSide, Trying, UsualRuns, not_testable
from whyperf.proof.sentences import ProofClaim
from whyperf.proof.trial import RunEnding, TrialKind, TrialRun

PROGRAM = Path("/nowhere/program")
ONE, CHANGING = ((5, 40),), ((5, 20), (6, 20))


def _site(good: tuple[tuple[int, int], ...], bad: tuple[tuple[int, int], ...], **other: object) -> ForcibleSite:
    made = {"hits_agree": True, "is_address": False, "in_good": (PROGRAM, 16), **other}
    return ForcibleSite(PROGRAM, 16, True, 0, 8, "", ("", ""), good, bad, **made)  # type: ignore[arg-type]


def _found(*sites: ForcibleSite | None, turn: int = 0, inputs: int = 0, counts: tuple[int, ...] = ()) -> FoundOrigin:
    """A chain whose hops are named a, b, c ...; the last `inputs` hand on what comes from outside."""
    many = len(sites)
    values = [("64", "4096") if row >= many - inputs else (f"{row}", f"{row + 9}") for row in range(many)]
    hops = tuple(
        Hop(HopKind.COMPUTED, "f", "program", "f.c", row + 1, "", "abcdefgh"[row], *values[row], "")
        for row in range(many)
    )
    origin = Origin(hops, ChainEnd.OUTSIDE if inputs else ChainEnd.CONSTANT, "", turn, 4, 1.0)
    forcible = tuple(() if site is None else (site,) for site in sites)
    return FoundOrigin(origin, forcible, tuple(row in counts for row in range(many)))


def _tried(
    monkeypatch: pytest.MonkeyPatch,
    found: FoundOrigin,
    *,
    ends_in: float = 1000.0,
    settled: str = "",
    so_far: SoFar | None = None,
    parts: dict[str, float] | None = None,
    runs_before: int = 0,
    then: Callable[[], None] = lambda: None,
    most: list[int | None] | None = None,
) -> tuple[list[tuple[str, bool]], list[str]]:
    """Trials as pairs of what was forced and whether in order; and what is said in the end. `parts`: what removes only
    a part of the excess. `runs_before`: of a trial that pauses; `then`: after each trial that ended; `most`: how many
    runs of each kind they may have."""
    asked: list[tuple[str, bool]] = []

    class Trial:
        def __init__(
            self,
            _good: ProofSide,
            _bad: ProofSide,
            places: Sequence[ForcedPlace],
            claim: ProofClaim,
            trying: Trying,
            *,
            usual: UsualRuns,
        ) -> None:
            self._claim, self._trying = claim, trying
            self._asked = claim.what, places[0].in_order
            self.removed_in_part = 0.0

        def proof(self, *, pauses: bool = False, most_runs: int | None = None) -> Proof | None:
            what, part = self._claim.what, (parts or {}).get(self._claim.what, 0.0)
            if pauses and part:
                self.removed_in_part = part
                for number in range(runs_before):
                    self._trying.on_run(TrialKind.FORCED, number)
                return None
            if most is not None:
                most.append(most_runs)
            then()
            asked.append(self._asked)
            self._trying.on_run(TrialKind.BAD, 0)
            told = not_testable(self._claim, self._trying.measure, f"{what} was tried.")
            supported = replace(verdicts.proof(), finding=ProofFinding.SUPPORTED, sentence=f"{what}: {part}")
            return verdicts.proof() if what == settled else supported if part else told

    monkeypatch.setattr(proving, "ValueTrial", Trial)
    program = find_program(["/bin/true"], os.environ)
    subject = Subject(program, program, (Lifecycle(), Lifecycle()), {})
    bounds = ProofBounds(time.monotonic() + ends_in)
    done = ChainProof(found, Investigated(subject, "cpu_s", bounds, lambda _what: None, so_far or SoFar())).tried()
    return asked, [one.proof.sentence for one in done]


def test_one_value_comes_before_changing_ones_and_inputs_come_last(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _found(
        _site(ONE, ((9, 40),)), _site(CHANGING, ((7, 40),)), _site(ONE, ((8, 40),)), _site(ONE, ((4, 40),)),
        turn=1, inputs=2,
    )  # fmt: skip
    asked, _ = _tried(monkeypatch, found)
    assert asked == [("a", False), ("b", True), ("c", False)]


def test_one_trial_of_the_input_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, said = _tried(monkeypatch, _found(_site(ONE, ((9, 40),)), _site(ONE, ((8, 40),)), inputs=2))
    assert asked == [("a", False)]
    assert said[1].endswith("`b` in f was not forced: it only passes on a value that was forced elsewhere.")


def test_what_settles_it_is_the_last_trial_and_nothing_else_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _found(_site(ONE, ((9, 40),)), None, _site(ONE, ((8, 40),)), turn=2)
    asked, said = _tried(monkeypatch, found, settled="c")
    assert asked == [("c", False)] and len(said) == 1


def test_what_removes_only_a_part_waits_until_the_others_were_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    three = _found(_site(ONE, ((9, 40),)), _site(ONE, ((8, 40),)), _site(ONE, ((7, 40),)), turn=2)
    # GIVEN a hop that removes all of the excess
    asked, said = _tried(monkeypatch, three, parts={"c": 0.5, "b": 0.6}, settled="a")
    assert asked == [("a", False)] and len(said) == 1
    # GIVEN none: what removes most of it goes on first, and what is only supported does not end the chain
    asked, said = _tried(monkeypatch, three, parts={"c": 0.5, "b": 0.6})
    assert asked == [("a", False), ("b", False), ("c", False)]
    assert said == ["Not testable: a was tried.", "b: 0.6", "c: 0.5"]
    # GIVEN only one hop that can be tried, there is nothing to wait for
    asked, said = _tried(monkeypatch, _found(None, _site(ONE, ((9, 40),)), turn=1), parts={"b": 0.5})
    assert asked == [("b", False)] and said == ["b: 0.5"]


def _used(runs: int, run: TrialRun = TrialRun(1.0, 0)) -> SoFar:  # noqa: B008 (frozen)
    """After so many runs, and a first trial that stopped after one of each kind."""
    return SoFar(most_runs=20, runs=runs, usual={TrialKind.GOOD: [run], TrialKind.BAD: [run]})


def test_a_trial_that_waits_goes_on_only_if_there_are_runs_and_time(monkeypatch: pytest.MonkeyPatch) -> None:
    two = _found(_site(ONE, ((9, 40),)), _site(ONE, ((8, 40),)), _site(ONE, ((7, 40),)), turn=2)
    parts, so_far, most = {"c": 0.5, "b": 0.6}, _used(8), list[int | None]()
    # GIVEN no runs left when the others were tried
    asked, said = _tried(monkeypatch, two, parts=parts, so_far=so_far, runs_before=5)
    assert not asked and so_far.ran_out and so_far.runs == 18
    assert said[:2] == [
        "Not testable: forcing `b` removes 60% of the excess in one run, and no more runs are allowed.",
        "Not testable: forcing `c` removes 50% of the excess in one run, and no more runs are allowed.",
    ]
    assert said[2].endswith("`a` in f was not forced: no more runs are allowed.")
    # GIVEN some: so many of each kind as they are enough for, of which the good and the bad ones are lacking as well
    asked, _ = _tried(monkeypatch, two, parts=parts, so_far=_used(4), runs_before=5, most=most)
    assert [what for what, _ in asked] == ["a", "b"] and most == [None, 2]
    # GIVEN a first trial of all, it goes on until it tells
    asked, said = _tried(monkeypatch, two, parts=parts, so_far=SoFar(most_runs=5), runs_before=5, most=most)
    assert most[-1] == Trying.most_runs
    # GIVEN no time left for another such part
    asked, said = _tried(monkeypatch, two, parts=parts, so_far=_used(0), ends_in=-1.0)
    assert not asked and said[0].endswith("`c` removes 50% of the excess in one run, and there is no time left.")


def test_no_trial_goes_on_if_nothing_may_be_forced_or_the_program_always_crashes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    two = _found(_site(ONE, ((9, 40),)), _site(ONE, ((8, 40),)), turn=1)
    three = _found(_site(ONE, ((9, 40),)), _site(ONE, ((8, 40),)), _site(ONE, ((7, 40),)), turn=2)
    crashed = TrialRun(1.0, 139, RunEnding.CRASHED)
    crashing = _used(0, crashed)

    def crash() -> None:
        for kind in (TrialKind.GOOD, TrialKind.BAD):
            crashing.usual[kind].append(crashed)

    asked, said = _tried(monkeypatch, three, parts={"c": 0.5, "b": 0.6}, so_far=crashing, then=crash)
    assert asked == [("a", False)] and said == ["Not testable: a was tried."]
    shared = _used(0)

    def forbid() -> None:
        shared.forbidden = "Others use its files."

    asked, said = _tried(monkeypatch, two, parts={"b": 0.5}, so_far=shared, then=forbid)
    assert asked == [("a", False)]
    assert said[1].endswith("removes 50% of the excess in one run, and other processes use the program's files.")


def test_every_hop_that_was_not_tried_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _found(
        _site(ONE, ((9, 40),)),
        None,
        _site(ONE, ((8, 40),), is_address=True),
        _site(ONE, ((5, 39), (6, 1))),
        _site(CHANGING, ((7, 30),), hits_agree=False),
        _site(CHANGING, ((7, 40),), in_good=None),
        None,
        counts=(6,),
    )
    asked, said = _tried(monkeypatch, found)
    assert asked == [("a", False), ("d", True)]
    assert said == [
        "Not testable: a was tried.",
        "Not testable: d was tried.",
        "Not testable: `b` in f was not forced: it is only in memory or in a vector register, where "
        "whyperf cannot change it.",
        "Not testable: `c` in f was not forced: it is an address, which means something else in every run.",
        "Not testable: `e` in f was not forced: its values change from call to call, and good and bad runs do not "
        "pass it equally often.",
        "Not testable: `f` in f was not forced: its values change from call to call, and the good build has other "
        "code there.",
        "Not testable: `g` in f was not forced: only how often this code runs differs, so there is no value to force.",
    ]


def test_what_is_not_known_to_differ_is_not_said_to_be_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _found(_site(ONE, ((9, 40),), is_address=True), None)
    hops = tuple(replace(hop, differs=False) for hop in found.origin.hops)
    asked, said = _tried(monkeypatch, replace(found, origin=replace(found.origin, hops=hops, turn=None)))
    assert not asked and said == [
        "Not testable: `a` in f was not forced: it is an address, which means something else in every run.",
        "Not testable: `b` in f was not forced: good and bad runs are not known to differ there.",
    ]


def test_too_many_hops_and_too_little_time_are_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    many = _found(*(_site(ONE, ((row + 9, 40),)) for row in range(5)))
    asked, said = _tried(monkeypatch, many)
    assert len(asked) == 3 and said[3:] == [
        f"Not testable: `{name}` in f was not forced: 3 other trials of the same chain came first." for name in "de"
    ]
    asked, said = _tried(monkeypatch, many, ends_in=-1.0)
    assert len(asked) == 1 and said[1].endswith("there is no time left.")


def test_what_was_forced_for_one_chain_is_not_forced_again_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    so_far = SoFar()
    first, said = _tried(monkeypatch, _found(_site(ONE, ((9, 40),))), so_far=so_far)
    again, said_again = _tried(monkeypatch, _found(None, _site(ONE, ((9, 40),)), turn=1), so_far=so_far)
    other, _ = _tried(monkeypatch, _found(_site(ONE, ((8, 40),))), so_far=so_far)
    assert (len(first), len(again), len(other)) == (1, 0, 1)
    assert said_again[0] == said[0] == "Not testable: a was tried."


def test_no_trial_begins_for_which_no_runs_are_left_but_a_first_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _found(_site(ONE, ((9, 40),)), _site(ONE, ((8, 40),)))
    so_far = SoFar(most_runs=20, runs=20)
    asked, _ = _tried(monkeypatch, found, so_far=so_far)
    assert len(asked) == 2 and so_far.runs == 22 and not so_far.ran_out
    used = SoFar(most_runs=20, runs=16, usual={TrialKind.GOOD: [TrialRun(1.0, 0)], TrialKind.BAD: [TrialRun(2.0, 0)]})
    asked, said = _tried(monkeypatch, found, so_far=used)
    assert not asked and used.ran_out
    assert said[0] == "Not testable: `a` in f was not forced: no more runs are allowed."


@pytest.mark.process
@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")
def test_a_chain_of_changing_values_is_proven_in_order(tmp_path: Path) -> None:
    """No hop but the option itself has one value."""
    built = tmp_path / "tables"
    subprocess.run(["gcc", "-g", "-O2", Path(__file__).parent / "programs" / "tables.c", "-o", built], check=True)
    good, bad = (find_program([str(built), megabytes], os.environ) for megabytes in ("64", "4096"))
    subject = Subject(good, bad, (Lifecycle(), Lifecycle()), dict(os.environ))
    bounds = ProofBounds(time.monotonic() + 120)
    found = follow(start_at_variable(built, "find", "count"), subject, bounds, lambda _what: None)
    done = ChainProof(found, Investigated(subject, "cpu_s", bounds, lambda _what: None)).tried()
    assert [one.proof.finding for one in done] == [ProofFinding.PROVEN], [one.proof.sentence for one in done]
    assert done[0].proof.function == "slots_for" and "each time to the one of the same call" in done[0].proof.sentence


def _chain(folder: Path, source: str, good: str, bad: str, variable: str) -> tuple[FoundOrigin, Investigated]:
    """What follows a variable, and what may force it."""
    built = compiled(folder, source)
    subject = Subject(
        find_program([str(built), good], os.environ),
        find_program([str(built), bad], os.environ),
        (Lifecycle(), Lifecycle()),
        dict(os.environ),
    )
    bounds = ProofBounds(time.monotonic() + 120)
    found = follow(start_at_variable(built, *variable.split(".")), subject, bounds, lambda _what: None)
    return found, Investigated(subject, "cpu_s", bounds, lambda _what: None)


ROUNDS = r"""
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static int planned_rounds(int size) {
    if (size > 100) return size * 30;
    return size;
}
static volatile long spent;
__attribute__((noinline)) static void work(int rounds) {
    for (int round = 0; round < rounds; round++)
        for (int step = 0; step < 20000; step++) spent += step;
}
int main(int count, char **words) {
    work(planned_rounds(atoi(words[1])));
    puts("done");
    %s
    return 0;
}
"""


@pytest.mark.process
@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")
def test_what_good_runs_do_not_reach_is_forced_where_both_runs_do(tmp_path: Path) -> None:
    # GIVEN a value that is returned by a branch of its own in bad runs
    found, investigated = _chain(tmp_path, ROUNDS.replace("%s", ""), "100", "101", "work.rounds")
    done = ChainProof(found, investigated).tried()
    # THEN forcing it in good runs does what it does in bad ones
    assert [one.proof.finding for one in done] == [ProofFinding.PROVEN], [one.proof.sentence for one in done]
    assert found.origin.hops[done[0].hop].function == "planned_rounds"


@pytest.mark.process
@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")
def test_a_program_that_always_crashes_is_told_once(tmp_path: Path) -> None:
    found, investigated = _chain(tmp_path, ROUNDS.replace("%s", "abort();"), "100", "101", "work.rounds")
    said = [one.proof.sentence for one in ChainProof(found, investigated).tried()]
    assert said == ["Not testable: it ends by SIGABRT in every run, so a forced crash could not be told from its own."]
    # THEN neither another chain nor decisions are tried
    runs = investigated.so_far.runs
    assert ChainProof(found, investigated).tried()[1:] == []
    assert investigated.so_far.runs == runs


LIMIT = r"""
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static int parse_limit(const char *text) {
    int limit = atoi(text);
    if (limit == 0) limit = 1 << 30;
    return limit;
}
static volatile long spent;
__attribute__((noinline)) static void work(int items, int limit) {
    for (int item = 0; item < items && item < limit; item++)
        for (int step = 0; step < 400; step++) spent += step;
}
int main(int count, char **words) {
    int limit = parse_limit(words[1]);
    work(300000, limit);
    printf("limit %d\n", limit);
    return 0;
}
"""


@pytest.mark.process
@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")
def test_what_the_program_makes_of_the_input_is_not_said_to_come_from_outside(tmp_path: Path) -> None:
    found, investigated = _chain(tmp_path, LIMIT, "10000", "0", "work.limit")
    first = ChainProof(found, investigated).tried()[0].proof
    assert first.finding is ProofFinding.TRIGGER and first.function == "parse_limit", first
    assert "not the mistake" not in first.sentence and "straight from outside" not in first.sentence
    assert "the program's output becomes the good run's" in first.sentence


def test_a_chain_that_ends_with_a_made_value_does_not_hand_on_the_input(monkeypatch: pytest.MonkeyPatch) -> None:
    # GIVEN a chain that leads outside, and that ends with what the program makes of the input
    found = _found(_site(ONE, ((9, 40),)), _site(ONE, ((8, 40),)), inputs=2)
    claims: list[ProofClaim] = []

    class Trial:
        def __init__(self, *given: object, **_usual: object) -> None:
            claims.append(given[3])  # type: ignore[arg-type]

        def proof(self, *, pauses: bool, most_runs: int | None) -> Proof:
            return not_testable(claims[-1], "cpu_s", "tried.")

    def claimed(kind: HopKind) -> ProofClaim:
        hops = tuple(replace(hop, kind=kind) for hop in found.origin.hops)
        chain = replace(found, origin=replace(found.origin, hops=hops))
        program = find_program(["/bin/true"], os.environ)
        subject = Subject(program, program, (Lifecycle(), Lifecycle()), {})
        bounds = ProofBounds(time.monotonic() + 100)
        ChainProof(chain, Investigated(subject, "cpu_s", bounds, lambda _what: None)).tried()
        return claims.pop()

    monkeypatch.setattr(proving, "ValueTrial", Trial)
    assert claimed(HopKind.CONSTANT).is_made and claimed(HopKind.CHOSEN).is_made
    assert not claimed(HopKind.RETURNED).is_made and claimed(HopKind.RETURNED).from_outside


COPIED = r"""
#include <stdio.h>
#include <stdlib.h>
#define KEPT __attribute__((noinline, noclone))
static volatile unsigned long sink;
KEPT static void spin(long rounds) { for (long i = 0; i < rounds; i++) sink += (unsigned long)i * 7; }
static inline __attribute__((always_inline)) long planned(long mode) {
%s
}
KEPT static void early(long mode) { for (int i = 0; i < 12; i++) spin(planned(mode)); }
KEPT static void late(long mode) {
    for (int i = 0; i < 11; i++) {
        sink += 5;
        spin(planned(mode));
    }
}
int main(int argc, char **argv) {
    int mode = atoi(argv[1]) * 3 / 2;
    for (int i = 0; i < 3; i++) { early(mode); late(mode); }
    puts("done");
    return 0;
}
"""


@pytest.mark.process
@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")
def test_what_two_callers_make_is_not_proven_in_one_of_them(tmp_path: Path) -> None:
    # GIVEN a choice that is inlined into two callers, and may count as their own lines: then only `spin` is one place
    made = "    return mode > 1 ? 2000000 : 100000;"
    found, investigated = _chain(tmp_path, COPIED.replace("%s", made), "0", "2", "spin.rounds")
    done = ChainProof(found, investigated).tried()
    best = done[-1].proof
    assert best.finding is ProofFinding.PROVEN, [one.proof.sentence for one in done]
    assert best.removed is not None and best.removed.value > 0.9 and best.function in ("spin", "planned"), best


@pytest.mark.process
@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")
def test_copies_of_an_instruction_are_forced_together(tmp_path: Path) -> None:
    source = COPIED.replace("%s", "    long rounds = mode * 650000 + 100000;\n    return rounds;")
    found, investigated = _chain(tmp_path, source, "0", "2", "spin.rounds")
    hop = next(row for row, one in enumerate(found.origin.hops) if one.function == "planned")
    assert [len(site.copies) for site in found.forcible[hop]][:1] == [1]
    done = ChainProof(found, investigated).tried()
    assert [(one.hop, one.proof.finding) for one in done] == [(hop, ProofFinding.PROVEN)], done


@pytest.mark.process
@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")
def test_of_too_many_copies_only_one_is_forced(tmp_path: Path) -> None:
    # GIVEN a line that is inlined into more functions than are forced together
    many = "\n".join(
        f"__attribute__((used)) KEPT static void f{one}(long m) {{ spin(planned(m)); }}" for one in range(70)
    )
    source = COPIED.replace("%s", "    long rounds = mode * 650000 + 100000;\n    return rounds;")
    source = source.replace("KEPT static void early", f"{many}\nKEPT static void early")
    found, _ = _chain(tmp_path, source, "0", "2", "spin.rounds")
    hop = next(row for row, one in enumerate(found.origin.hops) if one.function == "planned")
    # THEN whoever only follows the value does not look for copies
    site = found.forcible[hop][0]
    assert "copies" not in vars(site)
    assert site.copies == ()
