"""A recorded run many times over, one after the other, as if it had gone on for so long.

Everything is as recorded: stacks, functions, values, hand-overs between threads. Only moments are moved, and what a
thread or process can do but once (begin, become another program, end) is not repeated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whyperf.recording.schemas.events import EVENTS, EventKind
from whyperf.recording.schemas.tables import TABLES
from whyperf.recording.sealed.manifest import Manifest, Totals
from whyperf.recording.sealed.reader import Recording
from whyperf.recording.sealed.writer import Content, write_recording

ONCE = (EventKind.FORK, EventKind.EXEC, EventKind.EXIT, EventKind.RENAME)
_PAUSE_NS = 1_000_000  # between one time and the next
_SUMS = ("wall_s", "cpu_user_s", "cpu_system_s", "read_bytes", "written_bytes", "voluntary_switches", "cpu_wait_s",
         "main_cpu_wait_s", "involuntary_switches", "major_faults")  # fmt: skip


def multiplied(seed: Path, path: Path, times: int) -> Path:
    """A sealed recording at `path` that is `times` as long as the sealed one it is made of; deep ones cannot be."""
    recording = Recording(seed)
    manifest = recording.manifest
    if manifest.deep is not None:
        raise ValueError(f"{seed} counts executions: there is no time in it that could be repeated.")
    tables: dict[str, Content] = {
        one.name: recording.table(one.name) for one in TABLES if one.name in manifest.tables and one != EVENTS
    }
    length = manifest.end_monotonic - manifest.start_monotonic + _PAUSE_NS
    samples, values, work = (recording.table(name) for name in ("samples", "values", "work"))
    tables["samples"] = pa.concat_tables([_later(samples, turn * length) for turn in range(times)])
    tables["values"] = _values_again(values, samples.num_rows, times)
    tables["work"] = _work_again(work, length, times)
    if EVENTS.name in manifest.tables:
        tables[EVENTS.name] = _events_again(recording.table(EVENTS.name), length, times)
    path.mkdir(parents=True)
    write_recording(path, _longer(manifest, length, times), tables)
    return path


def count_of(path: Path, table: str) -> int:
    """Rows of a recording's table; 0 where it has none."""
    file = Recording(path).manifest.tables.get(table)
    return file.rows if file else 0


def _later(table: pa.Table, by_ns: int) -> pa.Table:
    moved = pa.array(table.column("time").to_numpy() + np.int64(by_ns), pa.int64())
    return table.set_column(table.schema.get_field_index("time"), table.schema.field("time"), moved)


def _events_again(events: pa.Table, length: int, times: int) -> pa.RecordBatchReader:
    """Made while it is written."""
    again = events.filter(pc.invert(pc.is_in(events.column("kind"), pa.array(ONCE, pa.uint8()))))

    def pieces() -> Iterator[pa.RecordBatch]:
        for turn in range(times):
            yield from _later(again if turn else events, turn * length).combine_chunks().to_batches()

    return pa.RecordBatchReader.from_batches(EVENTS.schema, pieces())


def _values_again(values: pa.Table, samples: int, times: int) -> pa.Table:
    """Sorted by variable and sample, as values are: each variable's readings of all times stand together."""
    variable = values.column("variable").to_numpy()
    firsts = np.flatnonzero(np.diff(variable, prepend=-2))
    counts = np.diff(firsts, append=len(variable))
    first, count = np.repeat(firsts, counts), np.repeat(counts, counts)
    source = np.empty(times * len(variable), np.int64)
    turns = np.empty(times * len(variable), np.int32)
    rows = np.arange(len(variable))
    for turn in range(times):
        place = times * first + turn * count + (rows - first)
        source[place], turns[place] = rows, turn
    columns = {name: values.column(name).to_numpy()[source] for name in values.column_names}
    columns["sample"] = (columns["sample"] + turns * np.int32(samples)).astype(np.int32)
    return pa.table(columns, schema=values.schema)


def _work_again(work: pa.Table, length: int, times: int) -> pa.Table:
    """Counts go on from where the time before ended."""
    counts = work.column("count").to_numpy()
    total = float(counts[-1]) if len(counts) else 0.0
    at = work.schema.get_field_index("count")
    parts = []
    for turn in range(times):
        more = pa.array(counts + turn * total, pa.float64())
        parts.append(_later(work, turn * length).set_column(at, work.schema.field(at), more))
    return pa.concat_tables(parts)


def _longer(manifest: Manifest, length: int, times: int) -> Manifest:
    more = (times - 1) * length
    sums = {name: getattr(manifest.totals, name) for name in _SUMS}
    totals: Totals = replace(
        manifest.totals, **{name: value * times for name, value in sums.items() if value is not None}
    )
    return replace(
        manifest,
        end_monotonic=manifest.end_monotonic + more,
        window=replace(manifest.window, end=manifest.window.end + more),
        totals=totals,
    )
