"""The flow of control within functions that compilers made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.debuginfo.building import PROGRAMS, Builder, run
from tests.debuginfo.conftest import Describe
from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.control_flow.function_flow import Flow, Flows
from whyperf.recording.schemas.deep_tables import SiteKind


@pytest.fixture(scope="module", params=["gcc -O2", "gcc -O2 -no-pie -fno-pie", "clang -O2", "gcc -O0"])
def program(request: pytest.FixtureRequest, build: Builder) -> Path:
    compiler, *flags = str(request.param).split()
    made = build.folder / f"flow-{compiler}{''.join(flags)}"
    run(compiler, *flags, "-g", PROGRAMS / "flow.c", "-o", made)
    return made


def flow_of(binary: Binary, name: str) -> Flow:
    [function] = binary.function_at(name)
    [entry] = binary.entry_addresses(function)
    flow = Flows(binary).of(binary.scope_entered_at(entry))
    assert flow is not None
    return flow


def count(flow: Flow, kind: SiteKind) -> int:
    return int((flow.kind == kind).sum())


def depth(flow: Flow, block: int) -> int:
    loop, found = int(flow.loop[block]), 0
    while loop >= 0:
        loop, found = int(flow.parent[loop]), found + 1
    return found


def test_instructions_are_in_blocks_and_blocks_in_order(program: Path, described: Describe) -> None:
    binary = described(program)
    for name in ("checked", "nested", "choose", "main"):
        flow = flow_of(binary, name)
        assert flow.address[0] == flow.entry
        assert np.all(np.diff(flow.block) >= 0) and np.array_equal(
            np.flatnonzero(np.diff(flow.block)) + 1, flow.first[1:]
        )
        # The code map's own blocks are never coarser: only tables' targets are new.
        assert len(flow.first) >= len(np.unique(binary.block_of(flow.address)))


def test_a_call_that_never_returns_ends_its_block(program: Path, described: Describe) -> None:
    """Else the code after it would seem to follow it, and the check's arms to join there."""
    binary = described(program)
    for name in ("checked", "aborts"):
        flow = flow_of(binary, name)
        calls = np.flatnonzero(flow.kind == SiteKind.CALL)
        ending = [row for row in calls.tolist() if row + 1 == len(flow.address) or row + 1 in flow.first]
        assert ending, name
        assert all(flow.join[flow.block[row]] == -1 for row in ending)
        assert count(flow, SiteKind.BRANCH) >= 1


def test_loops_are_nested(program: Path, described: Describe) -> None:
    flow = flow_of(described(program), "nested")
    assert max(depth(flow, block) for block in range(len(flow.first))) == 2
    # A branch within the inner loop joins within it.
    inner = [b for b in range(len(flow.first)) if depth(flow, b) == 2 and flow.branches[b]]
    assert inner


@pytest.mark.parametrize("name", ["choose", "dispatch"])
def test_jumps_through_tables_stay_in_the_function(program: Path, described: Describe, name: str) -> None:
    """A switch's distances, and `&&label` arrays of addresses. Without its table such a jump would be a tail call."""
    flow = flow_of(described(program), name)
    assert flow.unresolved == 0
    assert count(flow, SiteKind.TAIL_CALL) == 0 and count(flow, SiteKind.BRANCH) >= 1
    assert (len(flow.header) > 0) == (name == "dispatch")  # which goes round


def test_an_irreducible_loop_is_one_loop(program: Path, described: Describe) -> None:
    flow = flow_of(described(program), "irreducible")
    assert len(flow.header) >= 1
    branches = [b for b in range(len(flow.first)) if flow.branches[b] and flow.loop[b] >= 0]
    assert branches


def test_tail_calls_leave_the_function(described: Describe, build: Builder) -> None:
    made = build.folder / "flow-tail"
    run("gcc", "-O2", "-g", PROGRAMS / "flow.c", "-o", made)
    binary = described(made)
    flow = flow_of(binary, "tail")
    [nested] = binary.entry_addresses(binary.function_at("nested")[0])
    [choose] = binary.entry_addresses(binary.function_at("choose")[0])
    left = {int(t) for t in flow.target if t >= 0}
    assert {nested, choose} <= left
    assert count(flow, SiteKind.RETURN) == 0 and count(flow, SiteKind.CALL) == 0
    # One through a pointer goes through no table, though elsewhere there are tables.
    by_pointer = flow_of(binary, "tail_by_pointer")
    assert count(by_pointer, SiteKind.TAIL_CALL) == 1 and by_pointer.unresolved == 0


def test_a_stripped_binary_has_flows_too(program: Path, described: Describe, tmp_path: Path) -> None:
    # GIVEN a program of which only the unwind tables tell where functions are
    whole = described(program)
    stripped = tmp_path / "stripped"
    run("strip", program, "-o", stripped)
    binary = described(stripped)
    [entry] = whole.entry_addresses(whole.function_at("nested")[0])
    # THEN its functions are known by address, with the same blocks and loops
    scope = binary.scope_entered_at(entry)
    assert scope >= 0
    flow, named = Flows(binary).of(scope), flow_of(whole, "nested")
    assert flow is not None
    assert np.array_equal(flow.address, named.address) and np.array_equal(flow.join, named.join)
    assert np.array_equal(flow.loop, named.loop)
