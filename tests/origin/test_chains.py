"""Real programs, optimised: from the loop that costs to the line that made its bound."""

from __future__ import annotations

import os
import platform
import random
import re
import subprocess
from pathlib import Path

import pytest

from tests.collect.observation.programs import compiled
from whyperf.collect.target.program import Program
from whyperf.diagnose.origin import ChainEnd, HopKind, Origin
from whyperf.investigation.proving import hands_on_input
from whyperf.origin.search import FoundOrigin, search
from whyperf.origin.starts import Start, start_at_line, start_at_variable

from .conftest import Build, line_of

pytestmark = pytest.mark.process

_DEMO = Path(__file__).parents[2] / "src/whyperf/demo/orders.c"


def _search(
    start: Start, program: Path, good: list[str], bad: list[str], good_program: Path | None = None
) -> FoundOrigin:
    first = good_program or program
    return search(
        start,
        Program(str(first), (str(first), *good)),
        Program(str(program), (str(program), *bad)),
        environment=dict(os.environ),
    )


def _lines(origin: Origin) -> list[tuple[str, int]]:
    return [(hop.function, hop.line) for hop in origin.hops]


def _way(build: Build, way: str, function: str = "spin", variable: str = "rounds") -> FoundOrigin:
    program = build("ways.c")
    return _search(start_at_variable(program, function, variable), program, [way, "0"], [way, "1"])


@pytest.mark.parametrize(
    ("way", "function", "text"),
    [
        ("constant", "planned", "a constant, chosen"),
        ("global", "set_limit", "into the global"),
        ("member", "read_settings", "into the member"),
        ("memcpy", "read_settings", "into the member"),
        ("assignment", "read_settings", "into the member"),
        ("count", "by_count", "so many join"),
    ],
)
def test_the_maker_of_a_loops_bound_is_found(build: Build, way: str, function: str, text: str) -> None:
    origin = _way(build, way).origin
    # THEN good turns into bad where the value was made, and the way goes on to the option
    turned = origin.hops[origin.turn]
    assert (turned.function, turned.line) == (function, line_of("ways.c", text)), origin
    assert origin.end is ChainEnd.OUTSIDE and "argument 2 is `1`, was `0`" in origin.sentence
    assert origin.runs <= 20 and 3 <= len(origin.hops) <= 8


@pytest.mark.skipif(platform.machine() != "x86_64", reason="rep movs is an instruction of x86-64")
@pytest.mark.parametrize("strategy", ["rep_byte", "rep_8byte"])
@pytest.mark.parametrize(
    ("way", "function", "text"), [("copy", "decide", "// the number"), ("fill", "level_of", "// the level")]
)
def test_single_instructions_that_copy_and_fill_memory(
    build: Build, strategy: str, way: str, function: str, text: str
) -> None:
    # GIVEN `rep movs` and `rep stos`, in whose middle a watchpoint stops
    program = build("strings.c", f"-mstringop-strategy={strategy}")
    code = subprocess.run(["objdump", "-d", str(program)], capture_output=True, text=True, check=True).stdout
    assert "rep movs" in code and "rep stos" in code
    origin = _search(start_at_variable(program, "spin", "rounds"), program, [way, "0"], [way, "1"]).origin
    # THEN the way leads through them to the line that made the number
    turned = origin.hops[origin.turn]
    assert (turned.function, turned.line) == (function, line_of("strings.c", text)), origin
    written = next(hop for hop in origin.hops if hop.kind is HopKind.STORED)
    text = "// copied" if way == "copy" else "// filled"
    assert (written.function, written.line) == (way, line_of("strings.c", text)), origin
    assert origin.end is ChainEnd.OUTSIDE and "argument 2 is `1`, was `0`" in origin.sentence


