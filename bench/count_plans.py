"""How much of real binaries can be counted, and what planning costs; every patch is looked up in objdump's listing.

    python bench/count_plans.py FILE ...

Prints for each file: CPU time of planning, and counted/found by kind with the reasons for the rest. A patch is wrong
unless it replaces whole instructions (one, where nothing is moved) and no direct jump or call leads into it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from whyperf.debuginfo import describe
from whyperf.debuginfo.probes.plan_file import PatchKind, Plan
from whyperf.debuginfo.probes.planner import DEFAULT_KINDS, make_plan
from whyperf.recording.call_tables import CallKind

_LINE = re.compile(r"^\s*([0-9a-f]+):\t((?:[0-9a-f]{2} )+)\s*(?:\t(.*))?$")
_DIRECT = re.compile(r"(?:[a-z0-9.,]+ )*?(call|j[a-z]+)\s+(?:[a-z0-9]+ )*([0-9a-f]+)\b")


def wrong_patches(plan: Plan, binary: Path) -> list[int]:
    objdump = shutil.which("x86_64-linux-gnu-objdump") or "objdump"
    starts, sizes, targets = [], [], set()
    with subprocess.Popen([objdump, "-d", "-w", "-z", binary], stdout=subprocess.PIPE, text=True) as listing:
        assert listing.stdout is not None
        for line in listing.stdout:
            if parts := _LINE.match(line):
                starts.append(int(parts[1], 16))
                sizes.append(len(parts[2].split()))
                if parts[3] and (direct := _DIRECT.match(parts[3])):
                    targets.add(int(direct[2], 16))
    start, entered = np.array(starts), np.array(sorted(targets))
    end = start + np.array(sizes)
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
            print(f"{Path(name).name}, {len(kinds)} kinds: {spent:.1f} s CPU")
        else:
            plan, coverage = made
            print(f"  functions not understood: {coverage.not_understood} of {coverage.functions}")
            for kind in sorted(coverage.found):
                why = {reason.name: count for (of, reason), count in coverage.reasons.items() if of is kind}
                print(f"  {kind.name:12} {coverage.counted[kind]}/{coverage.found[kind]} {why or ''}")
            print(f"  wrong patches: {len(wrong_patches(plan, Path(name)))} of {len(plan.patches)}")


if __name__ == "__main__":
    main()
