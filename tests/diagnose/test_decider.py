"""Who decides, by exact counts, comes before who pays."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.engines.made import recording
from tests.report import verdicts
from whyperf.diagnose.decider import with_decider
from whyperf.diagnose.diagnosis import examine
from whyperf.diagnose.joining import leading
from whyperf.diagnose.joining.leading import led_by
from whyperf.diagnose.verdict import CallChange, CallCounts, Verdict

CALLS = CallChange("calls", "lookup", "tool", 38, "find", 0.001, 1.0, 0.9, "lookup calls find.", "/src/tool.c")


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
    assert others[0].why.startswith("Taken alone: ")
    assert [one.rank for one in found.suspects] == list(range(1, len(found.suspects) + 1))


def test_who_was_suspected_already_moves_up_and_keeps_what_is_known_of_it() -> None:
    verdict = counted(replace(CALLS, function="rehash"))
    assert names(verdict).index("rehash") > 0
    found = with_decider(verdict, (), None)
    assert found.suspects[0].function == "rehash" and sorted(names(found)) == sorted(names(verdict))
    before = next(one for one in verdict.suspects if one.function == "rehash")
    first = found.suspects[0]
    assert (first.path, first.variables, first.change) == (before.path, before.variables, before.change)
    # THEN it is shown where it decides, and what it was suspected for is evidence
    assert (before.line, before.decided_by) == (50, 49)
    assert (first.file, first.line, first.decided_by, first.block) == ("/src/tool.c", 38, 0, 0)
    assert [one.line for one in first.lines] == [38]
    assert first.confidence == "medium" and "whyperf prove" in first.doubt
    assert [(one.engine, one.why) for one in first.evidence] == [("counts", first.why), ("excess", before.why)]
    # THEN no figures of another share stand beside its own
    assert first.share == 0.9 and first.evidence[0].detail.interval is None


def test_a_function_of_that_name_in_another_module_is_another_one() -> None:
    verdict = counted(replace(CALLS, function="rehash", module="libother.so"))
    found = with_decider(verdict, (), None)
    assert names(found) == ["rehash", *names(verdict)] and found.suspects[0].module == "libother.so"


def shares(verdict: Verdict) -> list[tuple[str, float]]:
    return [(one.function, round(one.share, 9)) for one in verdict.suspects]


def charged(**shares: tuple[float, str]) -> Verdict:
    """By function, its share and path."""
    first = verdicts.difference().suspects[0]
    suspects = [
        replace(first, rank=rank, function=name, share=share, path=tuple(path.split()))
        for rank, (name, (share, path)) in enumerate(shares.items(), 1)
    ]
    return replace(counted(replace(CALLS, share=0.6)), suspects=tuple(suspects))


@pytest.mark.parametrize(
    ("verdict", "after"),
    [
        pytest.param(
            charged(find=(0.4, "main lookup find"), parse=(0.4, "main parse")),
            [("lookup", 0.6), ("find", 0.0), ("parse", 0.4)],
            id="not from unrelated ones",
        ),
        pytest.param(
            charged(parse=(0.3, "main parse"), walk=(0.3, "main lookup find walk"), find=(0.4, "main lookup find")),
            [("lookup", 0.6), ("parse", 0.3), ("walk", 0.1), ("find", 0.0)],
            id="from whom it calls, then from those below",
        ),
        pytest.param(
            charged(find=(0.5, "main lookup find"), lookup=(0.3, "main lookup")),
            [("lookup", 0.6), ("find", 0.2)],
            id="what it answered for already is not taken again",
        ),
        pytest.param(
            charged(lookup=(0.9, "main lookup"), find=(0.1, "main lookup find")),
            [("lookup", 0.6), ("find", 0.1)],
            id="no more than the counts say",
        ),
        pytest.param(
            charged(find=(0.2, "main lookup find"), parse=(0.7, "main parse")),
            [("lookup", 0.6), ("find", 0.0), ("parse", 0.4)],
            id="what nobody pays for is nobody else's either",
        ),
    ],
)
def test_its_share_is_taken_from_those_who_pay(verdict: Verdict, after: list[tuple[str, float]]) -> None:
    found = with_decider(verdict, (), None)
    assert shares(found) == after
    for one in found.suspects[1:]:
        before = next(other for other in verdict.suspects if other.function == one.function)
        assert one.why.startswith("Taken alone: ") == (one.share < before.share)
        assert one.why.endswith("It pays for what lookup decides.") == (one.share < before.share and "find" in one.path)
        if one.share < before.share and "find" not in one.path:
            assert one.why.endswith(f" Suspects before it answer for all but {one.share:.0%} of the excess.")


@pytest.mark.parametrize(("left", "answers_for"), [(0.0, "all"), (0.0003, "nearly all"), (0.25, "all but 25%")])
def test_what_those_before_a_suspect_answer_for(left: float, answers_for: str) -> None:
    suspect = replace(counted(CALLS).suspects[0], why="It grew.")
    said = f"Taken alone: It grew. Suspects before it answer for {answers_for} of the excess."
    assert leading._with_rest(suspect, left) == said


def test_a_payer_of_two_deciders_is_taken_alone_once() -> None:
    once = with_decider(counted(CALLS), (), None)
    twice = led_by(once, replace(once.suspects[-1], share=1.0), {2: 0.0})
    assert [one.why.count("Taken alone: ") for one in twice.suspects if one.function == "find"] == [1]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(replace(CALLS, good=2.0, bad=40.0), id="a loop"),
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
