"""Call counts against others': the kernel's at each call instruction, callgrind's of each function and its callers.

    python -m bench.count_oracle [--uprobes] [--module FILE ...] -- COMMAND ...

The program and the modules named are counted, then the same command runs uncounted with a uprobe at every counted
instruction (as root), or under `valgrind --tool=callgrind`. The program must do the same twice, in one process. On
aarch64, callgrind misses some tail calls, and takes others for callers after tail calls, longjmp and exceptions.
"""

from __future__ import annotations

import argparse
import bisect
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from whyperf.collect.counts.counter_files import counted_processes
from whyperf.collect.counts.recorder import LIBRARY
from whyperf.collect.runs.work_count import CallCounter
from whyperf.collect.target.program import find_program
from whyperf.debuginfo.describe import describe
from whyperf.debuginfo.elf_files.elf import read_elf
from whyperf.debuginfo.image import Image
from whyperf.debuginfo.probes.plan_cache import ensure_plan
from whyperf.debuginfo.probes.plan_file import PatchPlan
from whyperf.debuginfo.probes.stretches import bodies_of, stretches
from whyperf.recording.schemas.call_tables import CallKind

Edge = tuple[int, int]
"""Where a stretch of code starts, and what it calls: addresses in the file."""
_CALLS = re.compile(r"calls=(\d+) (0x[0-9a-f]+) ")
_DIRECT = (CallKind.CALL, CallKind.TAIL)
_BY_POINTER = (CallKind.POINTER, CallKind.POINTER_TAIL)


@dataclass(frozen=True)
class Compared:
    module: str
    edges: int
    calls: int
    differing: dict[Edge, tuple[int, int]]
    """Ours and callgrind's."""
    functions: int
    entered_differently: dict[int, tuple[int, int]]


@dataclass(frozen=True)
class _Called:
    """A line of callgrind's."""

    module: str
    at: int
    target_module: str
    target: int
    calls: int


def compared(command: Sequence[str], modules: Sequence[Path]) -> list[Compared]:
    with tempfile.TemporaryDirectory(prefix="whyperf-oracle-") as folder:
        plans = Path(folder) / "plans"
        plans.mkdir()
        made = {module: _planned(plans, module) for module in modules}
        ours = _counted(command, Path(folder), {plan.build_id: plan for plan in made.values()})
        theirs = _by_callgrind(command, Path(folder) / "callgrind.out")
    return [_compared(module, plan, ours[plan.build_id], theirs) for module, plan in made.items()]


@dataclass(frozen=True)
class Probed:
    module: str
    sites: int
    """Passed."""
    passes: int
    differing: dict[int, tuple[int, int]]
    """Ours and the kernel's, by address."""


def probed(command: Sequence[str], modules: Sequence[Path]) -> list[Probed]:
    """By uprobes at all sites that are passed."""
    with tempfile.TemporaryDirectory(prefix="whyperf-oracle-") as folder:
        plans = Path(folder) / "plans"
        plans.mkdir()
        made = {module: _planned(plans, module) for module in modules}
        counts = _counted(command, Path(folder), {plan.build_id: plan for plan in made.values()})
    ours: dict[tuple[Path, int], int] = {}
    for module, plan in made.items():
        sites = plan.sites[plan.sites["counter"] >= 0]
        passed = counts[plan.build_id][sites["counter"]].tolist()
        ours.update({(module, at): n for at, n in zip(sites["address"].tolist(), passed, strict=True) if n})
    theirs = _by_uprobes(command, list(ours))
    return [
        Probed(
            module.name,
            sum(of == module for of, _ in ours),
            sum(count for (of, _), count in ours.items() if of == module),
            {at: (n, theirs[module, at]) for (of, at), n in ours.items() if of == module and n != theirs[module, at]},
        )
        for module in modules
    ]


def _by_uprobes(command: Sequence[str], places: Sequence[tuple[Path, int]]) -> dict[tuple[Path, int], int]:
    most, least = resource.getrlimit(resource.RLIMIT_NOFILE)[::-1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    counters = {}
    try:
        for module, address in places:
            offset = describe(str(module.resolve())).file_offset(address)
            counters[module, address] = CallCounter(str(module), (offset,))
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        return {place: counter.count() for place, counter in counters.items()}
    finally:
        for counter in counters.values():
            counter.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (least, most))


def _planned(folder: Path, module: Path) -> PatchPlan:
    plan = ensure_plan(folder, describe(str(module.resolve())))
    assert plan is not None, module
    return plan


def _counted(command: Sequence[str], folder: Path, plans: Mapping[str, PatchPlan]) -> dict[str, npt.NDArray[np.uint64]]:
    """Counts by build-id."""
    out = folder / "out"
    out.mkdir()
    environment = {
        **os.environ,
        "LD_PRELOAD": str(LIBRARY),
        "WHYPERF_COUNTS_PLANS": str(folder / "plans"),
        "WHYPERF_COUNTS_OUT": str(out),
    }
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    (process,) = counted_processes(out)
    found = {module.build_id: module for module in process.modules if module.build_id in plans}
    assert not any(module.reason for module in found.values()), found
    return {build_id: module.counts for build_id, module in found.items()}


