"""How fast kernel events are sealed, ranked and dumped.

    python -m bench.trace_speed                  10 million events in two recordings; a full ring of 64 MB
    python -m bench.trace_speed --events 1000000

The events are those of redis under load, repeated until there are enough: its stacks, processes and modules are real.
Each figure is of a fresh process with warm caches (debug information, compiled functions). Goals: 10 million events in
sealed recordings to ranked contexts in under 15 s, sealing above a million events a second, a dump of a full ring of
64 MB in under 2 s.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.server import free_port
from whyperf.collect.lifecycle import Lifecycle, Measuring
from whyperf.collect.program import find_program
from whyperf.collect.runner import record_run
from whyperf.collect.seal.evidence import read_evidence
from whyperf.collect.tracer.session import EVENTS_AT_ONCE
from whyperf.collect.tracer.traced import RECORD, Records
from whyperf.recording.chunks import ChunkKind, ChunkReader
from whyperf.recording.events import EventKind
from whyperf.recording.rawlog import RawLogWriter

_ONCE = (EventKind.FORK, EventKind.EXEC, EventKind.EXIT, EventKind.RENAME)  # a process begins and ends only once
_RING = "64M"
_CLOCK = """
import json, resource, sys, time
def spent():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
"""
_SEAL = """
from whyperf.collect.seal import seal
cpu, wall = spent(), time.perf_counter()
for path in sys.argv[1:]:
    seal(path)
"""
_RANK = """
from whyperf.diagnose.contexts import view_contexts
from whyperf.diagnose.data import Method
from whyperf.engines.run import Run
from whyperf.recording.reader import Recording
cpu, wall = spent(), time.perf_counter()
view = view_contexts([Run(Recording(sys.argv[1]))], [Run(Recording(sys.argv[2]))], Method.SOUND)
assert view is not None
view.ranking
"""
_DUMP = """
from pathlib import Path
from whyperf.collect.tracer.flight.dumping import dump
cpu, wall = spent(), time.perf_counter()
dumped = dump(Path(sys.argv[1]), None, force=True)
print(dumped.events, file=sys.stderr)
"""
_TELL = 'print(json.dumps({"cpu_s": spent() - cpu, "wall_s": time.perf_counter() - wall}))'


@dataclass(frozen=True)
class Timing:
    cpu_s: float
    wall_s: float

    def __str__(self) -> str:
        return f"{self.wall_s:6.2f} s elapsed, {self.cpu_s:6.2f} s CPU"


def timed(script: str, *words: str) -> Timing:
    code = f"{_CLOCK}{script}{_TELL}"
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return Timing(**json.loads(done.stdout.splitlines()[-1]))


def record_redis(folder: Path) -> Path:
    """An open recording of redis under load, traced."""
    port = free_port()
    lifecycle = Lifecycle(ready=f"tcp:{port}", drive=f"redis-benchmark -p {port} -t set,get -n 20000 -q")
    command = ["redis-server", "--port", str(port), "--save", "", "--io-threads", "2"]
    record_run(
        find_program(command, os.environ),
        folder,
        lifecycle=lifecycle,
        measuring=Measuring(values_depth=0, trace_hz=99),
        environment=dict(os.environ),
        capture_output=True,
    )
    return folder


def repeated(records: Records, count: int) -> Records:
    """As many of them, one stretch of time after the other."""
    again = records[~np.isin(records["kind"], _ONCE)]
    length = int(records["time"][-1] - records["time"][0]) + 1
    parts = [records]
    for turn in range(1, 1 + -(-(count - len(records)) // len(again))):
        part = again.copy()
        part["time"] += np.uint64(turn * length)
        parts.append(part)
    return np.concatenate(parts)[:count]


def enlarged(seed: Path, path: Path, count: int) -> Path:
    """The same open recording with more events, in the chunks that a recorder writes: a CPU's at a time."""
    traced = read_evidence(seed / "raw").traced
    assert traced is not None
    shutil.copytree(seed, path, ignore=shutil.ignore_patterns("log-*"))
    records = repeated(traced.records, count)
    with RawLogWriter(path / "raw") as log:
        for chunk in ChunkReader().in_folder(seed / "raw"):
            if chunk.kind == ChunkKind.JSON and (said := chunk.json()).get("type") == "stop":
                log.append_json({**said, "time": int(records["time"][-1])})  # all of it is to be compared
            elif chunk.kind != ChunkKind.EVENTS:
                log.append(chunk.kind, bytes(chunk.payload))
        for first in range(0, len(records), 100_000):
            part = records[first : first + 100_000]
            for cpu in np.unique(part["cpu"]):
                payload = part[part["cpu"] == cpu].tobytes()
                for at in range(0, len(payload), EVENTS_AT_ONCE):
                    log.append(ChunkKind.EVENTS, payload[at : at + EVENTS_AT_ONCE])
            log.rotate()
    return path


def dump_full_ring(scratch: Path) -> Timing:
    environment = {**os.environ, "WHYPERF_TRACE_FOLDER": str(scratch / f"bench-{os.getpid()}")}
    os.environ.update(environment)
    whyperf = [sys.executable, "-m", "whyperf", "trace"]
    subprocess.run([*whyperf, "start", "--size", _RING], check=True, capture_output=True)
    try:
        slots = (64 << 20) // RECORD.itemsize
        calls = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", f"count={slots}", "status=none"]
        for cpu in sorted(os.sched_getaffinity(0)):
            subprocess.run(["taskset", "-c", str(cpu), *calls], check=True)
        timed(_DUMP, str(scratch / "dump"))
        return timed(_DUMP, str(scratch / "dump"))
    finally:
        subprocess.run([*whyperf, "stop"], check=True, capture_output=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=10_000_000, help="in both recordings together")
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="whyperf-bench-") as folder:
        scratch = Path(folder)
        os.environ.setdefault("WHYPERF_TRACE_FOLDER", str(scratch / f"bench-{os.getpid()}"))
        seed = record_redis(scratch / "seed")
        # Debug information and compiled functions are cached from here on.
        small = [str(enlarged(seed, scratch / f"small-{i}", 50_000)) for i in range(2)]
        timed(_SEAL, *small)
        timed(_RANK, *small)
        both = [str(enlarged(seed, scratch / f"large-{i}", args.events // 2)) for i in range(2)]
        sealing = timed(_SEAL, *both)
        rate = args.events / sealing.cpu_s / 1e6
        print(f"sealing {args.events:,} events    {sealing}  ({rate:.2f} million a CPU second)")
        print(f"ranked contexts of them     {timed(_RANK, *both)}")
        shutil.rmtree(scratch / "large-0"), shutil.rmtree(scratch / "large-1")
        print(f"dump of a full {_RING}B ring    {dump_full_ring(scratch)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
