"""Calls that must have happened, against what a run of the very program says happened."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from tests.debuginfo.building import Builder, run
from tests.debuginfo.conftest import Describe
from whyperf.debuginfo.control_flow.certain_calls import passed_calls
from whyperf.debuginfo.control_flow.function_flow import TimedFlows
from whyperf.seal.symbols import DebugInfo

NOTED = ["always", "odd", "falls_through", "second", "third", "in_loop", "deep", "late", "round_end", "last", "retry"]
CERTAIN = {
    "mark_start": {"always"},
    "mark_odd": {"always", "odd"},
    "mark_case": {"always", "second"},
    "mark_loop": {"always", "in_loop"},
    "mark_end": {"always", "deep"},
}
AMPLE_S = 60.0


def _calls_of(program: Path, name: str) -> list[int]:
    listing = run("objdump", "-d", "--no-show-raw-insn", "-j", ".text", program)
    found = re.findall(rf"^\s*([0-9a-f]+):\t(?:bnd )?(?:call|bl)\s+[0-9a-f]+ <{name}>$", listing, re.MULTILINE)
    return [int(address, 16) for address in found]


def _always_called(program: Path) -> dict[str, set[str]]:
    """By mark: what every run that came there called, before or after."""
    arguments = [str(value) for pair in product(range(80), range(3)) for value in pair]
    always: dict[str, set[str]] = {}
    marks: set[str] = set()
    for line in run(program, *arguments).splitlines():
        if line.startswith("mark_"):
            marks.add(line)
        elif line.startswith("called "):
            called = {name for number, name in enumerate(NOTED) if int(line.split()[1]) >> number & 1}
            always |= {mark: always.get(mark, called) & called for mark in marks}
            marks = set()
    return always


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2", "-O3"])
def test_what_is_certain_happened_in_every_run(build: Builder, described: Describe, compiler: str, level: str) -> None:
    # GIVEN branches, a jump table whose cases fall through, a loop, an inlined function
    program = build.ways(level, "-g", compiler=compiler)
    binary = described(program)
    names = binary.functions.names
    happened = _always_called(program)
    for mark, expected in CERTAIN.items():
        places = _calls_of(program, mark)
        assert places, mark
        # WHEN: each copy of the place for itself
        found = [
            {names[callee] for _, callee in passed_calls(TimedFlows(binary, AMPLE_S), np.array([place], np.uint64))}
            for place in places
        ]
        # THEN nothing is called certain that a run did without, and what the source makes certain is found
        for certain in found:
            assert certain & set(NOTED) <= happened[mark] or len(places) > 1
        assert expected <= set.intersection(*found) & set(NOTED) <= happened[mark]


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_what_every_round_of_a_loop_does_is_certain(build: Builder, described: Describe, compiler: str) -> None:
    # GIVEN a loop that may end the program in a round, and one that may be left in the middle of a round
    program = build.ways("-O0", "-g", compiler=compiler)
    binary = described(program)
    names = binary.functions.names

    def certain(mark: str) -> set[str]:
        places = np.array(_calls_of(program, mark), np.uint64)
        return {names[callee] for _, callee in passed_calls(TimedFlows(binary, AMPLE_S), places)}

    # THEN what follows in the first is certain, since it went on; in the other it is not, nor is what comes after both
    assert "round_end" in certain("mark_loop")
    assert "retry" not in certain("mark_try") and "last" not in certain("mark_end")


def test_callers_are_told_even_of_inlined_code(build: Builder, described: Describe) -> None:
    program = build.ways("-O2", "-g")
    binary = described(program)
    names = binary.functions.names
    end = np.array(_calls_of(program, "mark_end"), np.uint64)
    pairs = {(names[caller], names[callee]) for caller, callee in passed_calls(TimedFlows(binary, AMPLE_S), end)}
    assert {("shape", "always"), ("shape", "folded"), ("folded", "deep")} <= pairs
    assert ("shape", "deep") not in pairs


def test_without_time_nothing_is_read(build: Builder, described: Describe) -> None:
    program = build.ways("-O2", "-g")
    places = np.array(_calls_of(program, "mark_end"), np.uint64)
    assert passed_calls(TimedFlows(described(program), 0.0), places) == set()


def test_several_recordings_ask_the_same_code_with_time_for_each(build: Builder, described: Describe) -> None:
    program, symbols = build.ways("-O2", "-g"), DebugInfo()
    ends, starts = (np.array(_calls_of(program, name), np.uint64) for name in ("mark_end", "mark_odd"))
    flows = TimedFlows(described(program), AMPLE_S)
    both = [symbols.passed_calls(str(program), "", places) for places in (ends, starts, ends)]
    assert both[0] == both[2] == passed_calls(flows, ends)
    assert both[1] == passed_calls(TimedFlows(described(program), AMPLE_S), starts)
    # WHEN the time of one is up, the next has its own
    fresh = DebugInfo()
    fresh._flows_of(str(program), "")._deadline = 0.0
    assert fresh.passed_calls(str(program), "", ends) == both[0]