@pytest.mark.skipif(platform.machine() != "x86_64", reason="push of memory is an instruction of x86-64")
def test_a_number_that_is_pushed_from_memory_is_that_of_its_own_address(build: Build) -> None:
    # GIVEN an argument that `push` copies twice: from a member, behind another one with the same number, and from the
    # stack, where it is found before the stack grows
    program = build("pushed.c")
    code = subprocess.run(["objdump", "-d", str(program)], capture_output=True, text=True, check=True).stdout
    assert re.search(r"push\S* +0x10\(%rdi\)", code)
    origin = _search(start_at_variable(program, "work", "rounds"), program, ["10"], ["300"]).origin
    # THEN the way leads to who writes that member
    assert ("set_rounds", line_of("pushed.c", "// the number")) in _lines(origin), origin
    assert "set_pad" not in {hop.function for hop in origin.hops}
    assert origin.end is ChainEnd.OUTSIDE and "argument 1 is `300`, was `10`" in origin.sentence


def test_an_origin_says_what_was_not_observed(tmp_path: Path) -> None:
    source, program = tmp_path / "traced.c", tmp_path / "traced"
    source.write_text("""
#include <stdlib.h>
#include <sys/ptrace.h>
__attribute__((noinline)) long spin(long rounds) {
    long sum = 0;
    for (long i = 0; i < rounds; i++) __asm__ volatile("" : "+r"(sum));
    return sum;
}
int main(int count, char **words) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    return (int)spin(atol(words[1]) * 1000);
}
""")
    subprocess.run(["gcc", "-O2", "-g", "-Wl,--build-id", source, "-o", program], check=True)
    origin = _search(start_at_variable(program, "spin", "rounds"), program, ["1"], ["9"]).origin
    assert "whyperf did not observe 1 process(es) while a debugger traced them." in origin.sentence


def test_a_result_is_as_wide_as_it_is_used(tmp_path: Path) -> None:
    # GIVEN a flag that strcmp() returns in 32 bits of a register
    program, source = tmp_path / "flag", tmp_path / "flag.c"
    source.write_text("""
#include <stdio.h>
#include <string.h>
__attribute__((noinline)) static long work(int differs) {
    long sum = 0;
    if (differs)
        for (long i = 0; i < 3000000; i++) __asm__ volatile("" : "+r"(sum));
    return sum;
}
int main(int count, char **words) {
    return printf("%ld %d\\n", work(strcmp(words[1], "plain")), count) < 0;
}
""")
    subprocess.run(["gcc", "-O2", "-g", "-Wl,--build-id", source, "-o", program], check=True)
    found = _search(start_at_line(program, str(source), 6), program, ["plain"], ["other"])
    # THEN both hops say the same of it: it is the input that differs
    assert {(hop.good, hop.bad) for hop in found.origin.hops} == {("0", found.origin.hops[0].bad)}, found.origin
    assert found.origin.hops[0].bad.startswith("-") and len(found.origin.hops) > 1
    assert all(hands_on_input(found, number) for number in range(len(found.origin.hops)))


def test_values_are_followed_through_calls_and_results(build: Build) -> None:
    origin = _way(build, "calls", "flush_all", "batch").origin
    turned = origin.hops[origin.turn]
    # THEN more reserved made less of a window
    assert (turned.function, turned.line) == ("window", line_of("ways.c", "no window at all"))
    assert (turned.good, turned.bad) == ("1,211", "0")
    assert ("reserved", "365", "4,096") in {(hop.what, hop.good, hop.bad) for hop in origin.hops}


def test_an_option_is_named(build: Build) -> None:
    program = build("ways.c")
    found = _search(start_at_variable(program, "spin", "rounds"), program, ["option", "100"], ["option", "30000"])
    last = found.origin.hops[-1]
    assert (last.function, last.line) == ("by_option", line_of("ways.c", "the option"))
    assert found.origin.sentence == "It is an option of the command line: argument 2 is `30000`, was `100`."


