"""How fast perf.data is read: our reader and a whole import, beside `perf script`, alternated in one run.

    python -m bench.import_speed                 about a million system calls without stacks, call chains, copied stacks
    python -m bench.import_speed --rounds 5
    python -m bench.import_speed --file F        a perf.data file of your own

Every figure is the least CPU time of some rounds, each in a fresh process; wall time is of the same round. `reader` is
finding, decoding and ordering all samples with their call chains interned; `import` all of it: records of processes,
unwinding, names, tables on disk. Goal: the reader above a million events a second for samples of a fixed size.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

CALLS = 500_000
_BUSY = "i=0; while [ $i -lt 2000000 ]; do i=$((i+1)); done"
RECORDINGS: dict[str, tuple[list[str], list[str]]] = {
    "system calls, no stacks": (
        ["-m", "8M", "-e", "raw_syscalls:sys_enter,raw_syscalls:sys_exit"],
        ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", f"count={CALLS}", "status=none"],
    ),
    "call chains (fp)": (["-F", "9999", "-g"], ["sh", "-c", _BUSY]),
    "copied stacks (dwarf)": (["-F", "4999", "--call-graph", "dwarf"], ["sh", "-c", _BUSY]),
}

_READER = """
import sys
from pathlib import Path
from whyperf.importers.perf_data.container import open_container
from whyperf.importers.perf_data.samples import decode
import json, time, resource
def spent():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
cpu, wall = spent(), time.perf_counter()
samples = decode(open_container(Path(sys.argv[1])), Path(sys.argv[2])).samples
print(json.dumps({"events": len(samples), "cpu_s": spent() - cpu, "wall_s": time.perf_counter() - wall}))
"""


@dataclass(frozen=True)
class Timing:
    cpu_s: float
    wall_s: float


def reader(file: Path, scratch: Path) -> tuple[int, Timing]:
    """Without Python's start, which has nothing to do with the file."""
    done = subprocess.run([sys.executable, "-c", _READER, file, scratch], capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)
    return said["events"], Timing(said["cpu_s"], said["wall_s"])


def whole(command: Sequence[str | Path]) -> Timing:
    """A process from its start to its end, what it prints thrown away."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), os.times().elapsed
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return Timing(cpu, os.times().elapsed - began)


def measure(name: str, file: Path, scratch: Path, rounds: int) -> None:
    events = 0
    least: dict[str, Timing] = {}
    for number in range(rounds):
        events, read = reader(file, scratch)
        output = scratch / f"imported-{number}"
        timings = {
            "reader": read,
            "import": whole([sys.executable, "-m", "whyperf", "import", "-q", "-o", output, file]),
            "perf script": whole(["perf", "script", "-i", file]),
        }
        for tool, timing in timings.items():
            least[tool] = min(least.get(tool, timing), timing, key=lambda one: one.cpu_s)
    size = file.stat().st_size / 1e6
    for tool, timing in least.items():
        rate = events / timing.cpu_s / 1e6
        times = f"{timing.cpu_s:.2f} | {timing.wall_s:.2f}"
        print(f"| {name} | {events:,} | {size:.0f} MB | {tool} | {times} | {rate:.2f} M |", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--file", type=Path)
    args = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs; seconds of CPU and wall time\n")
    print(
        "| recording | events | size | tool | CPU s | wall s | events per CPU second |\n|---|---|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory(prefix="whyperf-import-") as folder:
        scratch = Path(folder)
        if args.file is not None:
            measure(args.file.name, args.file.resolve(), scratch, args.rounds)
            return 0
        for number, (name, (options, command)) in enumerate(RECORDINGS.items()):
            file = scratch / f"{number}.data"
            subprocess.run(["perf", "record", "-q", "-o", file, *options, "--", *command], check=True)
            own = scratch / str(number)
            own.mkdir()
            measure(name, file, own, args.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
