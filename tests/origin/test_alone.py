"""One run alone, optimised: who made a value, hop by hop, where nothing can be compared."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from whyperf.diagnose.origin import ChainEnd
from whyperf.origin.starts import start_at_line, start_at_variable

from .alone import alone, places, spin
from .conftest import Build, line_of

pytestmark = pytest.mark.process

COUNTER = "It is a counter: each value is made from the one before."
_DEMO = Path(__file__).parents[2] / "src/whyperf/demo/orders.c"


def test_an_option_is_named(build: Build) -> None:
    origin = spin(build("ways.c"), "option", "30000")
    last = origin.hops[-1]
    assert (last.function, last.line, last.bad) == ("by_option", line_of("ways.c", "the option"), "30,000")
    assert origin.end is ChainEnd.OUTSIDE
    assert origin.sentence == "It is an option of the command line: argument 2 is `30000`."


def test_what_a_file_holds_ends_where_it_is_read(build: Build, tmp_path: Path) -> None:
    file = tmp_path / "slow.conf"
    file.write_text("30000\n")
    origin = spin(build("ways.c"), "file", str(file))
    assert places(origin)[-1] == ("read_configuration", line_of("ways.c", "// the file"))
    assert origin.end is ChainEnd.OUTSIDE
    assert origin.sentence == f"fgets() in read_configuration() reads it from `{file}`."


@pytest.mark.parametrize(
    ("way", "function", "text", "value"),
    [
        ("global", "set_limit", "into the global", "20,050"),
        ("member", "read_settings", "into the member", "25,040"),
        ("memcpy", "read_settings", "into the member", "25,040"),
    ],
)
def test_a_cheap_function_that_sets_it_through_memory(
    build: Build, way: str, function: str, text: str, value: str
) -> None:
    origin = spin(build("ways.c"), way, "1")
    [setter] = [hop for hop in origin.hops if (hop.function, hop.line) == (function, line_of("ways.c", text))]
    assert setter.bad == value and setter.share == 1
    assert origin.end is ChainEnd.OUTSIDE and origin.runs <= 8


def test_a_constant_says_what_decides_about_it(build: Build) -> None:
    origin = spin(build("ways.c"), "constant", "1")
    assert places(origin)[-1] == ("planned", line_of("ways.c", "a constant, chosen"))
    assert origin.end is ChainEnd.CONSTANT
    assert origin.sentence == f"A constant. Line {line_of('ways.c', 'if (mode == 1)')} decides whether it is used."


def test_a_count_is_no_constant(build: Build) -> None:
    origin = spin(build("ways.c"), "count", "1")
    assert places(origin)[-1] == ("join", line_of("ways.c", "one more"))
    assert origin.end is ChainEnd.NOT_FOLLOWED and origin.sentence == COUNTER


def test_a_line_is_a_start_too(build: Build) -> None:
    program = build("ways.c")
    start = start_at_line(program, "ways.c", line_of("ways.c", "the loop that costs"))
    assert ("planned", line_of("ways.c", "a constant, chosen")) in places(alone(start, program, "constant", "1"))


def test_the_demo_leads_to_the_overflow_and_the_option(build: Build) -> None:
    program = build(_DEMO)
    line = 1 + _DEMO.read_text().splitlines().index("    if (buckets < MIN_BUCKETS)")
    origin = alone(start_at_line(program, "orders.c", line), program, "4096", "2")
    assert [(hop.source, hop.bad) for hop in origin.hops][1] == ("uint32_t bytes = megabytes * 1024 * 1024;", "0")
    assert origin.sentence == "It is an option of the command line: argument 1 is `4096`."


@pytest.mark.parametrize("deep", [False, True])
def test_tangled_memory(build: Build, deep: bool) -> None:
    if deep and shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    origin = spin(build("tangled.c", "-pthread", "-fno-builtin-memcpy"), "marked", "1", deep=deep)
    stores = [hop for hop in origin.hops if hop.deep]
    if not deep:
        assert origin.end is ChainEnd.NOT_FOLLOWED and not stores
        return
    # THEN of two writers the one is followed that wrote more of what was read
    [store] = stores
    assert (store.function, store.line) == ("mark", line_of("tangled.c", "the mark"))
    assert store.share == pytest.approx(0.9) and store.bad == "5,000"
    assert store.sentence.endswith("It supplied 90% of the values seen before.")
    assert origin.end is ChainEnd.CONSTANT


# Else each definition gets its own copy of the code behind it.
ONE_USE = ("alone.c", "-fno-reorder-blocks")


def test_of_two_definitions_the_one_with_most_of_the_values(build: Build) -> None:
    program = build(*ONE_USE)
    origin = alone(start_at_variable(program, "in_parts", "rounds"), program, "parts", "4")
    first, supplier, *_ = origin.hops
    assert first.bad == "900 in 15%, 12 values seen"
    assert (supplier.line, supplier.share) == (line_of("alone.c", "if not small"), 0.75)
    assert supplier.bad == "900 in 20%, 5 values seen"


def test_two_definitions_that_cannot_be_told_apart(build: Build) -> None:
    program = build(*ONE_USE)
    origin = alone(start_at_variable(program, "in_parts", "rounds"), program, "parts", "2")
    # THEN the way ends there, though one of them comes first in the code
    lines = f"{line_of('alone.c', 'if not small')}, {line_of('alone.c', '// if small')}"
    assert origin.end is ChainEnd.NOT_FOLLOWED and len(origin.hops) == 1
    assert origin.sentence.startswith(f"2 instructions make it (lines {lines}): one run does not tell")


def test_of_two_callers_the_one_that_passes_most(build: Build) -> None:
    origin = spin(build("alone.c"), "callers", "4")
    [caller] = [hop for hop in origin.hops if hop.function == "first_caller"]
    assert caller.share == 0.75
    # AND none where both pass as many
    tied = spin(build("alone.c"), "callers", "2")
    assert tied.end is ChainEnd.NOT_FOLLOWED and {hop.function for hop in tied.hops} == {"spin"}
    assert tied.sentence == (
        "2 calls pass it, and none of them passes most of the values: "
        f"first_caller() in line {line_of('alone.c', 'the first')}, "
        f"second_caller() in line {line_of('alone.c', 'the second')}."
    )


def test_a_value_that_is_made_of_two(build: Build) -> None:
    program = build("alone.c")
    origin = spin(program, "area", "30", "40")
    assert places(origin)[-1] == ("by_area", line_of("alone.c", "of two"))
    assert origin.sentence.startswith("It is made of `width` (30) and `height` (40): one run does not tell")
    # AND where it begins with both
    start = start_at_line(program, "alone.c", line_of("alone.c", "of two"))
    both = alone(start, program, "area", "30", "40")
    assert both.sentence == "The line reads `width` (30) and `height` (40): follow `width` or `height` with --variable."


def test_code_that_did_not_run(build: Build) -> None:
    program = build("alone.c")
    origin = alone(start_at_variable(program, "by_area", "width"), program, "parts", "4")
    assert not origin.hops and origin.sentence == "None of the code that reads it ran."
