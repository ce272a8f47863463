"""How much of real binaries can be counted, and what planning costs; every patch is looked up in objdump's listing.

    python -m bench.count_plans FILE ...

Prints for each file: CPU time of planning, and counted/found by kind with the reasons for the rest. A patch is wrong
unless it replaces whole instructions (one, where nothing is moved) and no direct jump or call leads into it.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from whyperf.debuginfo.describe import describe
from whyperf.debuginfo.probes.plan_file import PatchKind, PatchPlan
from whyperf.debuginfo.probes.planner import DEFAULT_KINDS, make_plan
from whyperf.recording.schemas.call_tables import CallKind

_LINE = re.compile(r"^\s*([0-9a-f]+):\t((?:[0-9a-f]{2} )+|[0-9a-f]{8} )\s*(?:\t(.*))?$")
_MACHINES = {62: "x86_64", 183: "aarch64"}
_DIRECT = {
    62: re.compile(r"(?:[a-z0-9.,]+ )*?(call|j[a-z]+)\s+(?:[a-z0-9]+ )*([0-9a-f]+)\b"),
    183: re.compile(r"(bl?|b\.[a-z]+|cbn?z|tbn?z)\s+(?:[^,]+, )*([0-9a-f]+) <"),
}
_CALLS = ("call", "bl")


class Listed(NamedTuple):
    """An instruction."""

    address: int
    size: int
    text: str
    target: int | None
    """Of a direct call or jump."""
    is_call: bool


def listed(binary: Path) -> Iterator[Listed]:
    """By objdump, without whyperf's own decoders."""
    elf = describe(str(binary)).elf
    assert elf is not None
    direct, machine = _DIRECT[elf.machine], _MACHINES[elf.machine]
    objdump = "objdump" if machine == platform.machine() else shutil.which(f"{machine}-linux-gnu-objdump") or "objdump"
    with subprocess.Popen([objdump, "-d", "-w", "-z", binary], stdout=subprocess.PIPE, text=True) as listing:
        assert listing.stdout is not None
        for line in listing.stdout:
            if parts := _LINE.match(line):
                text = parts[3] or ""
                found = direct.match(text)
                size = len(parts[2].replace(" ", "")) // 2
                target, call = (int(found[2], 16), found[1] in _CALLS) if found else (None, False)
                yield Listed(int(parts[1], 16), size, text, target, call)


def wrong_patches(plan: PatchPlan, binary: Path) -> list[int]:
    code = list(listed(binary))
    start = np.array([one.address for one in code])
    end = start + np.array([one.size for one in code])
    entered = np.array(sorted({one.target for one in code if one.target is not None}))
    low = plan.patches["at"].astype(np.int64)
    high = low + plan.patches["size"]
    first, last = np.searchsorted(start, low), np.searchsorted(end, high)
    sound = (start[np.minimum(first, len(start) - 1)] == low) & (end[np.minimum(last, len(end) - 1)] == high)
    sound &= (plan.patches["kind"] != PatchKind.DISTANCE) | (first == last)
    sound &= np.searchsorted(entered, low + 1) == np.searchsorted(entered, high)
    sound &= [bool((end[a:b] == start[a + 1 : b + 1]).all()) for a, b in zip(first, last, strict=True)]
    wrong: list[int] = low[~sound].tolist()
    return wrong


def main() -> None:
    for name in sys.argv[1:]:
        binary = describe(name)
        for kinds in (DEFAULT_KINDS, frozenset(CallKind)):
            began = time.process_time()
            made = make_plan(binary, kinds)
            spent = time.process_time() - began
            if made is None:
                print(f"{name}: cannot be planned")
                break
            print(f"{Path(name).name}, {len(kinds)} kinds: {spent:.2f} s CPU")
        else:
            plan, coverage = made
            print(f"  functions not understood: {coverage.not_understood} of {coverage.functions}")
            for kind in sorted(coverage.found):
                why = {reason.name: count for (of, reason), count in coverage.reasons.items() if of is kind}
                print(f"  {kind.name:12} {coverage.counted[kind]}/{coverage.found[kind]} {why or ''}")
            print(f"  wrong patches: {len(wrong_patches(plan, Path(name)))} of {len(plan.patches)}")


if __name__ == "__main__":
    main()