def test_what_a_file_holds_ends_where_it_is_read(build: Build, tmp_path: Path) -> None:
    program = build("ways.c")
    good, bad = tmp_path / "good.conf", tmp_path / "slow.conf"
    good.write_text("100\n")
    bad.write_text("30000\n")
    start = start_at_variable(program, "spin", "rounds")
    origin = _search(start, program, ["file", str(good)], ["file", str(bad)]).origin
    # THEN by its name, although nothing of it is in the program's memory when the line is read
    assert origin.end is ChainEnd.OUTSIDE
    assert origin.sentence == f"fgets() in read_configuration() reads it from `{bad}`, was `{good}`."
    assert (origin.hops[-1].function, origin.hops[-1].line) == ("read_configuration", line_of("ways.c", "// the file"))


@pytest.mark.parametrize(
    ("way", "good", "bad", "function"),
    [
        ("read", b"100\n", b"30000\n", "read() in by_read()"),
        ("fread", b"d\0\0\0", b"0u\0\0", "fread() in by_fread()"),
        ("getc", b"\1", b"\xff", "fgetc()"),
    ],
)
def test_of_several_files_the_one_is_named_that_differs(
    build: Build, tmp_path: Path, way: str, good: bytes, bad: bytes, function: str
) -> None:
    program = build("files.c")
    files = [tmp_path / name for name in ("other.conf", "good.conf", "slow.conf")]
    for file, content in zip(files, (good, good, bad), strict=True):
        file.write_bytes(content)
    other, usual, slow = map(str, files)
    origin = _search(start_at_variable(program, "spin", "rounds"), program, [way, other, usual], [way, other, slow])
    assert origin.origin.end is ChainEnd.OUTSIDE
    assert origin.origin.sentence == f"{function} reads it from `{slow}`, was `{usual}`."


@pytest.mark.parametrize(
    ("way", "text", "called"),
    [
        ("process", "// the process", "getpid"),
        ("clock", "// the clock", "clock_gettime"),
        ("random", "// random", "getrandom"),
    ],
)
def test_what_is_another_value_in_every_run_is_chance(build: Build, way: str, text: str, called: str) -> None:
    program = build("chance.c")
    origin = _search(start_at_variable(program, "spin", "rounds"), program, [way], [way]).origin
    assert origin.end is ChainEnd.CHANCE
    assert origin.sentence == f"{called}() returns something else in every run."
    assert (f"by_{way}", line_of("chance.c", text)) in _lines(origin), origin


def test_where_the_same_inputs_make_another_result_good_becomes_bad(build: Build) -> None:
    # GIVEN an instruction that rounds the same number another way, since bad runs once said so
    program = build("rounding.c", "-fno-math-errno", "-lm")
    origin = _search(start_at_variable(program, "spin", "rounds"), program, ["0", "0.4"], ["1", "0.4"]).origin
    assert origin.end is ChainEnd.SAME_INPUTS
    assert origin.sentence.startswith("Everything that this code reads is the same, but its result is not."), origin
    # THEN this function is where good becomes bad
    turned = origin.hops[origin.turn]
    assert (turned.function, turned.line) == ("steps", line_of("rounding.c", "// rounded"))
    assert (turned.good, turned.bad) == ("0", "1")
    assert origin.hops[-1] == turned


def test_a_write_that_no_longer_happens_is_followed(build: Build) -> None:
    origin = _way(build, "missing", "find_clean", "pages->dirty").origin
    stored = next(hop for hop in origin.hops if hop.kind is HopKind.STORED)
    assert (stored.function, stored.line) == ("clean", line_of("ways.c", "// missing"))
    turned = origin.hops[origin.turn]
    assert (turned.function, turned.what, turned.good, turned.bad) == ("by_missing_write", "batch", "512", "0")


