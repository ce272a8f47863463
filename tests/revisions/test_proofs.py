"""One hunk of a difference is taken back, built and measured; the user's repository stays as it was."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from tests.report import verdicts
from tests.revisions.conftest import History
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.program import Program
from whyperf.diagnose.origin import Proof, ProofFinding, ProofMeans
from whyperf.diagnose.verdict import Suspect, Symptom, Verdict, VerdictKind
from whyperf.investigation.subject import Subject
from whyperf.proof.rounds import Trying
from whyperf.revisions import investigating
from whyperf.revisions.checkout import built
from whyperf.revisions.command import program_in
from whyperf.revisions.edits import Edit, edited, made, taken_back
from whyperf.revisions.functions import RevisionDeclaration
from whyperf.revisions.hunks import GitHunk, parse
from whyperf.revisions.investigating import Rebuilding, investigate_hunks
from whyperf.revisions.proofs import Building, prove_by_hunks
from whyperf.revisions.suspects import ComparedCommits

MAKEFILE = "tool: tool.c\n\tcc -g -O1 -o tool tool.c\n"
TOOL = """\
#include <stdio.h>

static unsigned table[4096];

__attribute__((noinline)) unsigned rounds_of(void)
{
    return ROUNDS;
}

__attribute__((noinline)) unsigned look_up(unsigned key)
{
    static volatile unsigned i;
    unsigned found = 0;
    for (i = 0; i < rounds_of(); i++)
        found = table[key & 4095] ^ key;
    return found;
}

__attribute__((noinline)) unsigned label(void)
{
    return LABEL;
}

