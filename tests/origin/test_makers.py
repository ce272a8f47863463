"""One run alone: values of makers that are easily taken for others, or whose shares are."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from whyperf.diagnose.origin import ChainEnd, supplied
from whyperf.origin.shown import shown_alone
from whyperf.origin.starts import start_at_line, start_at_variable
from whyperf.origin.supplied import narrowed
from whyperf.origin.values import EMPTY, ComparedValues, Sample

from .alone import alone, places, spin
from .conftest import Build, line_of
from .test_alone import COUNTER

_OPTION = "It is an option of the command line: argument 2 is `30`."
MAKERS = ("makers.c", "-fno-reorder-blocks")


@pytest.mark.process
def test_what_is_added_to_memory_is_no_constant(build: Build) -> None:
    counted = spin(build(*MAKERS), "count", "100")
    assert places(counted)[-1] == ("join", line_of("makers.c", "// one more"))
    assert (counted.end, counted.sentence) == (ChainEnd.NOT_FOLLOWED, COUNTER)
    # AND what is added by a variable is no counter
    summed = spin(build(*MAKERS), "sum", "100")
    assert places(summed)[-1] == ("join", line_of("makers.c", "// some more"))
    assert (summed.end, summed.sentence) == (ChainEnd.NOT_FOLLOWED, "Each value is made from the one before.")


@pytest.mark.process
def test_a_condition_in_memory_is_followed(build: Build) -> None:
    origin = spin(build(*MAKERS), "condition", "30")
    assert ("set_mode", line_of("makers.c", "// a condition")) in places(origin)
    assert (origin.hops[-1].function, origin.sentence) == ("main", _OPTION)


@pytest.mark.process
def test_what_memset_is_given_is_followed(build: Build) -> None:
    origin = spin(build(*MAKERS), "memset", "30", "150")
    assert ("fill", line_of("makers.c", "// the level")) in places(origin)
    assert (origin.hops[-1].function, origin.sentence) == ("main", _OPTION)


@pytest.mark.process
def test_a_caller_that_calls_most_but_late(build: Build) -> None:
    # GIVEN a caller that alone passes the first 3,000 values, and another one that passes 20,000 later
    origin = spin(build(*MAKERS), "phases", "30", "20000")
    [caller] = [hop for hop in origin.hops if hop.function in ("early", "late")]
    assert (caller.function, caller.share) == ("late", pytest.approx(20 / 23))
    # AND so many that not all of the calls are counted
    often = spin(build(*MAKERS), "phases", "30", "300000")
    assert often.end is ChainEnd.NOT_FOLLOWED and {hop.function for hop in often.hops} == {"spin"}
    assert often.sentence == (
        "2 calls pass it, too often to count which passes most: "
        f"early() in line {line_of('makers.c', '// a few')}, late() in line {line_of('makers.c', '// most')}."
    )


@pytest.mark.process
def test_a_store_that_writes_most_but_late(build: Build) -> None:
    program = build(*MAKERS)
    start = start_at_variable(program, "read_level", "level")
    origin = alone(start, program, "stores", "30", "20000")
    store = next(hop for hop in origin.hops if hop.function in ("set_early", "set_late"))
    assert (store.function, store.share) == ("set_late", pytest.approx(20 / 23))
    often = alone(start, program, "stores", "30", "300000")
    assert often.end is ChainEnd.NOT_FOLLOWED
    assert often.sentence.endswith("it is read or written too often to record each time.")


@pytest.mark.process
def test_a_definition_that_makes_most_but_late(build: Build) -> None:
    program = build(*MAKERS)
    start = start_at_variable(program, "by_definitions", "rounds")
    origin = alone(start, program, "definitions", "30", "6000")
    assert (origin.hops[1].line, origin.hops[1].share) == (line_of("makers.c", "// late"), pytest.approx(6 / 9))
    often = alone(start, program, "definitions", "30", "1000000")
    assert often.end is ChainEnd.NOT_FOLLOWED and len(often.hops) == 1


@pytest.mark.process
@pytest.mark.parametrize(
    ("way", "stores"),
    [
        ("turns", {"set_early": "first", "set_late": "then"}),
        ("items", {"fill_early": "of an item", "fill_late": "of another one"}),
    ],
)
def test_two_stores_that_write_it_equally_often(build: Build, way: str, stores: dict[str, str]) -> None:
    tied = spin(build(*MAKERS), way, "30", "2")
    named = {f"{function}() in line {line_of('makers.c', f'// {text}')}" for function, text in stores.items()}
    what, _, listed = tied.sentence.rstrip(".").partition(": ")
    assert tied.end is ChainEnd.NOT_FOLLOWED
    assert (what, set(listed.split(", "))) == ("2 stores write it equally often", named)
    # AND one of them that writes three times as often is followed
    origin = spin(build(*MAKERS), way, "30", "4")
    store = next(hop for hop in origin.hops if hop.function in stores)
    assert store.share == 0.75


@pytest.mark.process
def test_writes_of_which_some_are_lost(build: Build) -> None:
    # GIVEN more writes in turns than a watched address has room for
    origin = spin(build(*MAKERS), "turns", "1500", "4")
    assert origin.end is ChainEnd.NOT_FOLLOWED
    assert origin.sentence.endswith("it is read or written too often to record each time.")


@pytest.mark.process
def test_a_share_that_led_nowhere_is_not_counted_twice(build: Build) -> None:
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    # GIVEN a library's function that writes three of four values, which only a run under Valgrind finds
    origin = spin(build(*MAKERS), "text", "5", deep=True)
    [store] = [hop for hop in origin.hops if hop.deep]
    assert (store.function, store.share) == ("append", 0.75)


@pytest.mark.process
def test_more_definitions_than_a_run_looks_at(build: Build, tmp_path: Path) -> None:
    cases = "".join(f"    case {one}:\n        return {1000 + one};\n" for one in range(90))
    source = tmp_path / "cases.c"
    source.write_text(
        "#include <stdlib.h>\nstatic volatile long sink;\n"
        f"long pick(long n) {{\n    switch (n) {{\n{cases}    }}\n    return 5;\n}}\n"
        "void use(long w) {\n    for (long i = 0; i < w; i++)\n        sink += i;\n}\n"
        "int main(int argc, char **argv) {\n"
        "    for (int i = 0; i < 90; i++)\n        use(pick(atol(argv[argc - 1]) + i % 3));\n    return 0;\n}\n"
    )
    program = build(source, "-O0")
    origin = alone(start_at_variable(program, "use", "w"), program, "4")
    assert origin.end is ChainEnd.NOT_FOLLOWED
    assert origin.sentence.startswith("91 instructions make it (lines 6 to ") and len(origin.sentence) < 150


@pytest.mark.process
def test_two_places_that_read_it_equally_often(build: Build) -> None:
    program = build(*MAKERS)
    origin = alone(start_at_variable(program, "by_places", "size"), program, "places", "30")
    lines = " and ".join(str(line_of("makers.c", f"// {text}")) for text in ("here", "there"))
    assert origin.sentence == (
        f"Lines {lines} read it equally often, and different code makes it for each: follow one of them with --line."
    )


@pytest.mark.process
def test_a_line_with_a_value_that_has_no_name(build: Build) -> None:
    program = build(*MAKERS)
    origin = alone(start_at_line(program, "makers.c", line_of("makers.c", "// unnamed")), program, "comparison", "30")
    assert origin.sentence == "The line reads `many` (30) and an unnamed value (46): follow `many` with --variable."


def _sample(values: list[int], total: int) -> ComparedValues:
    seen = Sample(np.array(values, np.uint64), np.arange(len(values), dtype=np.uint64), total, complete=True)
    return ComparedValues(EMPTY, seen)


def test_a_part_of_the_values_stays_one_when_it_is_narrowed() -> None:
    wanted = _sample([1, 2], 2)
    assert narrowed(_sample([1, 2, 3], 3), wanted).bad.complete
    assert not narrowed(_sample([1, 2, 3], 500), wanted).bad.complete


def test_shares_that_are_nearly_all_or_nothing() -> None:
    assert shown_alone(_sample([5] * 999 + [6], 1000).bad, 8) == "5 in over 99%, 2 values seen"
    assert (supplied(0.004), supplied(0.999)) == ("supplied under 1% of the values", "supplied over 99% of the values")
    assert (supplied(0.25), supplied(1.0)) == ("supplied 25% of the values", "")