def _by_callgrind(command: Sequence[str], file: Path) -> list[_Called]:
    # Chased jumps would hide tail calls.
    options = ["--tool=callgrind", "--vex-guest-chase=no", "--dump-instr=yes"]
    options += ["--compress-pos=no", "--compress-strings=no"]
    subprocess.run(
        ["valgrind", *options, f"--callgrind-out-file={file}", *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    found = []
    module = target_module = ""
    called: re.Match[str] | None = None
    with file.open() as lines:
        for line in lines:
            if line.startswith("ob="):
                module = target_module = line[3:].rstrip("\n")
            elif line.startswith("cob="):
                target_module = line[4:].rstrip("\n")
            elif matched := _CALLS.match(line):
                called = matched
            elif called:
                at = int(line.split()[0], 16)
                found.append(_Called(module, at, target_module, int(called[2], 16), int(called[1])))
                called, target_module = None, module
    return found


def _compared(module: Path, plan: PatchPlan, counts: npt.NDArray[np.uint64], theirs: list[_Called]) -> Compared:
    elf, path = read_elf(module.resolve()), str(module.resolve())
    assert elf is not None
    starts = [one.low for one in stretches(elf, Image(elf), bodies_of(describe(str(module)))) if not one.is_part]
    known = set(starts)
    ours, by_pointer, entered = Counter[Edge](), Counter[int](), Counter[int]()
    sites = plan.sites[plan.sites["counter"] >= 0]
    columns = sites[["function", "target", "kind"]].tolist()
    for (function, target, kind), count in zip(columns, counts[sites["counter"]].tolist(), strict=True):
        if kind == CallKind.ENTRY:
            entered[function] = count
        elif kind in _DIRECT and target in known:
            ours[function, target] += count
        elif kind not in _DIRECT:
            by_pointer[function] += count
    left_alone = plan.sites[plan.sites["counter"] < 0][["function", "target", "kind"]].tolist()
    called = Counter[int]()
    for (_, target), count in ours.items():
        called[target] += count
    to_it = [one for one in theirs if one.target_module == path]
    bias = _bias(called, to_it)
    found, found_called = Counter[Edge](), Counter[int]()
    for one in to_it:
        found_called[one.target - bias] += one.calls
        if one.module == path:
            found[starts[bisect.bisect_right(starts, one.at - bias) - 1], one.target - bias] += one.calls
    # Callgrind names the callees of pointers, too, and counts what the plan says is left alone.
    edges = {edge for edge in {*ours, *found} if edge[1] in known}
    more = {edge: by_pointer[edge[0]] + _left_alone(edge, left_alone, found) for edge in edges}
    differing = {
        edge: (ours[edge], found[edge]) for edge in sorted(edges) if not 0 <= found[edge] - ours[edge] <= more[edge]
    }
    unknown = {function if kind == CallKind.ENTRY else target for function, target, kind in left_alone}
    entries = {one: entered.get(one, called[one]) for one in starts if one in entered or one not in unknown}
    return Compared(
        module.name,
        len(+ours),
        ours.total(),
        differing,
        sum(count > 0 for count in entries.values()),
        {one: (count, found_called[one]) for one, count in entries.items() if count != found_called[one]},
    )


def _left_alone(edge: Edge, sites: Sequence[tuple[int, int, int]], found: Counter[Edge]) -> int:
    """How many of callgrind's calls may be of sites that are left alone: all, if there is one."""
    function, target = edge
    kinds = {kind for one, to, kind in sites if one == function and (kind in _BY_POINTER or to == target)}
    return found[edge] if kinds.intersection((*_BY_POINTER, *_DIRECT)) else 0


def _bias(called: Counter[int], theirs: list[_Called]) -> int:
    """By how much callgrind's addresses are higher: as most targets that were called as often are."""
    found = Counter[int]()
    for one in theirs:
        found[one.target] += one.calls
    differences = Counter(
        at - target for target, count in called.most_common(100) for at, calls in found.items() if calls == count > 1
    )
    return differences.most_common(1)[0][0] if differences else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--module", action="append", default=[], type=Path)
    parser.add_argument("--uprobes", action="store_true")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    modules = [Path(find_program(options.command, os.environ).path), *options.module]
    sys.exit(
        _against_kernel(options.command, modules) if options.uprobes else _against_callgrind(options.command, modules)
    )


def _against_kernel(command: Sequence[str], modules: Sequence[Path]) -> int:
    wrong = 0
    for one in probed(command, modules):
        print(f"{one.module}: {one.passes} passes of {one.sites} sites, {len(one.differing)} differ")
        for address, (our, their) in list(one.differing.items())[:20]:
            print(f"  {address:#x}: {our}, uprobe {their}")
        wrong += len(one.differing)
    return 1 if wrong else 0


def _against_callgrind(command: Sequence[str], modules: Sequence[Path]) -> int:
    wrong = 0
    for one in compared(command, modules):
        print(
            f"{one.module}: {one.functions} functions entered, {len(one.entered_differently)} differ; "
            f"{one.calls} direct calls by {one.edges} edges, {len(one.differing)} differ"
        )
        for function, (our, their) in list(one.entered_differently.items())[:20]:
            print(f"  {function:#x}: {our}, callgrind {their}")
        for (function, target), (our, their) in list(one.differing.items())[:20]:
            print(f"  {function:#x} to {target:#x}: {our}, callgrind {their}")
        wrong += len(one.entered_differently)
    return 1 if wrong else 0


if __name__ == "__main__":
    main()
