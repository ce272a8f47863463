"""Calls through pointers: a caller that calls whatever it is given has taken no new path."""

from __future__ import annotations

import pytest

from tests.engines.made import recording
from whyperf.engines.excess.compare import compare
from whyperf.engines.run import Run

SERVE = ("main@12", "serve@31")
OTHER_WORK = [((*SERVE, "run@21", "get"), 2.0), (("main@12", "reply"), 2.0)]


def charged(good, bad, **more):
    excess = compare([Run(recording(good, **more))], [Run(recording(bad))])
    return {excess.name(account.function): account.share for account in excess.accounts if account.share > 1e-9}


def new(*path, also=("sort", "order"), good=()):
    """Who answers for time in a path under `serve`, in the last part of which the good run was never seen."""
    before = [*OTHER_WORK, ((*SERVE, "run@21", "set"), 1.0), *good]
    return charged(before, [*before, ((*SERVE, *path), 9.0)], also=also)


def test_a_new_callee_at_a_place_that_calls_many_answers_itself():
    # GIVEN run, which calls get and set from one place, and now sort
    # THEN run chose nothing; whatever sort does answers
    assert new("run@21", "sort*") == pytest.approx({"sort": 1.0})


def test_what_it_calls_came_in_with_it():
    assert new("run@21", "sort", "order*") == pytest.approx({"order": 1.0})


def test_a_place_seen_with_several_callees_in_the_bad_runs_only_will_do():
    bad = [*OTHER_WORK, ((*SERVE, "run@21", "set"), 1.0), ((*SERVE, "run@21", "sort*"), 9.0)]
    # THEN it answers for no new path, only for a part of what has grown in several of its callees at once
    assert charged(OTHER_WORK, bad, also=("sort", "set"))["run"] < 0.1


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(("run@25", "sort*"), id="from-elsewhere-in-the-function"),
        pytest.param(("run", "sort*"), id="from-an-unknown-line"),
    ],
)
def test_another_place_is_a_choice(path):
    assert new(*path) == pytest.approx({"run": 2 / 3, "sort": 1 / 3})


def test_a_place_with_one_callee_may_be_a_plain_call():
    # GIVEN a line from which the good run was seen calling one function, the bad run another: one instruction or two?
    good = [(("main@12", "serve@31", "get"), 2.0), (("main@12", "reply"), 2.0)]
    bad = [*good, (("main@12", "serve@31*", "sort*"), 9.0)]
    assert charged(good, bad, also=("sort",))["serve"] == pytest.approx(2 / 3)


def test_a_caller_further_out_that_came_another_way_chose():
    # GIVEN run called from a new place of serve's: which pointer it calls may have been chosen there
    before = [*OTHER_WORK, ((*SERVE, "run@21", "set"), 1.0)]
    bad = [*before, (("main@12", "serve@38", "run@21", "sort*"), 9.0)]
    assert charged(before, bad, also=("sort",))["sort"] == pytest.approx(1 / 3)


def test_lines_are_counted_from_the_declaration():
    good = [*OTHER_WORK, ((*SERVE, "run@21", "set"), 1.0)]
    moved = [((*SERVE, "run@41", *rest), seconds) for (_, _, _, *rest), seconds in [good[0], good[2]]]
    bad = [*moved, good[1], ((*SERVE, "run@41", "sort*"), 9.0)]
    before = Run(recording(good, also=("sort",)))
    found = compare([before], [Run(recording(bad, declared={"run": 30}))])
    assert found.name(found.accounts[0].function) == "sort" and found.accounts[0].share == pytest.approx(1.0)