int main(void)
{
    unsigned total = 0;
    for (unsigned i = 0; i < 200000; i++)
        total += look_up(i);
    printf("%u %u\\n", total, label());
    return 0;
}
"""


def _tool(rounds: int, label: str) -> dict[str, str]:
    return {"tool.c": TOOL.replace("ROUNDS", str(rounds)).replace("LABEL", label), "Makefile": MAKEFILE}


@pytest.fixture
def compared(history: History, cache: Path) -> ComparedCommits:
    history.commit("fast", {**_tool(4, "20 + 1"), "notes": "old\n"})
    history.commit("slow", {**_tool(200, "3 * 7"), "notes": "new\n"})
    good, bad = (built(history.repository, name, "make", cache=cache) for name in ("HEAD~1", "HEAD"))
    return ComparedCommits(history.repository, good, bad, ("HEAD~1", "HEAD"))


BUILDING = Building("make", ("./tool",), (Lifecycle(), Lifecycle()), dict(os.environ))


def test_hunk_is_found_and_proven(history: History, compared: ComparedCommits) -> None:
    before = history.state()
    (proof,) = prove_by_hunks(compared, (), {}, BUILDING, Trying(most_runs=3))
    assert (proof.finding, proof.means) == (ProofFinding.PROVEN, ProofMeans.HUNK), proof
    assert (Path(proof.file).name, proof.line, proof.module) == ("tool.c", 7, "tool")
    assert proof.sentence.startswith("Proven: with the change at tool.c:7 taken back, ")
    assert history.state() == before
    assert "200" in (compared.bad.top / "tool.c").read_text()


def test_hunks_of_a_suspects_function_come_first(compared: ComparedCommits) -> None:
    suspect = Suspect(
        1, "cpu", "look_up", "tool", "", 0, -1, None, None, ("main", "rounds_of"), 1.0, 1.0, "high", "", ""
    )
    declared = {name: RevisionDeclaration(str(compared.bad.top / "tool.c"), line) for name, line in (("rounds_of", 5),)}
    (proof,) = prove_by_hunks(compared, (suspect,), declared, BUILDING, Trying(most_runs=3))
    assert proof.finding is ProofFinding.PROVEN and proof.function == "rounds_of", proof


class _Quiet:
    def step(self, what: str, done: float, left_s: float | None) -> None: ...

    def tick(self) -> None: ...


def _verdict(*proofs: Proof) -> Verdict:
    symptom = Symptom("cpu", "run", 1.0, 10.0, "cpu_s", (3, 3))
    suspect = Suspect(1, "cpu", "look_up", "tool", "", 0, -1, None, None, (), 1.0, 1.0, "high", "", "", proofs=proofs)
    return Verdict(VerdictKind.DIFFERENCE, symptom, (suspect,), ())


def test_a_verdict_gets_the_proof(compared: ComparedCommits) -> None:
    good, bad = (program_in(one, ("./tool",), os.environ) for one in (compared.good, compared.bad))
    subject = Subject(good, bad, (Lifecycle(), Lifecycle()), dict(os.environ))
    now = time.monotonic()
    # GIVEN no recordings that say where functions are: the change has no name
    verdict = investigate_hunks(_verdict(), compared, subject, Rebuilding("make", (), now + 100, _Quiet()))
    (suspect,) = verdict.suspects
    assert [(one.finding, one.means) for one in suspect.proofs] == [(ProofFinding.PROVEN, ProofMeans.HUNK)]
    # AND what is proven already, cannot be built or has no time left stays as it is
    proven = _verdict(*suspect.proofs)
    for given, rebuilding in (
        (proven, Rebuilding("make", (), now + 100, _Quiet())),
        (_verdict(), Rebuilding(None, (), now + 100, _Quiet())),
        (_verdict(), Rebuilding("make", (), now - 1, _Quiet())),
    ):
        assert investigate_hunks(given, compared, subject, rebuilding) is given


@pytest.mark.parametrize(
    ("finding", "function", "first", "told"),
    [
        (ProofFinding.SUPPORTED, "rounds_of", "rounds_of", 1),
        (ProofFinding.SUPPORTED, "", "look_up", 1),
        (ProofFinding.NOT_TESTABLE, "rounds_of", "look_up", 1),
    ],
)
def test_a_hunk_that_is_not_proven_is_told(
    finding: ProofFinding, function: str, first: str, told: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    hunk = next(proof for one in verdicts.proven().suspects for proof in one.proofs)
    hunk = replace(hunk, finding=finding, function=function, means=ProofMeans.HUNK)
    monkeypatch.setattr(investigating, "prove_by_hunks", lambda *_: (hunk,))

    program = Program("./tool", ("./tool",))
    subject = Subject(program, program, (Lifecycle(), Lifecycle()), {})

    def judged(verdict: Verdict) -> Verdict:
        rebuilding = Rebuilding("make", (), time.monotonic() + 100, _Quiet())
        return investigate_hunks(verdict, cast(ComparedCommits, None), subject, rebuilding)

    suspects = judged(_verdict()).suspects
    assert (suspects[0].function, [len(one.proofs) for one in suspects]) == (first, [told, *[0] * (len(suspects) - 1)])
    # AND where nobody is suspected, its function is named, or a note says it
    alone = judged(replace(_verdict(), suspects=()))
    named = [one.function for one in alone.suspects]
    assert named == ["rounds_of"] if first == "rounds_of" else alone.notes == (hunk.sentence,)
    # AND what is supported already stays first
    known = replace(hunk, finding=ProofFinding.SUPPORTED, function="look_up")
    assert judged(_verdict(known)).suspects[0].function == "look_up"


DIFF = """\
@@ -2,1 +2,2 @@
-two
+deux
+more
@@ -4,1 +4,0 @@
-four
@@ -5,0 +6 @@
+six
"""
OLD, NEW = "one\ntwo\nthree\nfour\nfive\n", "one\ndeux\nmore\nthree\nfive\nsix\n"


def _hunks() -> list[GitHunk]:
    return list(parse(DIFF.split("\n")))


def test_edits_lead_from_one_revision_to_the_other_and_back() -> None:
    hunks = _hunks()
    assert edited(NEW, [taken_back("f", hunk) for hunk in hunks]) == OLD
    assert edited(OLD, [made("f", hunk) for hunk in hunks]) == NEW


def test_single_edits() -> None:
    first, second, _ = _hunks()
    assert edited(NEW, [taken_back("f", first)]) == "one\ntwo\nthree\nfive\nsix\n"
    assert edited(NEW, [taken_back("f", second)]) == "one\ndeux\nmore\nthree\nfour\nfive\nsix\n"
    assert edited("", [Edit("f", 0, 0, ("text",))]) == "text\n"
