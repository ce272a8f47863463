"""What an engine asks of a recording: its manifest and its tables, wherever they come from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from whyperf.recording.sealed.manifest import Manifest
from whyperf.recording.sealed.row_groups import Columns, HeldRows, Rows


class Recorded(Protocol):
    @property
    def path(self) -> Path: ...

    @property
    def manifest(self) -> Manifest: ...

    def table(self, name: str) -> pa.Table: ...


def is_traced(recording: Recorded) -> bool:
    """Whether it was made with --trace, and kept its kernel events."""
    return recording.manifest.trace is not None and "events" in recording.manifest.tables


def has_events(recording: Recorded) -> bool:
    """Whether there are kernel events, wherever they come from."""
    held = recording.manifest.tables.get("events")
    return held.rows > 0 if held is not None else recording.table("events").num_rows > 0


@runtime_checkable
class _Streaming(Protocol):
    def rows(self, name: str) -> Rows: ...


def rows_of(recording: Recorded, table: str) -> Rows:
    """A table that may be too large to be held, to be read piece by piece; at once where it is in memory anyway."""
    if isinstance(recording, _Streaming) and table in recording.manifest.tables:
        return recording.rows(table)
    return HeldRows(recording.table(table))


def columns_of(recording: Recorded, table: str, names: Sequence[str]) -> Columns:
    """Whole columns, each decoded to where it stays: a table beside its columns would take the room twice. One after
    the other, since all columns of a single piece may be large already."""
    rows = rows_of(recording, table)
    if not rows.count:  # there is no piece either
        rows = HeldRows(recording.table(table))
    held: Columns = {}
    for name in names:
        begin = 0
        for piece in rows.pieces([name]):
            values = piece[name]
            if len(values) == rows.count:
                held[name] = values
                break
            if name not in held:
                held[name] = np.empty(rows.count, values.dtype)
            held[name][begin : begin + len(values)] = values
            begin += len(values)
    return held
