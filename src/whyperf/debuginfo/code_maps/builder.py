"""From what the native reader found to a code map: names demangled, copies of one function made one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from whyperf.debuginfo.code_maps.code_map import CodeMap, Int32s, ScopeKind
from whyperf.debuginfo.code_maps.extraction import Extraction
from whyperf.debuginfo.code_maps.rust_names import demangle_v0
from whyperf.debuginfo.code_maps.string_table import Texts


def assemble(extraction: Extraction) -> CodeMap:
    """Keeps the scopes that own code, and the functions that own scopes."""
    raw = extraction.columns
    used = _used_scopes(raw)
    scope_number = _renumbered(used)
    parent = _through(scope_number, raw["scope.parent"][used])
    names, function_name = _demangled(raw)
    function, first, noreturn = _merged(raw, function_name, raw["scope.function"][used])
    out_of_line = np.zeros(len(first), np.bool_)
    out_of_line[function[parent < 0]] = True
    name, file = function_name[first], raw["function.file"][first]
    body_scope = _through(scope_number, raw["body.scope"])
    bodies = np.flatnonzero(body_scope >= 0)
    bodies = bodies[np.lexsort((raw["body.low"][bodies], body_scope[bodies]))]
    return CodeMap(
        files=_readable(Texts(raw["file.bytes"], raw["file.offsets"])),
        function_name=names.take(name),
        function_file=file,
        function_line=raw["function.line"][first],
        function_order=_order(name, file),
        function_inlined=~out_of_line,
        function_noreturn=noreturn,
        scope_parent=parent,
        scope_function=function,
        scope_call_file=raw["scope.call_file"][used],
        scope_call_line=raw["scope.call_line"][used],
        scope_depth=_depths(parent),
        scope_kind=raw["scope.kind"][used],
        scope_entry=raw["scope.entry"][used],
        segment_start=raw["segment.start"],
        segment_scope=_through(scope_number, raw["segment.scope"]),
        row_address=raw["row.address"],
        row_file=raw["row.file"],
        row_line=raw["row.line"],
        body_low=raw["body.low"][bodies],
        body_high=raw["body.high"][bodies],
        body_scope=body_scope[bodies],
    )


def _used_scopes(raw: dict[str, npt.NDArray[Any]]) -> npt.NDArray[np.bool_]:
    """Symbols that debug information covers altogether say nothing new."""
    kind, parent = raw["scope.kind"], raw["scope.parent"]
    used: npt.NDArray[np.bool_] = (kind == ScopeKind.FUNCTION) | (kind == ScopeKind.INLINED)
    shown = raw["segment.scope"]
    used[shown[shown >= 0]] = True
    reached = np.flatnonzero(used)
    while len(reached):
        above = np.unique(parent[reached])
        reached = above[above >= 0]
        reached = reached[~used[reached]]
        used[reached] = True
    return used


def _renumbered(kept: npt.NDArray[np.bool_]) -> Int32s:
    """New row numbers of the rows that are kept, -1 for the others."""
    return np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)


def _through(numbers: Int32s, rows: Int32s) -> Int32s:
    if not len(numbers):
        return np.full(len(rows), -1, np.int32)
    return np.where(rows >= 0, numbers[rows], -1).astype(np.int32)


def _depths(parent: Int32s) -> Int32s:
    depth = np.ones(len(parent), np.int32)
    above = parent
    while len(parent) and (inside := above >= 0).any():
        depth[inside] += 1
        above = np.where(inside, parent[above], -1)
    return depth


def _readable(texts: Texts) -> Texts:
    """Compilers write names as bytes; Arrow wants UTF-8."""
    try:
        texts.data.tobytes().decode()
    except UnicodeDecodeError:
        return Texts.of(texts.to_list())
    return texts


def _demangled(raw: dict[str, npt.NDArray[Any]]) -> tuple[Texts, Int32s]:
    """Names, and each function's row in them."""
    names = _readable(Texts(raw["name.bytes"], raw["name.offsets"]))
    function_name: Int32s = raw["function.name"].copy()
    mangled = np.unique(function_name[raw["function.mangled"] != 0])
    if not len(mangled):
        return names, function_name
    texts = names.to_list()
    for row, text in zip(mangled, demangle_v0(texts[row] for row in mangled), strict=True):
        texts[row] = text
    first_row: dict[str, int] = {}
    same_as = np.array([first_row.setdefault(text, row) for row, text in enumerate(texts)], np.int32)
    return Texts.of(texts), same_as[function_name]


def _merged(
    raw: dict[str, npt.NDArray[Any]], name: Int32s, of_scope: Int32s
) -> tuple[Int32s, npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """One function for each name, file, line and object: its number for each scope, one raw row of each, noreturn."""
    rows = np.unique(of_scope)
    keys = (raw["function.object"][rows], raw["function.line"][rows], raw["function.file"][rows], name[rows])
    by_key = np.lexsort(keys)
    differs = np.zeros(len(rows), np.bool_)
    for key in keys:
        differs[1:] |= key[by_key][1:] != key[by_key][:-1]
    differs[:1] = True
    number = np.cumsum(differs) - 1
    merged = np.full(len(name), -1, np.int32)
    merged[rows[by_key]] = number
    first = rows[by_key][differs].astype(np.int64)
    noreturn = np.zeros(len(first), np.bool_)
    np.logical_or.at(noreturn, number, raw["function.noreturn"][rows[by_key]] != 0)
    return merged[of_scope], first, noreturn


def _order(name: Int32s, file: Int32s) -> Int32s:
    """Position among the functions of the same name and file; functions come sorted by name, file and line."""
    starts = np.ones(len(name), np.bool_)
    starts[1:] = (name[1:] != name[:-1]) | (file[1:] != file[:-1])
    positions = np.arange(len(name))
    return (positions - np.maximum.accumulate(np.where(starts, positions, 0))).astype(np.int32)
