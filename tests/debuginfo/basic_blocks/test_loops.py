"""Which places loops repeat: compiled programs against marks in their source, graphs against a plain search."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.debuginfo.building import PROGRAMS, Builder, run
from tests.debuginfo.conftest import Describe
from whyperf.debuginfo.basic_blocks.flow_graph import find_loops
from whyperf.debuginfo.binary import Binary

CALL = re.compile(r"^\s*([0-9a-f]+):\t(?:bnd )?(?:call|jmp|bl|b)\s+[0-9a-f]+ <(\w+)>$", re.MULTILINE)
# Without jumps out of a loop, which clang for aarch64 makes part of the condition's line.
INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\t(?!b\t)", re.MULTILINE)
SOURCE = (PROGRAMS / "rounds.c").read_text().splitlines()
MARKS = {number: int("// IN" in text) for number, text in enumerate(SOURCE, 1) if re.search(r"// (IN|OUT)$", text)}


def _listing(path) -> str:
    return run("objdump", "-d", "--no-show-raw-insn", "-j", ".text", path)


def _calls(path) -> list[int]:
    return [int(found[1], 16) for found in CALL.finditer(_listing(path))]


def _rows(binary: Binary, addresses: list[int]) -> list[tuple[str, int, int]]:
    """Function, line and whether it is in a loop, of every function at every address."""
    wanted = np.array(addresses, np.uint64)
    places = binary.resolve(wanted)
    in_loop = binary.in_loop(wanted)
    assert len(in_loop) == len(places.line)
    names = [binary.functions.names[number] for number in places.function.tolist()]
    return list(zip(names, places.line.tolist(), in_loop, strict=True))


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2"])
def test_calls_are_in_the_loops_that_the_source_shows(
    build: Builder, described: Describe, compiler: str, level: str
) -> None:
    # GIVEN calls, which no compiler moves out of a loop
    program = build.rounds(level, "-g", compiler=compiler)
    # WHEN
    rows = [row for row in _rows(described(program), _calls(program)) if row[1] in MARKS]
    # THEN (of a line that is repeated, -O2 may keep a copy for the first round before the loop)
    found: dict[tuple[str, int], int] = {}
    for name, line, in_loop in rows:
        found[name, line] = max(in_loop, found.get((name, line), in_loop))
    wrong = {(*at, SOURCE[at[1] - 1].strip()) for at, in_loop in found.items() if in_loop != MARKS[at[1]]}
    assert not wrong
    assert len({line for _, line in found}) > 0.8 * len(MARKS)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_without_optimisation_every_instruction_of_a_line_is(
    build: Builder, described: Describe, compiler: str
) -> None:
    program = build.rounds("-O0", "-g", compiler=compiler)
    addresses = [int(found[1], 16) for found in INSTRUCTION.finditer(_listing(program))]
    marks = {line: mark for line, mark in MARKS.items() if "while" not in SOURCE[line - 1]}  # some jump to their end
    rows = [row for row in _rows(described(program), addresses) if row[1] in marks]
    assert {row[1] for row in rows} == marks.keys()
    assert not {(name, line, SOURCE[line - 1].strip()) for name, line, found in rows if found != marks[line]}


def test_symbols_suffice(build: Builder, described: Describe) -> None:
    # GIVEN a program without debug information
    program = build.rounds("-O0")
    binary = described(program)
    in_loop = {}
    for address in _calls(program):
        [(name, _, found)] = _rows(binary, [address])
        in_loop.setdefault(name, set()).add(found)
    # THEN
    assert in_loop["counted"] == {0, 1}
    assert in_loop["no_loop"] == in_loop["recursive"] == {0}


def test_code_that_is_gone_is_unknown(build: Builder, described: Describe) -> None:
    program = build.rounds("-O2", "-g")
    binary = described(program)
    gone = replace(binary, elf=None, _blocks={}, _repeated={})
    assert {found for _, _, found in _rows(gone, _calls(program))} == {-1}


GRAPHS = st.integers(1, 9).flatmap(
    lambda count: st.lists(st.lists(st.integers(0, count - 1), max_size=3), min_size=count, max_size=count)
)


def _reaches(successors: list[list[int]], start: int, goal: int, without: int = -1) -> bool:
    """By at least one step."""
    pending, seen = [start], set()
    while pending:
        for to in successors[pending.pop()]:
            if to == goal:
                return True
            if to != without and to not in seen:
                seen.add(to)
                pending.append(to)
    return False


@settings(max_examples=300, deadline=None)
@given(GRAPHS)
def test_a_block_is_in_a_loop_if_it_reaches_itself(successors: list[list[int]]) -> None:
    loops = find_loops(successors)
    for block in range(len(successors)):
        around = list(loops.around(block))
        assert bool(around) == _reaches(successors, block, block)
        # AND every loop around it leads through its header and back
        for loop in around:
            header = loops.header[loop]
            assert loop in loops.around(header)
            assert block == header or (_reaches(successors, header, block) and _reaches(successors, block, header))
    # AND loops around loops are larger
    assert all(parent < loop for loop, parent in enumerate(loops.parent))


@settings(max_examples=300, deadline=None)
@given(GRAPHS)
def test_in_reducible_graphs_they_are_the_natural_loops(successors: list[list[int]]) -> None:
    # GIVEN blocks that can all be reached, and of their edges those back to a block that lies on every way to theirs
    count = len(successors)
    successors = [[*following, *range(2 * at + 1, min(2 * at + 3, count))] for at, following in enumerate(successors)]

    def dominates(one: int, other: int) -> bool:
        return one in (0, other) or (other != 0 and not _reaches(successors, 0, other, without=one))

    back = [(block, to) for block in range(count) for to in successors[block] if dominates(to, block)]
    ahead = [[to for to in successors[block] if (block, to) not in back] for block in range(count)]
    if any(_reaches(ahead, block, block) for block in range(count)):
        return  # irreducible
    natural: dict[int, set[int]] = {}
    for block, header in back:
        members = natural.setdefault(header, {header})
        inside = range(count) if block != header else ()
        members |= {one for one in inside if one == block or _reaches_avoiding(successors, one, block, header)}
    # THEN each of them is a loop with that header and these blocks
    loops = find_loops(successors)
    found = {
        loops.header[loop]: {block for block in range(count) if loop in loops.around(block)}
        for loop in range(len(loops.header))
    }
    assert found == natural


def _reaches_avoiding(successors: list[list[int]], start: int, goal: int, avoided: int) -> bool:
    return start != avoided and _reaches(successors, start, goal, without=avoided)
