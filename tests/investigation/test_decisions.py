"""Which conditional jumps of bad runs go a way that they never go in good ones."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.collect.observation.programs import compiled
from tests.report import verdicts
from whyperf.collect.blocks.marks import MARK
from whyperf.collect.blocks.run import EnteredBlocks, ModuleBlocks
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.program import Program, find_program
from whyperf.debuginfo.probes.blocks import Ways
from whyperf.debuginfo.probes.plan_file import INCREMENT, PATCH, SITE, PatchPlan, PlanFlags
from whyperf.investigation import decisions
from whyperf.investigation.decisions import OtherDecision, other_decisions, tried_decisions
from whyperf.investigation.investigate import investigate
from whyperf.investigation.so_far import SoFar
from whyperf.investigation.subject import ProofBounds, Subject
from whyperf.investigation.trials import Investigated
from whyperf.origin.program_code import ProgramCode

_PATH = Path("/bin/tool")


def entered(
    begins: dict[int, int], jumps: list[tuple[int, int, int]], asked: dict[int, tuple[int, int]], build_id: str = "ab"
) -> EnteredBlocks:
    """`begins`: when each block was entered first; `jumps`: address, where it leads, what is behind it. `asked`: of
    jumps with traps of their own, when they were taken and passed first."""
    places = sorted({*begins, *asked})
    patches, noted = np.zeros(len(places), PATCH), np.zeros(len(places), MARK)
    patches["at"] = places
    noted["entered"] = [begins.get(at, 0) for at in places]
    noted["taken"], noted["passed"] = ([asked.get(at, (0, 0))[way] for at in places] for way in (0, 1))
    both = Ways.TAKEN | Ways.PASSED
    sites = np.array([(at, -1, taken, passed, both if at in asked else 0, 0, 0) for at, taken, passed in jumps], SITE)
    plan = PatchPlan(
        build_id, 62, PlanFlags.HAS_TRAPS, patches, np.zeros(0, np.uint32), np.zeros(0, INCREMENT), b"", sites
    )
    return EnteredBlocks((ModuleBlocks(_PATH, plan, noted),), 0, True)


# At 0x14 a jump leads to 0x40, else to 0x16; at 0x44 one leads to 0x10, else to 0x46.
_JUMPS = [(0x14, 0x40, 0x16), (0x44, 0x10, 0x46)]


def test_a_jump_that_only_bad_runs_take() -> None:
    good = entered({0x10: 0, 0x16: 2, 0x40: 0, 0x46: 0}, _JUMPS, {})
    bad = entered({0x10: 0, 0x16: 2, 0x40: 9, 0x46: 0}, _JUMPS, {})
    assert other_decisions(good, bad) == [OtherDecision(_PATH, 0x14, False, 9)]


def test_a_jump_that_good_runs_always_take() -> None:
    good = entered({0x10: 0, 0x16: 0, 0x40: 2, 0x46: 3}, _JUMPS, {})
    bad = entered({0x10: 0, 0x16: 7, 0x40: 2, 0x46: 3}, _JUMPS, {})
    assert other_decisions(good, bad) == [OtherDecision(_PATH, 0x14, True, 7)]


def test_a_jump_over_what_good_runs_always_do() -> None:
    # GIVEN that all runs enter what follows, whether they jump or not
    good = entered({0x10: 1, 0x16: 2, 0x40: 3, 0x46: 4}, _JUMPS[:1], {0x14: (0, 2)})
    bad = entered({0x10: 1, 0x16: 2, 0x40: 3, 0x46: 4}, _JUMPS[:1], {0x14: (8, 2)})
    assert other_decisions(good, bad) == [OtherDecision(_PATH, 0x14, False, 8)]
    assert other_decisions(bad, good) == []


def test_code_that_good_runs_do_not_come_to_decides_nothing() -> None:
    # GIVEN a jump in a block that only bad runs enter
    good = entered({0x10: 0, 0x16: 2, 0x40: 0, 0x46: 0}, _JUMPS, {})
    bad = entered({0x10: 0, 0x16: 2, 0x40: 9, 0x46: 12}, _JUMPS, {})
    assert [one.address for one in other_decisions(good, bad)] == [0x14]


def test_what_bad_runs_no_longer_enter_is_none() -> None:
    good = entered({0x10: 1, 0x16: 2, 0x40: 3, 0x46: 4}, _JUMPS, {})
    bad = entered({0x10: 1, 0x16: 2, 0x40: 0, 0x46: 0}, _JUMPS, {})
    assert other_decisions(good, bad) == []


def test_they_come_in_the_order_of_time() -> None:
    jumps = [*_JUMPS, (0x18, 0x60, 0x1A)]
    good = entered({0x10: 0, 0x16: 2, 0x1A: 3, 0x40: 0, 0x46: 0, 0x60: 0}, jumps, {})
    bad = entered({0x10: 0, 0x16: 2, 0x1A: 3, 0x40: 90, 0x46: 0, 0x60: 20}, jumps, {})
    assert [one.address for one in other_decisions(good, bad)] == [0x18, 0x14]


def test_other_builds_are_not_compared() -> None:
    good = entered({0x10: 0, 0x16: 2, 0x40: 0, 0x46: 0}, _JUMPS, {})
    bad = entered({0x10: 0, 0x16: 2, 0x40: 9, 0x46: 0}, _JUMPS, {}, build_id="cd")
    assert other_decisions(good, bad) == []


def _tried(
    monkeypatch: pytest.MonkeyPatch, *runs: EnteredBlocks, ends_in: float = 100.0, has_branches: bool = True
) -> tuple[int, SoFar]:
    """How many runs noted blocks, and what is known afterwards."""
    made = iter(runs)
    asked: list[object] = []

    def run(program: Program, **_: object) -> EnteredBlocks:
        asked.append(program)
        return next(made)

    monkeypatch.setattr(decisions, "run_noting_blocks", run)
    if has_branches:
        monkeypatch.setattr(decisions, "check_branches", lambda *_: None)
    program = Program("/bin/false", ("/bin/false",))
    subject = Subject(program, program, (Lifecycle(), Lifecycle()), {})
    so_far = SoFar()
    bounds = ProofBounds(time.monotonic() + ends_in)
    investigated = Investigated(subject, "cpu_s", bounds, lambda _what: None, so_far)
    code = ProgramCode(_PATH, _PATH, Path("/nowhere"))
    assert tried_decisions(code, investigated, lambda _place: None) == ()
    return len(asked), so_far


def test_no_decision_is_looked_for_where_no_time_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _tried(monkeypatch, ends_in=-1.0)[0] == 0


def test_a_good_run_that_was_not_seen_to_its_end_shows_no_decisions(monkeypatch: pytest.MonkeyPatch) -> None:
    good = entered({0x10: 1, 0x16: 2, 0x40: 0, 0x46: 0}, _JUMPS, {})
    bad = entered({0x10: 1, 0x16: 2, 0x40: 9, 0x46: 0}, _JUMPS, {})
    asked, so_far = _tried(monkeypatch, replace(good, is_whole=False), bad)
    assert asked == 2 and so_far.decisions_note.startswith("No branch was forced. The good run")
    assert "could not be observed" in so_far.decisions_note


@pytest.mark.process
def test_a_program_without_branches_is_not_run_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, so_far = _tried(monkeypatch, has_branches=False)
    assert asked == 0 and "No function of /bin/false or of its own libraries has source" in so_far.decisions_note


def test_a_run_that_noted_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, so_far = _tried(monkeypatch, EnteredBlocks((), 0, True), EnteredBlocks((), 0, True))
    assert asked == 1 and "The good run noted no branches, so none could be compared." in so_far.decisions_note


def test_runs_that_look_for_decisions_have_a_bound_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = entered({0x10: 1, 0x16: 2, 0x40: 0, 0x46: 0}, _JUMPS, {})
    asked, so_far = _tried(monkeypatch, nothing, nothing)
    assert asked == 2 and so_far.runs == 0 and not so_far.decisions_note


_COUNTER = """
#include <stdio.h>
#include <stdlib.h>
static volatile unsigned long sum;
static int large;
int main(int argc, char **argv) {
    long many = atol(argv[argc - 1]);
    if (many > 1000)
        large++;
    for (long number = 0; number < many; number++)
        sum += number;
    printf("%lu\\n", sum);
    return 0;
}
"""


@pytest.mark.process
@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")
def test_branches_that_were_forced_are_said_where_no_value_was(tmp_path: Path) -> None:
    # GIVEN a program whose bad run takes another branch, which is not why it is slow
    tool = str(compiled(tmp_path, _COUNTER, "-O0", name="counter"))
    good, bad = (find_program([tool, many], os.environ) for many in ("1000", "200000000"))
    subject = Subject(good, bad, (Lifecycle(), Lifecycle()), dict(os.environ))
    verdict = replace(verdicts.difference(), suspects=())
    bounds = ProofBounds(time.monotonic() + 100.0)
    # WHEN there is no value to be followed
    again = "whyperf prove good bad"
    found = investigate(verdict, subject, lambda _module: None, bounds, lambda _what: None, again=again)
    # THEN what was forced is said, and what was not
    said = found.notes[-1]
    assert said.startswith("No value was forced. The suspects have no variable")
    assert "Branches were forced to go as in the good run, in 1 run: the output changed, or most" in said


def test_a_trial_that_has_begun_may_take_the_time_that_is_kept_for_decisions() -> None:
    program = Program("/bin/false", ("/bin/false",))
    subject = Subject(program, program, (Lifecycle(), Lifecycle()), {})
    whole = ProofBounds(time.monotonic() + 100.0)
    of_values = Investigated(subject, "cpu_s", whole.part(0.5), lambda _what: None, all_time=whole)
    assert of_values.bounds.left_s <= 50.0
    budget_s = of_values.trying("forcing x").budget_s
    assert budget_s is not None and budget_s > 90.0
