"""Recordings of counts, made from a list of calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from tests.engines.made import Made, recording
from whyperf.recording.schemas.call_tables import CALL_COUNTS, CallKind

# Caller, perhaps with ~INLINED and @LINE, and callee; "*" for calls through pointers, "loop" for iterations
Calls = Mapping[tuple[str, str], int]
_NO_CALLEE = {"*": CallKind.POINTER, "loop": CallKind.ITERATION}


def counted(calls: Calls, entries: Mapping[str, int] | None = None, **more: Any) -> Made:
    """As `record --counts` leaves it. `entries`: of functions whose entries are counted."""
    words = [
        *((*_stack(caller), *(() if callee in _NO_CALLEE else (callee,))) for caller, callee in calls),
        *((f,) for f in entries or {}),
    ]
    made = recording([(stack, 0.0) for stack in words], **more)
    row = {name: number for number, name in enumerate(made.table("functions").column("name").to_pylist())}
    frame_of = {
        (function, line): number
        for number, (function, line) in enumerate(
            zip(*(made.table("frames").column(name).to_pylist() for name in ("function", "line")), strict=True)
        )
    }
    rows = []
    for (word, called), count in calls.items():
        whole, _, line = word.partition("@")
        caller, _, inlined = whole.partition("~")
        callee = called.rpartition(":")[2]  # without its module
        rows.append(
            {
                "process": 0,
                "function": row[caller],
                "callee": -1 if callee in _NO_CALLEE else row[callee],
                "frame": frame_of[row[inlined or caller], int(line or 0)],
                "order": sum(other["function"] == row[caller] and other["callee"] == row.get(callee) for other in rows),
                "kind": _NO_CALLEE.get(callee, CallKind.CALL),
                "count": count,
            }
        )
    for name, count in (entries or {}).items():
        rows.append(
            {
                "process": 0,
                "function": row[name],
                "callee": -1,
                "frame": frame_of[row[name], 0],
                "order": 0,
                "kind": CallKind.ENTRY,
                "count": count,
            }
        )
    return Made(
        made.path, made.manifest, {**made.tables, "call_counts": pa.Table.from_pylist(rows, schema=CALL_COUNTS.schema)}
    )


def _stack(word: str) -> tuple[str, ...]:
    caller, inlined, place = word.partition("~")
    return (caller, inlined + place) if inlined else (caller,)