@pytest.mark.parametrize(
    ("way", "function", "text", "counts"),
    [
        ("drain", "drain", "// none is left", ("600 times", "0 times")),
        ("leave", "leave", "// one less", ("600 times", "60 times")),  # what is missing more often is another object's
        ("hint", "set_hint", "// the hint", ("1 time", "0 times")),
    ],
)
def test_of_all_writes_to_a_member_the_one_that_became_rarer_is_followed(
    build: Build, way: str, function: str, text: str, counts: tuple[str, str]
) -> None:
    # GIVEN the same last writer in good and bad runs, or none of the program's own in bad ones
    program = build("undone.c")
    origin = _search(start_at_variable(program, "spin", "rounds"), program, [way, "0"], [way, "1"]).origin
    # THEN what is missing is a hop, and the way goes on to what decides about it
    [missing] = [hop for hop in origin.hops if (hop.function, hop.line) == (function, line_of("undone.c", text))]
    assert (missing.kind, missing.good, missing.bad) == (HopKind.STORED, *counts)
    decided = next(hop for hop in origin.hops if hop.kind is HopKind.DECIDED)
    assert decided.function in ("by_draining", "by_leaving", "by_hint")
    assert origin.end is ChainEnd.OUTSIDE and "argument 2 is `1`, was `0`" in origin.sentence


def test_a_constructors_argument(build: Build) -> None:
    program = build("pool.cpp")
    origin = _search(start_at_variable(program, "Pool::flush_some", "flush_batch_"), program, ["0"], ["1"]).origin
    assert "Pool::Pool" in {hop.function for hop in origin.hops}
    assert origin.hops[origin.turn].function == "planned"


def test_a_vector_that_grew(build: Build) -> None:
    program = build("queue.cpp")
    start = start_at_line(program, "queue.cpp", line_of("queue.cpp", "// scanned"))
    origin = _search(start, program, ["0"], ["1"]).origin
    # THEN its size leads to what was pushed, and how often
    assert ("fill", line_of("queue.cpp", "// filled")) in _lines(origin)
    turned = origin.hops[origin.turn]
    assert (turned.function, turned.good, turned.bad) == ("clients_of", "20", "3,000")


def test_a_loops_line_is_a_start_too(build: Build) -> None:
    program = build("ways.c")
    start = start_at_line(program, "ways.c", line_of("ways.c", "the loop that costs"))
    origin = _search(start, program, ["constant", "0"], ["constant", "1"]).origin
    assert ("planned", line_of("ways.c", "a constant, chosen")) in _lines(origin)


def test_the_demo_leads_to_the_overflow(build: Build) -> None:
    program = build(_DEMO)
    start = start_at_variable(program, "find_customer", "customer")
    origin = _search(start, program, ["64", "2"], ["4096", "2"]).origin
    text = _DEMO.read_text().splitlines()
    turned = origin.hops[origin.turn]
    assert text[turned.line - 1].strip() == "uint32_t bytes = megabytes * 1024 * 1024;"
    assert (turned.good, turned.bad) == ("67,108,864", "0")


def test_how_far_two_addresses_are_apart_leads_to_who_moved_one(build: Build, tmp_path: Path) -> None:
    program = build("lines.c")
    good, bad = tmp_path / "lines", tmp_path / "line"
    good.write_text(("x" * 15 + "\n") * 3000)
    bad.write_text(("x" * 15 + ",") * 3000)
    start = start_at_line(program, "lines.c", line_of("lines.c", "the search that costs"))
    origin = _search(start, program, [str(good)], [str(bad)]).origin
    # THEN it begins with the length that a library's function is given, and goes on with the end that moved
    first, moved = origin.hops[:2]
    assert (first.function, first.line) == ("find_line", line_of("lines.c", "the search that costs"))
    assert first.good == "0 to 64" and first.bad.startswith("64 to 4")
    assert (moved.function, moved.line) == ("enlarge", line_of("lines.c", "further away"))
    assert moved.what.split(" = ")[0] == "in->limit"
    # AND since good runs never come there, why it is moved at all is asked next
    turned = origin.hops[origin.turn]
    assert (turned.function, turned.what, turned.good) == ("enlarge", "enlarge()", "0 times"), origin
    assert origin.hops[-1].what in ("memchr()", "end") and origin.end is ChainEnd.OUTSIDE


