"""Plans of real binaries of this machine, looked at with another disassembler."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.collect.counts.binaries import BINARIES, disassembled, planned
from tests.collect.counts.machine import Machine
from whyperf.debuginfo.describe import describe
from whyperf.debuginfo.elf_files.elf import read_elf
from whyperf.debuginfo.image import Image
from whyperf.debuginfo.probes.plan_file import PatchKind, read, written
from whyperf.debuginfo.probes.stretches import stretches
from whyperf.recording.schemas.call_tables import CallKind


@pytest.mark.parametrize("binary", BINARIES, ids=lambda path: path.name)
def test_patches_replace_whole_instructions(binary: Path) -> None:
    plan, _ = planned(binary)
    code = disassembled(binary)
    jumped_to = {one.target for one in code.values() if one.target is not None}
    assert len(plan.patches) > 5000
    for patch in plan.patches:
        start, end = int(patch["at"]), int(patch["at"]) + int(patch["size"])
        at, count = start, 0
        while at < end:
            assert at in code, hex(start)
            at += code[at].size
            count += 1
        assert at == end, hex(start)
        assert count == 1 or patch["kind"] != PatchKind.DISTANCE
        assert jumped_to.isdisjoint(range(start + 1, end)), hex(start)


@pytest.mark.parametrize("binary", BINARIES, ids=lambda path: path.name)
def test_nearly_every_direct_call_is_counted(binary: Path) -> None:
    plan, coverage = planned(binary)
    assert coverage.not_understood == 0
    assert coverage.counted[CallKind.CALL] >= 0.999 * coverage.found[CallKind.CALL]
    own = {(int(low), int(high)) for low, high in _ranges(binary)}
    inside = [at for at, one in disassembled(binary).items() if one.is_call]
    found = set(plan.sites["address"][plan.sites["kind"] == CallKind.CALL].tolist())
    missed = [at for at in inside if at not in found and any(low <= at < high for low, high in own)]
    assert missed == []


def _ranges(binary: Path) -> Iterator[tuple[int, int]]:
    elf = read_elf(binary)
    assert elf is not None
    yield from ((one.low, one.high) for one in stretches(elf, Image(elf)))


def test_a_plan_is_read_as_it_was_written() -> None:
    plan, _ = planned(BINARIES[0])
    again = read(written(plan))
    assert again is not None
    assert (again.stubs, again.build_id, again.flags) == (plan.stubs, plan.build_id, plan.flags)
    assert again.patches.tobytes() == plan.patches.tobytes() and again.sites.tobytes() == plan.sites.tobytes()


def test_landing_pads_and_split_off_parts_are_known(machine: Machine) -> None:
    source = """#include <cstdio>
    #include <stdexcept>
    struct Guard { int *at; ~Guard() { *at += 1; } };
    __attribute__((noipa)) void may_throw(int n) { if (n > 3) throw std::runtime_error("no"); }
    __attribute__((noipa)) int guarded(int n) {
        int destroyed = 0;
        {
            Guard guard{&destroyed};
            try { may_throw(n); } catch (const std::exception &) { destroyed += 7; may_throw(0); }
        }
        return destroyed;
    }
    int main(int count, char **) { std::printf("%d\\n", guarded(count)); }"""
    binary = describe(str(machine.compiled(source, "-freorder-blocks-and-partition")))
    assert binary.elf is not None and binary.machine is not None
    (function,) = binary.function_at("guarded")
    entry, *_ = binary.entry_addresses(function)
    by_start = {one.low: one for one in stretches(binary.elf, Image(binary.elf))}
    whole = by_start[entry]
    assert whole.landings and not whole.is_part
    # Those of the split-off part are counted from its own start.
    parts = [one for one in by_start.values() if one.is_part]
    assert parts
    for one in (whole, *parts):
        starts = {row[0] for row in binary.machine.rows(binary.elf.code(one.low, one.high), one.low)}
        others = {at for at in one.landings or () if not one.low <= at < one.high}
        assert (one.landings or frozenset()) - others <= starts
