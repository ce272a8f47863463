"""Recordings with values, made from lists of readings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from tests.engines.made import Made, recording
from whyperf.recording.schemas.tables import VALUES, VARIABLES


@dataclass(frozen=True)
class Read:
    """A variable and what it held: one value per sample whose stack passes through its function, in time order."""

    function: str  # empty: a global
    name: str
    values: Sequence[int] | np.ndarray
    kind: str = "signed"
    type: str = "int"
    scope: str = "local"
    roles: str = ""
    order: int = 0
    lines: Sequence[int] = field(default=())  # instead of those of the stacks' frames


def with_values(made: Made, *variables: Read) -> Made:
    """Adds variables to a recording; where a list is shorter than the function's samples, the rest was unreadable."""
    frames = made.table("frames").to_pylist()
    stacks = made.table("stacks").to_pylist()
    functions = made.table("functions").to_pylist()
    rows: list[dict[str, Any]] = []
    columns: dict[str, list[np.ndarray]] = {name: [] for name in VALUES.schema.names}
    sample_stacks = made.table("samples").column("stack").to_pylist()
    for number, read in enumerate(variables):
        function = next((one["function"] for one in functions if one["name"] == read.function), -1)
        assert function >= 0 or not read.function, read.function
        rows.append(_variable(number, function, read))
        found = {stack: _frame(frames, stacks, stack, function) for stack in set(sample_stacks)}
        places = [(sample, *found[stack]) for sample, stack in enumerate(sample_stacks) if found[stack] is not None]
        places = places[: len(read.values)]
        if read.lines:
            places = [(s, d, _at_line(frames, f, line)) for (s, d, f), line in zip(places, read.lines, strict=False)]
        table = np.array(places, np.int64).reshape(-1, 3)
        columns["variable"].append(np.full(len(table), number))
        for at, name in enumerate(("sample", "depth", "frame")):
            columns[name].append(table[:, at])
        columns["value"].append(np.asarray(read.values, np.int64)[: len(table)])
    values = {
        name: pa.array(np.concatenate(parts) if parts else [], VALUES.schema.field(name).type)
        for name, parts in columns.items()
    }
    tables: Mapping[str, pa.Table] = {
        **made.tables,
        "frames": pa.Table.from_pylist(frames, schema=made.table("frames").schema),
        "variables": pa.Table.from_pylist(rows, schema=VARIABLES.schema),
        "values": pa.table(values, schema=VALUES.schema),
    }
    return replace(made, tables=tables)


def one_function(*variables: Read, samples: int, seconds: float | None = None, **more: Any) -> Made:
    """main calls work, which holds all the variables; so many samples of it."""
    stacks = [(("main@5", "work@20"), samples / 200.0 if seconds is None else seconds)]
    return with_values(recording(stacks, **more), *variables)


def _variable(number: int, function: int, read: Read) -> dict[str, Any]:
    return {
        "variable": number,
        "function": function,
        "module": 0,
        "name": read.name,
        "type": read.type,
        "kind": read.kind,
        "scope": read.scope if read.function else "global",
        "order": read.order,
        "file": "/src/tool.c",
        "line": 1,
        "roles": read.roles,
    }


def _frame(
    frames: list[dict[str, Any]], stacks: list[dict[str, Any]], node: int, function: int
) -> tuple[int, int] | None:
    """Depth and frame of the innermost activation of the function; a global is in none."""
    if function < 0:
        return -1, -1
    depth = 0
    while node >= 0:
        frame = stacks[node]["frame"]
        while frame >= 0:
            if frames[frame]["function"] == function:
                return depth, frame
            frame = frames[frame]["inlined_in"]
        node, depth = stacks[node]["parent"], depth + 1
    return None


def _at_line(frames: list[dict[str, Any]], frame: int, line: int) -> int:
    for number, row in enumerate(frames):
        if row["function"] == frames[frame]["function"] and row["line"] == line:
            return number
    frames.append({**frames[frame], "frame": len(frames), "line": line, "inlined_in": -1})
    return len(frames) - 1
