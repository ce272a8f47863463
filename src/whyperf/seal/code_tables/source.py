"""Excerpts of the source around the sampled lines, so that a report needs no source tree."""

from __future__ import annotations

import hashlib
import os
import stat
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from whyperf.recording.schemas.tables import SOURCE
from whyperf.seal.evidence import Int64

_CONTEXT_LINES = 5
_REACH_BACK_LINES = 400  # a declaration farther above the sampled lines is not worth the room
_TOTAL_BYTES = 4 << 20
_FILE_BYTES = 16 << 20


@dataclass(frozen=True)
class Excerpts:
    table: pa.Table
    notes: tuple[str, ...]


def excerpts(frames: pa.Table, functions: pa.Table, modules: pa.Table, frame_weight: Int64) -> Excerpts:
    """Heaviest files first, until there is no more room. Source newer than its binary is not what ran."""
    wanted = _wanted_lines(frames, functions, frame_weight)
    paths = [str(path) for path in modules.column("path").to_pylist()]
    rows: list[tuple[str, int, str, str]] = []
    newer, room = 0, _TOTAL_BYTES
    for file in sorted(wanted, key=lambda name: (-wanted[name].weight, name)):
        content = _read(file)
        if content is None:
            continue
        if content.changed > min(_changed(paths[module]) for module in wanted[file].modules):
            newer += 1
            continue
        # Compilers count no form feeds, as `splitlines` would.
        lines = content.text.replace("\r\n", "\n").removesuffix("\n").split("\n")
        digest = hashlib.sha256(content.raw).hexdigest()
        for first, last in _merged(wanted[file].ranges, len(lines)):
            text = "\n".join(lines[first - 1 : last])
            room -= len(text.encode())
            if room >= 0:
                rows.append((file, first, text, digest))
    notes = []
    if newer:
        notes.append(f"{newer} source files are newer than the binary that was built from them and were left out.")
    if room < 0:
        notes.append("The source of the least sampled functions was left out for lack of room.")
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(SOURCE.columns)
    arrays = [pa.array(list(c), field.type) for c, field in zip(columns, SOURCE.schema, strict=True)]
    return Excerpts(pa.table(arrays, schema=SOURCE.schema), tuple(notes))


@dataclass
class _Wanted:
    weight: int
    ranges: list[tuple[int, int]]
    modules: set[int]


def _wanted_lines(frames: pa.Table, functions: pa.Table, frame_weight: Int64) -> dict[str, _Wanted]:
    """The range of sampled lines of every function, by file."""
    file = frames.column("file").combine_chunks().dictionary_encode()
    names = file.dictionary.to_pylist()
    code = file.indices.to_numpy()
    line = frames.column("line").to_numpy()
    function = frames.column("function").to_numpy()
    module = frames.column("module").to_numpy()
    declared_in = functions.column("file").to_pylist()
    declared_at = functions.column("line").to_numpy()
    usable = np.flatnonzero((line > 0) & (function >= 0))
    order = usable[np.lexsort((line[usable], function[usable], code[usable]))]
    change = np.flatnonzero(np.diff(code[order]) | np.diff(function[order])) + 1
    wanted: dict[str, _Wanted] = defaultdict(lambda: _Wanted(0, [], set()))
    for group in np.split(order, change) if len(order) else []:
        name, owner = names[code[group[0]]], int(function[group[0]])
        if not name.startswith("/"):
            continue
        low, high = int(line[group[0]]), int(line[group[-1]])
        if declared_in[owner] == name and 0 <= low - declared_at[owner] <= _REACH_BACK_LINES:
            low = int(declared_at[owner])
        wanted[name].ranges.append((low - _CONTEXT_LINES, high + _CONTEXT_LINES))
        wanted[name].weight += int(frame_weight[group].sum())
        wanted[name].modules.add(int(module[group[0]]))
    return wanted


def _merged(ranges: list[tuple[int, int]], line_count: int) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        first, last = max(1, low), min(high, line_count)
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        elif first <= last:
            merged.append((first, last))
    return merged


@dataclass(frozen=True)
class _Content:
    raw: bytes
    text: str
    changed: float


def _read(path: str) -> _Content | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError):
        return None
    with open(descriptor, "rb") as file:  # noqa: PTH123
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _FILE_BYTES:
            return None
        raw = file.read()
    return _Content(raw, raw.decode(errors="replace"), status.st_mtime)


def _changed(path: str) -> float:
    """When a binary was last written; a vanished one is older than everything."""
    try:
        return os.stat(path).st_mtime  # noqa: PTH116
    except (OSError, ValueError):
        return 0.0
