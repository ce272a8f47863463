"""Recordings of the size of vProf's whole-program case (section 3.5.2): 17,930 variables and 7 GB of values.

The values are made, as variables behave (`tests/engines/values/behaviours.py`); sealed recordings hold them.
"""

from __future__ import annotations

import mmap
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tests.engines.made import recording
from tests.engines.values.behaviours import BEHAVIOURS

from whyperf.recording.schemas.tables import VALUES, VARIABLES
from whyperf.recording.sealed import manifest as manifest_json
from whyperf.recording.sealed.manifest import TableFile
from whyperf.recording.sealed.writer import table_file, write_recording

GIGABYTES = 7.0  # decoded, both sides together
_VARIABLES = 17_930
_ROW_BYTES = 22  # decoded: variable, sample, depth, frame, value
_FUNCTIONS = 2_000
_LINES = 3  # of each function in which its variables are read
_VALUES_A_SAMPLE = 100
_THREADS = 4
_AT_ONCE = 1 << 20  # rows made and written together
_PERIOD_NS = 5_000_000


def rows_of(gigabytes: float) -> int:
    """How many values take so much when decoded."""
    return int(gigabytes * 1e9 / _ROW_BYTES)


def make_large(folder: Path, rows: int, *, bad: bool) -> None:
    """A recording of so many values, written piece by piece. A twentieth of its variables is changed in bad ones."""
    rng = np.random.default_rng(int(bad))
    samples = max(20_000, rows // _VALUES_A_SAMPLE)
    stacks = [(("main@5", f"f{at % _FUNCTIONS}@{20 + at // _FUNCTIONS}"), 0.005) for at in range(_FUNCTIONS * _LINES)]
    made = recording(stacks)
    end = (samples + 1) * _PERIOD_NS
    manifest = replace(made.manifest, window=replace(made.manifest.window, start=0, end=end), end_monotonic=end)
    tables = {
        **made.tables,
        "samples": _samples(rng, samples, made.table("samples").schema),
        "threads": _threads(made.table("threads")),
        "variables": pa.Table.from_pylist([_declaration(at) for at in range(_VARIABLES)], schema=VARIABLES.schema),
    }
    manifest = write_recording(folder, manifest, tables)
    sizes = np.random.default_rng(2).lognormal(0.0, 1.0, _VARIABLES)
    counts = np.clip((sizes / sizes.sum() * rows).astype(np.int64), 1, samples)
    frames = _frames_of_functions(made.table("frames"))
    pools = {changed: [make(rng, 1 << 18, changed) for make in BEHAVIOURS.values()] for changed in {False, bad}}
    path = table_file(folder, "values")
    with pq.ParquetWriter(path, VALUES.schema, compression="zstd") as writer:
        for numbers in _pieces(counts):
            writer.write_table(_rows(numbers, counts, samples, frames, pools, bad=bad), row_group_size=_AT_ONCE)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        described = TableFile(int(counts.sum()), len(content), zlib.crc32(content))
    sealed = replace(manifest, tables={**manifest.tables, "values": described})
    (folder / "manifest.json").write_text(manifest_json.dump(sealed))


def _samples(rng: np.random.Generator, count: int, schema: pa.Schema) -> pa.Table:
    """Threads take turns; each stays in a function for a while."""
    stays = np.cumsum(rng.random(count) < 0.2)
    stack = 1 + rng.integers(0, _FUNCTIONS * _LINES, int(stays[-1]) + 1)[stays]  # 0 is main's own
    columns = {
        "time": (np.arange(count) + 1) * _PERIOD_NS,
        "process": np.zeros(count, np.int32),
        "thread": (np.arange(count) // 50 % _THREADS).astype(np.int32),
        "stack": stack.astype(np.int32),
        "weight": np.full(count, _PERIOD_NS),
        "clock": np.zeros(count, np.int8),
        "wait": np.full(count, -1, np.int16),
    }
    return pa.table(columns, schema=schema)


def _threads(one: pa.Table) -> pa.Table:
    row = one.to_pylist()[0]
    return pa.Table.from_pylist(
        [{**row, "thread": number, "tid": number + 1} for number in range(_THREADS)], schema=one.schema
    )


def _declaration(number: int) -> dict[str, object]:
    row = {"variable": number, "function": number % _FUNCTIONS + 1, "module": 0, "name": f"v{number}", "type": "int"}
    more = {"kind": "signed", "scope": "local", "order": 0, "file": "/src/tool.c", "line": 1, "roles": "loop"}
    return {**row, **more}


def _frames_of_functions(frames: pa.Table) -> np.ndarray:
    """Row f: the frames of function f, main's being row 0."""
    found: list[list[int]] = [[] for _ in range(_FUNCTIONS + 1)]
    for frame, function in enumerate(frames.column("function").to_numpy().tolist()):
        found[function].append(frame)
    return np.array([[ours[line % len(ours)] for line in range(_LINES)] for ours in found])


def _pieces(counts: np.ndarray) -> list[np.ndarray]:
    """Variables in a row that together have about so many readings as are written at once."""
    piece = np.cumsum(counts) // _AT_ONCE
    return [np.flatnonzero(piece == one) for one in np.unique(piece)]


def _rows(
    numbers: np.ndarray,
    counts: np.ndarray,
    samples: int,
    frames: np.ndarray,
    pools: dict[bool, list[np.ndarray]],
    *,
    bad: bool,
) -> pa.Table:
    variable = np.repeat(numbers, counts[numbers])
    sample = np.concatenate([np.arange(counts[n], dtype=np.int64) * samples // counts[n] for n in numbers])
    value = np.concatenate([_cycled(pools[bad and n % 20 == 0], n, counts[n]) for n in numbers])
    columns = {
        "variable": variable.astype(np.int32),
        "sample": sample.astype(np.int32),
        "depth": np.zeros(len(variable), np.int16),
        "frame": frames[variable % _FUNCTIONS + 1, sample // 7 % _LINES].astype(np.int32),
        "value": value.astype(np.int64),
    }
    return pa.table(columns, schema=VALUES.schema)


def _cycled(pools: list[np.ndarray], number: int, count: int) -> np.ndarray:
    pool = pools[number % len(pools)]
    values: np.ndarray = pool[(977 * number + np.arange(count)) % len(pool)]
    return values
