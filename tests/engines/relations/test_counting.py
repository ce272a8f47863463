"""What sketches say, and what they say to zoom into."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.engines.relations.sketched import sketch
from whyperf.engines.relations.compare import compare
from whyperf.engines.relations.plan import plan_of, plan_zoom
from whyperf.engines.relations.settings import RelationsSettings
from whyperf.engines.relations.sketch import load_sketches
from whyperf.engines.run import Run
from whyperf.errors import WhyperfError
from whyperf.recording.names.identity import FunctionKey
from whyperf.recording.symptom import parse_symptom

INSTRUCTIONS = parse_symptom("instructions")


def cursors(plans: int, work: int = 100) -> tuple[str, ...]:
    return (
        "main 1 500",
        "main>parse 1 900 | 1:1",
        "main>restore 60 600 | 60:1",
        f"main>restore>search {60 * plans} {60 * plans * work} | {plans}:60",
        f"main>restore>search>memcmp {600 * plans} {6000 * plans} | 10:{60 * plans}",
    )


def test_calls_per_activation_are_told_with_their_numbers() -> None:
    found = compare([sketch(*cursors(1))], [sketch(*cursors(2))])
    assert found.phase == "sketch"
    assert [one.function.name for one in found.findings] == ["restore"]
    assert "restore() calls search" in found.findings[0].why
    assert "once, now twice (100% of the extra instructions)" in found.findings[0].why
    assert found.findings[0].path == ("main", "restore")


def test_more_work_per_call_is_told_of_the_function_itself() -> None:
    found = compare([sketch(*cursors(1, work=100))], [sketch(*cursors(1, work=500))])
    assert [one.function.name for one in found.findings] == ["search"]
    assert "itself executes 100 instructions per call, now 500" in found.findings[0].why


def test_same_sketch_twice_has_no_candidate() -> None:
    assert not compare([sketch(*cursors(2))], [sketch(*cursors(2))]).findings


def test_change_of_mix_between_callers_is_the_callers_doing() -> None:
    """Every context does what it did; main only calls the costly one more often."""

    def run(rarely: int, often: int) -> tuple[str, ...]:
        return (
            "main 1 10",
            f"main>cheap {rarely} {rarely} | {rarely}:1",
            f"main>cheap>get {rarely} {rarely} | 1:{rarely}",
            f"main>costly {often} {often} | {often}:1",
            f"main>costly>get {often} {often} | 1:{often}",
            f"main>costly>get>grow {often} {often * 1000} | 1:{often}",
        )

    found = compare([sketch(*run(90, 10))], [sketch(*run(90, 90))])
    assert [(one.function.name, one.detail.calls) for one in found.findings] == [("main", "costly")]


def test_bytes_left_behind_are_a_symptom() -> None:
    good = sketch("main 1 10", "main>get 100 100 | 100:1", "main>get>keep 1 9 | 1:1", live={"main>get>keep": 64})
    bad = sketch("main 1 10", "main>get 100 100 | 100:1", "main>get>keep 80 720 | 1:80", live={"main>get>keep": 5120})
    found = compare([good], [bad], parse_symptom("memory"))
    assert (found.symptom, found.good, found.bad) == ("bytes in use at the peak", 64, 5120)
    assert found.findings[0].function.name == "get"


def test_memory_counted_at_the_end_is_not_compared_with_memory_at_the_peak() -> None:
    new = sketch("main 1 10", "main>keep 1 9 | 1:1", live={"main>keep": 64})
    old = replace(new, manifest=replace(new.manifest, format=1))
    with pytest.raises(WhyperfError, match="older whyperf"):
        compare([old], [new], parse_symptom("memory"))
    with pytest.raises(WhyperfError, match="older whyperf"):
        plan_zoom([new], [old], parse_symptom("memory"))
    assert compare([old], [new]).symptom == "instructions"


def test_plan_has_the_way_to_what_changed_and_what_costs_little() -> None:
    plan = plan_zoom([sketch(*cursors(1), system=("memcmp",))], [sketch(*cursors(2), system=("memcmp",))], INSTRUCTIONS)
    assert {key.name for key in plan.functions} == {"main", "parse", "restore", "search"}
    assert plan.expected == 500 + 900 + 600 + 12_000
    assert plan.symptom == "instructions"


def test_plan_keeps_what_changed_even_if_it_costs_more_than_all_others() -> None:
    sketches = load_sketches([Run(sketch(*cursors(1)))], [Run(sketch(*cursors(2)))])
    settings = replace(RelationsSettings(), zoom_others=700)
    plan = plan_of(sketches, INSTRUCTIONS, (FunctionKey("tool", "memcmp", ""),), settings)
    assert {key.name for key in plan.functions} == {"memcmp", "restore", "search", "main"}


@pytest.mark.parametrize(("first", "is_watched"), [(24_000, True), (20_000, False)])
def test_plan_keeps_what_explains_most_beyond_the_budget_as_long_as_it_can_be_read(
    first: float, is_watched: bool
) -> None:
    sketches = load_sketches([Run(sketch(*cursors(1)))], [Run(sketch(*cursors(1, work=400)))])
    settings = replace(RelationsSettings(), zoom_changed=700, zoom_others=700, zoom_first=first)
    plan = plan_of(sketches, INSTRUCTIONS, (), settings)
    assert ("search" in {key.name for key in plan.functions}) is is_watched
    # AND what was left out is said, the costliest first
    left_out = [key.name for key in plan.left_out]
    assert left_out[0] == ("memcmp" if is_watched else "search")
    assert {*left_out} | {key.name for key in plan.functions} == {"main", "parse", "restore", "search", "memcmp"}