def test_a_number_that_is_stored_together_with_its_neighbour(build: Build) -> None:
    program = build("pairs.c")
    start = start_at_variable(program, "work", "plan->rounds")
    origin = _search(start, program, ["100"], ["20000"]).origin
    assert ("decide", line_of("pairs.c", "here the number is made")) in _lines(origin), origin
    assert origin.end is ChainEnd.OUTSIDE and (origin.hops[-1].good, origin.hops[-1].bad) == ("100", "20,000")


def test_a_hash_that_makes_few_places_of_many_names(build: Build, tmp_path: Path) -> None:
    program = build("names.c")
    letters = random.Random(7)
    usual = ["".join(letters.choices("abcdefghijkl", k=12)) for _ in range(2000)]
    permuted = ["".join(letters.sample("abcdefghijkl", k=12)) for _ in range(2000)]
    files = [tmp_path / "usual", tmp_path / "permuted"]
    for file, names in zip(files, (usual, permuted), strict=True):
        file.write_text("\n".join(names * 3) + "\n")
    start = start_at_line(program, "names.c", line_of("names.c", "the list that is walked"))
    origin = _search(start, program, [str(files[0])], [str(files[1])]).origin
    # THEN good turns into bad where many names become few places, not where the names come from
    assert origin.narrows
    turned = origin.hops[origin.turn]
    assert (turned.function, turned.line) == ("sum_of", line_of("names.c", "the hash")), origin


def test_a_hash_that_cuts_fractions_off(build: Build) -> None:
    program = build("weights.c")
    start = start_at_variable(program, "find", "one")  # of all that the line reads
    origin = _search(start, program, ["hash", "1"], ["hash", "0.0003"]).origin
    # THEN many become few where floating-point numbers become whole ones
    assert origin.narrows
    turned = origin.hops[origin.turn]
    assert (turned.function, turned.line) == ("place_of", line_of("weights.c", "the hash")), origin
    # AND that is made of the fractions, which are shown as such
    made_of = origin.hops[origin.turn + 1]
    assert made_of.bad.startswith("0 to 0.") and made_of.good.startswith(("0 to 1,", "0 to 2,")), origin


def test_floating_point_numbers_are_followed(build: Build) -> None:
    program = build("weights.c")
    start = start_at_variable(program, "spin", "rounds")
    origin = _search(start, program, ["product", "2.5"], ["product", "99.5"]).origin
    # THEN through a conversion, products, memory, and an argument
    seen = {(hop.function, hop.line, hop.good, hop.bad) for hop in origin.hops}
    assert ("by_product", line_of("weights.c", "// converted"), "375", "14,925") in seen, origin
    assert ("plan", line_of("weights.c", "// planned"), "3.75", "149.25") in seen, origin
    # AND to the option that it was read from
    assert (origin.hops[-1].line, origin.hops[-1].bad) == (line_of("weights.c", "// the option"), "99.5"), origin
    assert origin.sentence == "It is an option of the command line: argument 2 is `99.5`, was `2.5`."


@pytest.mark.parametrize(("way", "text"), [("member", "the instruction's"), ("pointer", "by a plain pointer")])
def test_what_another_object_had_in_the_same_memory_is_no_hop(build: Build, way: str, text: str) -> None:
    """Its writes are so many that the last one is not seen: the stores to the member tell, or another object."""
    program = build("reused.c")
    start = start_at_variable(program, "spin", "one->rounds")
    origin = _search(start, program, [way, "0"], [way, "1"]).origin
    assert "move" not in {hop.function for hop in origin.hops}, origin
    assert line_of("reused.c", text) in {hop.line for hop in origin.hops if hop.kind is HopKind.STORED}, origin
    turned = origin.hops[origin.turn]
    assert (turned.function, turned.good, turned.bad) == ("planned", "200", "20,000"), origin


