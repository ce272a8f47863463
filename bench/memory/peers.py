"""What memray, heaptrack and massif say of the same commands: functions in the order of the bytes at the peak that were
allocated in them or in what they call, the innermost first where they are equal."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.cases.case import Side
from bench.memory.subjects import Case
from bench.server import drive_once

LIMIT_S = 600.0  # for one run
_HEAPTRACK = Path("/usr/lib/heaptrack")

Stacks = Mapping[tuple[str, ...], float]  # functions, innermost first, and bytes


@dataclass(frozen=True)
class Ranks:
    by_size: int | None
    by_difference: int | None


def _ranks(case: Case, good: Stacks, bad: Stacks) -> Ranks:
    return Ranks(_rank(case, bad, {}), _rank(case, bad, good))


def _rank(case: Case, bad: Stacks, good: Stacks) -> int | None:
    bytes_of: defaultdict[str, float] = defaultdict(float)
    depth: dict[str, int] = {}
    for stacks, sign in ((bad, 1.0), (good, -1.0)):
        for stack, size in stacks.items():
            for at, name in enumerate(dict.fromkeys(stack)):
                bytes_of[name] += sign * size
                depth[name] = min(depth.get(name, at), at)
    order = sorted(bytes_of, key=lambda name: (-round(bytes_of[name] / 1e5), depth[name]))
    return next((at for at, name in enumerate(order, 1) if case.means(name)), None)


def _both(case: Case, folder: Path, stacks: Callable[[Side, Path], Stacks]) -> Ranks:
    return _ranks(case, *(stacks(side, folder / name) for name, side in _sides(case)))


def _sides(case: Case) -> list[tuple[str, Side]]:
    return [("good", case.commands.good), ("bad", case.commands.bad)]


def _run(case: Case, side: Side, tool: list[str]) -> None:
    """Runs a side's program, which comes after `env` and its settings, under a tool; a server while it is driven."""
    at = next(number for number, word in enumerate(side.command) if word != "env" and "=" not in word)
    command = [*side.command[:at], *tool, *side.command[at:]]
    if case.commands.ready:
        drive_once(command, case.commands.ready, side.drive, limit_s=LIMIT_S)
    else:
        none = subprocess.DEVNULL
        subprocess.run(command, stdin=none, stdout=none, stderr=none, check=True, timeout=LIMIT_S)


def heaptrack(case: Case, folder: Path) -> Ranks | None:
    """Its library without its script, whose own processes stand between us and a server."""
    if shutil.which("heaptrack_print") is None:
        return None

    def stacks(side: Side, out: Path) -> Stacks:
        raw, data = out.with_suffix(".raw"), out.with_suffix(".heaptrack")
        raw.touch()
        raw.chmod(0o666)  # a command may become another user, then another program
        settings = [f"LD_PRELOAD={_HEAPTRACK}/libheaptrack_preload.so", f"DUMP_HEAPTRACK_OUTPUT={raw}"]
        _run(case, side, ["env", *settings])
        with raw.open("rb") as read, data.open("wb") as written:
            subprocess.run(
                [_HEAPTRACK / "libexec" / "heaptrack_interpret"],
                stdin=read,
                stdout=written,
                stderr=subprocess.DEVNULL,
                check=True,
            )
        flames = out.with_suffix(".flames")
        options = ["--flamegraph-cost-type", "peak", "-F", str(flames), "-p", "0", "-a", "0", "-T", "0", "-l", "0"]
        subprocess.run(["heaptrack_print", *options, str(data)], capture_output=True, check=True)
        return _collapsed(flames)

    return _both(case, folder, stacks)


def _collapsed(file: Path) -> Stacks:
    found: defaultdict[tuple[str, ...], float] = defaultdict(float)
    for line in file.read_text(errors="replace").splitlines():
        frames, _, size = line.rpartition(" ")
        if size.isdigit():
            found[tuple(reversed(frames.split(";")))] += float(size)
    return found


def massif(case: Case, folder: Path) -> Ranks | None:
    if shutil.which("valgrind") is None:
        return None

    def stacks(side: Side, out: Path) -> Stacks:
        file = out.with_suffix(".massif")
        tool = ["--tool=massif", "--trace-children=yes", "--depth=60", "--threshold=0.1", f"--massif-out-file={file}"]
        _run(case, side, ["valgrind", *tool])
        return _massif_peak(file.read_text(errors="replace").splitlines())

    return _both(case, folder, stacks)


def _massif_peak(lines: Sequence[str]) -> Stacks:
    """The tree of the peak: every node has its bytes and comes after its caller's callee."""
    start = next((at for at, line in enumerate(lines) if line == "heap_tree=peak"), None)
    found: defaultdict[tuple[str, ...], float] = defaultdict(float)
    path: list[str] = []
    for line in lines[(start or 0) + 1 :] if start is not None else []:
        node = re.match(r"( *)n(\d+): (\d+) (.*)", line)
        if node is None:
            break
        depth = len(node[1])
        named = re.match(r"0x[0-9A-F]+: (\S.*?) \(", node[4])
        path[depth:] = [named[1] if named else node[4]]
        if node[2] == "0":
            found[tuple(path)] += float(node[3])
    return found


_READ = """
import json, sys, memray
reader = memray.FileReader(sys.argv[1])
found = {}
for one in reader.get_high_watermark_allocation_records(merge_threads=True):
    names = [frame[0] for frame in one.hybrid_stack_trace()]
    key = json.dumps(names)
    found[key] = found.get(key, 0) + one.size
print(json.dumps(found))
"""


def memray(case: Case, folder: Path) -> Ranks | None:
    """Of Python programs only."""
    if sys.executable not in case.commands.good.command:
        return None

    def stacks(side: Side, out: Path) -> Stacks:
        file = out.with_suffix(".memray")
        at = side.command.index(sys.executable) + 1
        tool = ["-m", "memray", "run", "--native", "-q", "-o", str(file)]
        command = [*side.command[:at], *tool, *side.command[at:]]
        subprocess.run(command, capture_output=True, check=True, timeout=LIMIT_S)
        read = subprocess.run([sys.executable, "-c", _READ, str(file)], capture_output=True, text=True, check=True)
        return {tuple(json.loads(names)): float(size) for names, size in json.loads(read.stdout).items()}

    return _both(case, folder, stacks)


PEERS: dict[str, Callable[[Case, Path], Ranks | None]] = {
    "memray": memray,
    "heaptrack": heaptrack,
    "massif": massif,
}
