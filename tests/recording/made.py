"""A small sealed recording, made without a recorder."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from whyperf.recording.schemas.tables import table_named
from whyperf.recording.sealed.manifest import Host, Losses, Manifest, Overhead, Sampling, Totals, Unfollowed, Window
from whyperf.recording.sealed.writer import write_recording
from whyperf.recording.version import FORMAT_VERSION

MANIFEST = Manifest(
    format=FORMAT_VERSION,
    whyperf="0",
    command=("./tool", "big file.txt"),
    environment_names=("HOME", "PATH"),
    host=Host("host", "6.1", "x86_64", 8),
    start_monotonic=1_000,
    start_real=1_700_000_000_000_000_000,
    end_monotonic=9_000,
    window=Window(2_000, 9_000),
    sampling=Sampling(200.0, "cpu", "cpu-timer"),
    totals=Totals(1.5, 1.0, 0.25, 10 << 20, 4096, 8192, 3, 4, 1),
    overhead=Overhead(0.001, 3.5, 40.0, 0.01),
    losses=Losses(stacks_cut={"stack memory unreadable": 2}, unfollowed=(Unfollowed("/bin/s", "static", 3),)),
    exit_status=0,
    exit_signal=None,
    stopped_by="exit",
    work_unit="run",
)

ROWS: dict[str, list[dict[str, object]]] = {
    "samples": [
        {"time": 2_000 + i, "process": 0, "thread": 0, "stack": i % 3, "weight": 5, "clock": 0, "wait": -1}
        for i in range(500)
    ],
    "stacks": [{"node": i, "parent": i - 1, "frame": i} for i in range(3)],
    "frames": [
        {
            "frame": i,
            "module": 0,
            "offset": 16 * i,
            "function": 0,
            "inlined_in": -1,
            "file": "/src/tool.c",
            "line": i + 1,
            "block": -1,
            "in_loop": -1,
        }
        for i in range(3)
    ],
    "functions": [
        {
            "function": 0,
            "module": 0,
            "name": "main",
            "file": "/src/tool.c",
            "line": 1,
            "order": 0,
            "inlined": False,
            "sampled": True,
        }
    ],
    "modules": [
        {
            "module": 0,
            "name": "tool",
            "path": "/bin/tool",
            "build_id": "ab",
            "origin": "program",
            "debug": "full",
            "plug_in": False,
        }
    ],
    "mappings": [{"process": 0, "module": 0, "time": 1, "start": 4096, "end": 8192, "bias": 0}],
    "processes": [
        {
            "process": 0,
            "pid": 7,
            "parent_pid": 1,
            "start": 1,
            "origin": "exec",
            "executable": "/bin/tool",
            "command": ["./tool"],
            "cgroup": "/user.slice",
        }
    ],
    "threads": [{"thread": 0, "process": 0, "tid": 7, "name": "tool", "start": 1, "cpu": -1}],
    "work": [{"time": 9_000, "unit": "run", "count": 1.0}],
    "source": [],
    "variables": [
        {
            "variable": i,
            "function": i - 1,
            "module": 0,
            "name": name,
            "type": "int",
            "kind": "signed",
            "scope": scope,
            "order": 0,
            "file": "/src/tool.c",
            "line": 1,
            "roles": "",
        }
        for i, (name, scope) in enumerate([("total", "global"), ("n", "local")])
    ],
    "values": [
        {"variable": v, "sample": s, "depth": 0, "frame": s % 3, "value": 100 * v + s} for v in (0, 1) for s in range(9)
    ],
}


def tables(**changed: list[dict[str, object]]) -> dict[str, pa.Table]:
    rows = {**ROWS, **changed}
    return {name: pa.Table.from_pylist(given, schema=table_named(name).schema) for name, given in rows.items()}


def make_recording(path: Path, **changed: list[dict[str, object]]) -> Path:
    write_recording(path, MANIFEST, tables(**changed))
    return path