def test_code_that_differs_between_builds_ends_the_way(build: Build) -> None:
    good, bad = build("builds.c"), build("builds.c", "-DSLOW")
    origin = _search(start_at_variable(bad, "walk", "length"), bad, [], [], good).origin
    assert origin.end is ChainEnd.CHANGED_CODE and "hash_of()" in origin.sentence


def test_so_does_a_library_of_which_there_are_two_builds(build: Build, tmp_path: Path) -> None:
    programs = []
    for name, flags in (("good", []), ("bad", ["-DSLOW"])):
        folder = tmp_path / name
        folder.mkdir()
        library = folder / "libprices.so"
        library.write_bytes(build("prices.c", "-shared", "-fPIC", *flags).read_bytes())
        programs.append(build("shop.c", f"-L{folder}", "-lprices", f"-Wl,-rpath,{folder}"))
    good, bad = programs
    origin = _search(start_at_variable(bad, "spin", "rounds"), bad, [], [], good).origin
    assert origin.end is ChainEnd.CHANGED_CODE and "price_of()" in origin.sentence
    assert origin.hops[origin.turn].function == "price_of"


def test_values_that_are_the_same_are_said_to_be(build: Build) -> None:
    program = build("ways.c")
    start = start_at_variable(program, "spin", "rounds")
    origin = _search(start, program, ["constant", "0"], ["constant", "0"]).origin
    assert origin.hops == () and origin.end is ChainEnd.NO_DIFFERENCE and "the same" in origin.sentence


_RARE = r"""
#include <stdlib.h>
static volatile long spent, limit;
__attribute__((noinline)) void use(long x) {
    limit = x;
    for (long i = 0; i < limit; i++) spent += i;
}
int main(int count, char **words) {
    long rare = atol(words[1]);
    for (long i = 0; i < 400000; i++) use(i % 50 == 0 ? rare : 7);
    return 0;
}
"""


def test_values_of_which_only_some_were_seen_are_not_said_to_be_the_same(tmp_path: Path) -> None:
    # GIVEN a place that is passed too often for all of its values to be seen, of which one in fifty differs
    program = compiled(tmp_path, _RARE)
    origin = _search(start_at_variable(program, "use", "x"), program, ["8"], ["30000"]).origin
    assert origin.end is ChainEnd.NOT_FOLLOWED, origin
    assert origin.sentence == "No difference was found among the values that were seen."


def test_what_a_loop_changes_is_no_constant(build: Build) -> None:
    # GIVEN a function that calls itself at its end, which compilers make a loop of
    program = build("sorted.c")
    start = start_at_variable(program, "recur", "tree")
    origin = _search(start, program, ["mixed", "recur"], ["sorted", "recur"]).origin
    # THEN its argument is not called a constant, and lines are named that lead on
    lines = [line_of("sorted.c", f"if (tree->{side}) // {way}") for side, way in (("left", "less"), ("right", "more"))]
    assert origin.end is ChainEnd.NOT_FOLLOWED and origin.sentence.startswith(
        f"Its first value is the same in good and bad runs. Lines {lines[0]} and {lines[1]} change it in a loop: "
        "follow that with --line. No condition"
    ), origin
    # AND no hop of addresses is where good turns into bad
    assert origin.turn is None and not any(hop.differs for hop in origin.hops)
    line = _search(start_at_line(program, "sorted.c", lines[1]), program, ["mixed", "recur"], ["sorted", "recur"])
    assert line.origin.hops


def test_each_hop_says_where_its_value_could_be_forced(build: Build) -> None:
    found = _way(build, "constant")
    assert len(found.forcible) == len(found.origin.hops)
    [site] = found.forcible[found.origin.turn]
    assert (site.bad[0][0], site.is_address) == (30000, False)
