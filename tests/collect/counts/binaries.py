"""Debian's own binaries, and their plans."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from bench.count_plans import Listed, listed

from tests.collect.counts.machine import MACHINE, ROOT
from whyperf.debuginfo.describe import describe
from whyperf.debuginfo.probes.plan_file import PatchPlan
from whyperf.debuginfo.probes.planner import Coverage, make_plan
from whyperf.recording.schemas.call_tables import CallKind

# A stripped program in C with an interpreter's switch in it, and a library in C++ with thousands of landing pads.
BINARIES = [Path(f"{ROOT}/usr/bin/bash"), Path(f"{ROOT}/usr/lib/{MACHINE}-linux-gnu/libstdc++.so.6")]


@cache
def planned(binary: Path, kinds: frozenset[CallKind] = frozenset(CallKind)) -> tuple[PatchPlan, Coverage]:
    made = make_plan(describe(str(binary)), kinds)
    assert made is not None
    return made


@cache
def disassembled(binary: Path) -> dict[int, Listed]:
    """By objdump."""
    return {one.address: one for one in listed(binary)}
