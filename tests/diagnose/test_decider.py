"""Who decides, by exact counts, comes before who pays."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.engines.made import recording
from tests.report import verdicts
from whyperf.diagnose.decider import with_decider
from whyperf.diagnose.diagnosis import examine
from whyperf.diagnose.verdict import CallChange, CallCounts, Verdict

CALLS = CallChange(
    "calls", "lookup", "tool", 38, "find", 0.001, 1.0, 0.9, "lookup calls find.", "/src/tool.c", in_loop=False
)


def counted(*changes: CallChange) -> Verdict:
    return replace(verdicts.difference(), counts=CallCounts((1, 1), 1.0, changes))


def names(verdict: Verdict) -> list[str]:
    return [one.function for one in verdict.suspects]


def test_who_takes_the_costly_way_more_often_comes_first() -> None:
    verdict = counted(CALLS)
    found = with_decider(verdict, (), None)
    assert names(found) == ["lookup", *names(verdict)]
    first, *others = found.suspects
    assert (first.line, first.share, first.confidence, first.pattern) == (38, 0.9, "medium", "wrong-constraint")
    assert first.why == "lookup calls find. By exact counts, that is most of the excess."
    assert [one.engine for one in first.evidence] == ["counts"] and "whyperf prove" in first.doubt
    # THEN what it answers for is not counted again
    assert sum(one.share for one in found.suspects) == pytest.approx(1.0)
    assert others[0].why.startswith("By the first runs alone: ")
    assert [one.rank for one in found.suspects] == list(range(1, len(found.suspects) + 1))


def test_who_was_suspected_already_moves_up_and_keeps_what_is_known_of_it() -> None:
    verdict = counted(replace(CALLS, function="rehash"))
    assert names(verdict).index("rehash") > 0
    found = with_decider(verdict, (), None)
    assert found.suspects[0].function == "rehash" and sorted(names(found)) == sorted(names(verdict))
    before = next(one for one in verdict.suspects if one.function == "rehash")
    assert found.suspects[0].lines == before.lines
    assert [one.engine for one in found.suspects[0].evidence] == [*(one.engine for one in before.evidence), "counts"]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(replace(CALLS, good=0.2, bad=0.9, in_loop=True), id="a loop that is mostly left at once"),
        pytest.param(replace(CALLS, in_loop=None), id="perhaps a loop"),
        pytest.param(replace(CALLS, good=1.0, bad=0.5), id="less often"),
        pytest.param(replace(CALLS, share=0.4), id="a smaller part"),
        pytest.param(replace(CALLS, line=0), id="through a pointer"),
        pytest.param(replace(CALLS, kind="self", callee=""), id="its own code"),
    ],
)
def test_what_is_no_decision_changes_nothing(change: CallChange) -> None:
    verdict = counted(change)
    assert with_decider(verdict, (), None) is verdict


def test_nothing_was_counted() -> None:
    verdict = verdicts.difference()
    assert with_decider(verdict, (), None) is verdict


@pytest.mark.parametrize(("function", "leads"), [("same", False), ("other", True)])
def test_code_that_two_builds_share_does_not_decide(function: str, leads: bool) -> None:
    # GIVEN two builds, in one of whose functions the code differs
    def build(seconds: float, name: str, code: int):
        stacks = [(("main@60", "same@61", "find@40"), seconds), (("main@60", "other@62"), 0.3)]
        codes = {"main": 1, "same": 2, "find": 3, "other": code}
        return [recording(stacks, build=name, code=codes) for _ in range(3)]

    good, bad = build(0.5, "a", 4), build(3.0, "b", 5)
    examined = examine(good, bad, same_work=True)
    assert examined.excess is not None and examined.excess.code.changed
    change = replace(CALLS, function=function)
    verdict = replace(examined.verdict, counts=CallCounts((1, 1), 1.0, (change,)))
    found = with_decider(verdict, (), examined.excess)
    assert (found is not verdict) == leads
