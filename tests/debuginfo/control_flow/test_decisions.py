"""Which lines decide that calls happen: compiled code against marks in its source, graphs against a plain search."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.debuginfo.building import PROGRAMS, Builder, run
from tests.debuginfo.conftest import Describe
from whyperf.debuginfo.control_flow.decisions import control_dependences, deciding_lines
from whyperf.debuginfo.control_flow.function_flow import TimedFlows

CALL = re.compile(r"^\s*([0-9a-f]+):\t(?:bnd )?(?:call|jmp|bl|b)\s+[0-9a-f]+ <(\w+)>$", re.MULTILINE)
SOURCE = (PROGRAMS / "choices.c").read_text().splitlines()
MARK = re.compile(r"// (AS|BY) (\w+)$")
AMPLE_S = 60.0
# The end of a loop's body stays one piece of code, whatever the machine.
ONE_COPY = {"gcc": ("-freorder-blocks-algorithm=simple",), "clang": ()}
MARKS = {number: found for number, text in enumerate(SOURCE, 1) if (found := MARK.search(text))}
LINE = {found[2]: number for number, found in MARKS.items() if found[1] == "AS"} | {"NOTHING": 0}
WANTED = {number: LINE[found[2]] for number, found in MARKS.items() if found[1] == "BY"}

ROUNDS = {number for number, text in enumerate(SOURCE, 1) if text.strip().startswith("for ")}


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2"])
def test_the_condition_that_the_source_shows_decides(
    build: Builder, described: Describe, compiler: str, level: str
) -> None:
    # GIVEN calls, which no compiler moves before the condition that they depend on; but it may copy those that end a
    # function into the arms before them
    program = build.choices(level, "-g", "-fno-optimize-sibling-calls", *ONE_COPY[compiler], compiler=compiler)
    listing = run("objdump", "-d", "--no-show-raw-insn", "-j", ".text", program)
    addresses = np.array([int(found[1], 16) for found in CALL.finditer(listing)], np.uint64)
    binary = described(program)
    # WHEN
    places = binary.resolve(addresses)
    found = [one for lines in deciding_lines(TimedFlows(binary, AMPLE_S), addresses) for one in lines]
    # THEN (what is inlined stands there with the line of its call)
    told = [(line, one) for line, one in zip(places.line.tolist(), found, strict=True) if line in WANTED]
    rows = [(line, one.line) for line, one in told]
    assert not {(SOURCE[line - 1].strip(), by) for line, by in rows if by != WANTED[line]}
    assert {line for line, _ in rows} == WANTED.keys()
    # AND what nothing decides about happens in every call
    assert all(one.every_call == (WANTED[line] == LINE["NOTHING"]) for line, one in told)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2"])
def test_what_happens_in_every_round_is_told_from_what_a_round_may_leave_out(
    build: Builder, described: Describe, compiler: str, level: str
) -> None:
    # GIVEN calls in loops, some behind conditions
    flags = ("-fno-optimize-sibling-calls", "-fno-unroll-loops", *ONE_COPY[compiler])
    program = build.choices(level, "-g", *flags, compiler=compiler)
    listing = run("objdump", "-d", "--no-show-raw-insn", "-j", ".text", program)
    addresses = np.array([int(found[1], 16) for found in CALL.finditer(listing)], np.uint64)
    binary = described(program)
    places = binary.resolve(addresses)
    found = [one for decided in deciding_lines(TimedFlows(binary, AMPLE_S), addresses) for one in decided]
    # WHEN
    told = {line for line, one in zip(places.line.tolist(), found, strict=True) if line in WANTED and one.every_round}
    # THEN what a loop's own condition decides about happens in every round (of each copy that compilers make, some of
    # which nothing may be known), but for what another condition of the same line may leave out
    assert told == {line for line, by in WANTED.items() if by in ROUNDS and "&&" not in SOURCE[line - 1]}


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_what_handles_an_exception_does_not_happen_in_every_call(
    build: Builder, described: Describe, level: str
) -> None:
    source = (PROGRAMS / "handlers.cpp").read_text().splitlines()
    always, sometimes = (
        next(number for number, text in enumerate(source, 1) if text.endswith(mark)) for mark in ("ALWAYS", "SOMETIMES")
    )
    program = build.handlers(level, "-g", "-fno-optimize-sibling-calls")
    binary = described(program)
    listing = run("objdump", "-d", "--no-show-raw-insn", "-j", ".text", program)
    addresses = np.array([int(found[1], 16) for found in CALL.finditer(listing)], np.uint64)
    found = [one for decided in deciding_lines(TimedFlows(binary, AMPLE_S), addresses) for one in decided]
    every = {line: one.every_call for line, one in zip(binary.resolve(addresses).line.tolist(), found, strict=True)}
    assert (every[always], every[sometimes]) == (True, False)


def test_of_code_without_debug_information_nothing_is_known(build: Builder, described: Describe) -> None:
    program = build.choices("-O0")
    listing = run("objdump", "-d", "--no-show-raw-insn", "-j", ".text", program)
    addresses = np.array([int(found[1], 16) for found in CALL.finditer(listing)], np.uint64)
    flows = TimedFlows(described(program), AMPLE_S)
    assert {one for lines in deciding_lines(flows, addresses) for one in lines if one.line or one.every_round} == set()
    # AND without time nothing is read
    assert deciding_lines(TimedFlows(described(program), 0.0), addresses) == [[]] * len(addresses)


@st.composite
def _graphs(draw) -> list[list[int]]:
    count = draw(st.integers(1, 7))
    block = st.integers(0, count - 1)
    return draw(st.lists(st.lists(block, max_size=3, unique=True), min_size=count, max_size=count))


@settings(max_examples=300, deadline=None)
@given(_graphs())
def test_a_block_depends_on_branches_after_which_it_is_certain_and_before_which_it_is_not(graph) -> None:
    # GIVEN graphs from which every block can be left (elsewhere a loop without end is taken to be left somewhere)
    if any(not _ends(graph, block) for block in range(len(graph))):
        return
    found = control_dependences(graph, [not following for following in graph])
    for block in range(len(graph)):
        wanted = {
            branch
            for branch, following in enumerate(graph)
            if any(_certain(graph, to, block) for to in following)
            and not (branch != block and _certain(graph, branch, block))
            and len(following) > 1
            and not all(_certain(graph, to, block) for to in following)
        }
        assert found[block] == wanted


def _ends(graph: list[list[int]], start: int, without: int = -1) -> bool:
    """Whether a block that leads nowhere can be reached from `start` without passing `without`."""
    if start == without:
        return False
    seen, work = {start}, [start]
    while work:
        block = work.pop()
        if not graph[block]:
            return True
        new = {to for to in graph[block] if to != without} - seen
        seen |= new
        work += new
    return False


def _certain(graph: list[list[int]], start: int, block: int) -> bool:
    return not _ends(graph, start, without=block)
