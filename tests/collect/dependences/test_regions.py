"""The region tree: counted by hand on a small program, and against a plain twin on the same events."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.collect.dependences.tool_run import functions_of, plan_text, record
from whyperf.collect.dependences.stream import DecodedStream, Stream, StreamFlow
from whyperf.debuginfo.control_flow.function_flow import Flows
from whyperf.debuginfo.describe import describe
from whyperf.recording.schemas.deep_tables import RegionKind
from whyperf.seal.dependences.flows import join_flows
from whyperf.seal.dependences.sites import PlacedFlow, keys_of

TARGETS = Path(__file__).parent / "targets"
ZOOMED = ["nested", "search"]


@pytest.fixture(scope="module", params=["-O0", "-O1", "-O2"])
def recorded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Stream, DecodedStream, StreamFlow]:
    program = tmp_path_factory.mktemp("regions") / "regions"
    flags = [request.param, "-g", "-no-pie", "-fno-unroll-loops"]
    subprocess.run(["gcc", *flags, TARGETS / "regions.c", "-o", program], check=True)
    stream = record(program, plan_text(program, {**dict.fromkeys(ZOOMED, "zoom"), "visit": "entries"}))
    binary = describe(str(program))
    entries = [functions_of(program)[name].entry for name in ZOOMED]
    flows = [PlacedFlow(0, flow) for entry in entries if (flow := Flows(binary).of(binary.scope_entered_at(entry)))]
    mine = next(n for n, module in enumerate(stream.modules) if module.path == str(program))
    sites = keys_of(np.where(stream.sites["module"] == mine, 0, -1), stream.sites["address"])
    flow = join_flows(flows, sites).flow
    return stream, stream.decode(flow), flow


def _within(decoded: DecodedStream, function: int, kind: RegionKind) -> list[int]:
    regions = decoded.regions
    found = []
    for number in np.flatnonzero(regions["kind"] == kind):
        above = int(number)
        while regions["kind"][above] != RegionKind.ACTIVATION:
            above = int(regions["parent"][above])
        if regions["place"][above] == function:
            found.append(int(number))
    return found


# -O2 threads jumps, which makes other loops of these.
@pytest.mark.parametrize("recorded", ["-O0", "-O1"], indirect=True)
def test_iterations_are_counted(recorded: tuple[Stream, DecodedStream, StreamFlow]) -> None:
    _, decoded, _ = recorded
    regions = decoded.regions
    # THEN the outer loop is entered once, the inner one once a row that has columns at most
    loops = _within(decoded, 0, RegionKind.LOOP)
    by_loop = Counter(int(regions["place"][n]) for n in loops)
    assert sorted(by_loop.values())[0] == 1 and 3 <= sorted(by_loop.values())[1] <= 4
    # AND a call in the body is below iterations that tell which pass it was
    visits = [n for n in np.flatnonzero(regions["kind"] == RegionKind.ACTIVATION) if regions["place"][n] == 2]
    depths = [_loops_above(decoded, int(n)) for n in visits]
    # nested: (r, c) = (1, 0), (2, 0), (3, 0); the one that leaves is outside of the inner loop; search: both outside
    assert depths == [2, 2, 2, 1, 0, 0]


def _loops_above(decoded: DecodedStream, region: int) -> int:
    count, above = 0, int(decoded.regions["parent"][region])
    while decoded.regions["kind"][above] != RegionKind.ACTIVATION:
        count += int(decoded.regions["kind"][above] == RegionKind.LOOP)
        above = int(decoded.regions["parent"][above])
    return count


def test_a_search_that_finds_leaves_its_loop_by_an_arm(recorded: tuple[Stream, DecodedStream, StreamFlow]) -> None:
    stream, decoded, flow = recorded
    regions = decoded.regions
    visits = [int(n) for n in np.flatnonzero((regions["kind"] == RegionKind.ACTIVATION) & (regions["place"] == 2))]
    found = regions[int(regions["parent"][visits[4]])]
    # THEN what is done after finding is the arm of the branch in the loop that decided it
    assert found["kind"] == RegionKind.ARM
    decided = int(found["event"])
    assert regions["kind"][decoded.region[decided]] in (RegionKind.ITERATION, RegionKind.ARM)
    assert flow.site_block[decoded.site[decided]] == found["place"]
    assert stream.complete


def test_numbers_lead_where_they_should(recorded: tuple[Stream, DecodedStream, StreamFlow]) -> None:
    _, decoded, flow = recorded
    regions = decoded.regions
    inner = np.arange(1, len(regions))
    assert (regions["parent"][1:] < inner).all()
    arms = regions[regions["kind"] == RegionKind.ARM]
    decided = decoded.site[arms["event"]]
    assert (flow.site_block[decided] == arms["place"]).all()
    assert (flow.block_branch[arms["place"]] == 1).all()
    iterations = regions[regions["kind"] == RegionKind.ITERATION]
    assert (regions["kind"][iterations["parent"]] == RegionKind.LOOP).all()
    assert (regions["place"][iterations["parent"]] == iterations["place"]).all()


def test_regions_equal_a_plain_twin(recorded: tuple[Stream, DecodedStream, StreamFlow]) -> None:
    stream, decoded, flow = recorded
    regions = decoded.regions
    # GIVEN for each activation its events in order
    frames: dict[int, list[int]] = {}
    for event in range(1, stream.events + 1):
        above = int(decoded.region[event])
        while regions["kind"][above] != RegionKind.ACTIVATION:
            above = int(regions["parent"][above])
        frames.setdefault(above, []).append(event)
    # THEN the chain of loops and arms around each event is what definitions say
    for events in frames.values():
        for event, expected in zip(events, _twin([int(s) for s in decoded.site[events]], flow), strict=True):
            chain, above = [], int(decoded.region[event])
            while regions["kind"][above] != RegionKind.ACTIVATION:
                row = regions[above]
                chain.append((RegionKind(int(row["kind"])).name, int(row["place"]), int(row["arm"])))
                above = int(row["parent"])
            assert chain[::-1] == expected


def _twin(sites: list[int], flow: StreamFlow) -> list[list[tuple[str, int, int]]]:
    """The open regions at each of one activation's events, as a list that is searched from the outside."""

    def inside(block: int, loop: int) -> bool:
        around = int(flow.block_loop[block])
        while around >= 0 and around != loop:
            around = int(flow.loop_parent[around])
        return around == loop and loop >= 0

    opened: list[tuple[str, int, int]] = []
    found = []
    branched = -1
    for site in sites:
        block = int(flow.site_block[site])
        if flow.site_head[site]:
            for depth, (kind, place, _) in enumerate(opened):
                if kind == "LOOP" and not inside(block, place):
                    del opened[depth:]
                    break
            # Arms end where their branch's ways meet; one around a loop that goes on ends with the loop.
            arms = len(opened)
            while arms and opened[arms - 1][0] == "ARM":
                arms -= 1
            meeting = [depth for depth in range(arms, len(opened)) if flow.block_ipdom[opened[depth][1]] == block]
            if meeting:
                del opened[meeting[0] :]
            loop = int(flow.block_loop[block])
            header = loop >= 0 and flow.loop_header[loop] == block
            back = header and branched >= 0 and inside(branched, loop)
            if branched >= 0 and not back and flow.block_ipdom[branched] != block:
                opened.append(("ARM", branched, block))
            if header:
                depth = next((d for d, (kind, place, _) in enumerate(opened) if kind == "LOOP" and place == loop), -1)
                number = 0
                if depth < 0:
                    opened.append(("LOOP", loop, block))
                else:
                    number = opened[depth + 1][2] + 1
                    del opened[depth + 1 :]
                opened.append(("ITERATION", loop, number))
            branched = -1
        if flow.block_branch[block]:
            branched = block
        found.append(list(opened))
    return found


def test_an_exception_ends_what_it_passes(tmp_path: Path) -> None:
    program = tmp_path / "throws"
    subprocess.run(["g++", "-O2", "-no-pie", TARGETS / "throws.cc", "-o", program], check=True)
    names = ["main", "catcher", "thrower", "leaf"]
    stream = record(program, plan_text(program, dict.fromkeys(names, "zoom")))
    regions = stream.decode().regions
    called = [
        (int(row["place"]), int(regions["place"][row["parent"]]))
        for row in regions
        if row["kind"] == RegionKind.ACTIVATION
    ]
    # THEN what the handler calls is below the function that caught
    expected = [("leaf", "main"), ("catcher", "main"), ("thrower", "catcher"), ("thrower", "thrower"),
                ("thrower", "thrower"), ("leaf", "catcher"), ("leaf", "catcher"), ("leaf", "main")]  # fmt: skip
    assert called[1:] == [(names.index(callee), names.index(caller)) for callee, caller in expected]
