"""Open recordings of kernel events, as a tracer leaves them, and a flight recorder whose rings are full."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from bench.server import free_port
from bench.speed.multiplied import ONCE
from bench.tool import whyperf_command
from whyperf.collect.runs.runner import record_run
from whyperf.collect.setup.lifecycle import Lifecycle, Measuring
from whyperf.collect.target.program import find_program
from whyperf.collect.tracer.session import EVENTS_AT_ONCE
from whyperf.collect.tracer.traced import RECORD, Records
from whyperf.recording.raw_log.chunks import ChunkKind, ChunkReader
from whyperf.recording.raw_log.log_writer import RawLogWriter
from whyperf.seal.evidence import read_evidence

RING = "64M"
_RECORDS_AT_ONCE = 100_000


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
    again = records[~np.isin(records["kind"], ONCE)]
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
        for first in range(0, len(records), _RECORDS_AT_ONCE):
            part = records[first : first + _RECORDS_AT_ONCE]
            for cpu in np.unique(part["cpu"]):
                payload = part[part["cpu"] == cpu].tobytes()
                for at in range(0, len(payload), EVENTS_AT_ONCE):
                    log.append(ChunkKind.EVENTS, payload[at : at + EVENTS_AT_ONCE])
            log.rotate()
    return path


@contextmanager
def full_ring(scratch: Path) -> Iterator[None]:
    """Our flight recorder at work in this process' environment, each CPU's ring filled with system calls."""
    os.environ["WHYPERF_TRACE_FOLDER"] = str(scratch / "tracer")
    trace = [*whyperf_command(), "trace"]
    subprocess.run([*trace, "start", "--size", RING], check=True, capture_output=True)
    try:
        slots = (64 << 20) // RECORD.itemsize
        calls = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", f"count={slots}", "status=none"]
        for cpu in sorted(os.sched_getaffinity(0)):
            subprocess.run(["taskset", "-c", str(cpu), *calls], check=True)
        yield
    finally:
        subprocess.run([*trace, "stop"], check=True, capture_output=True)
