"""From addresses to functions and lines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whyperf.debuginfo.code_maps.code_map import Addresses, CodeMap, Int32s
from whyperf.debuginfo.code_maps.string_table import Texts


@dataclass(frozen=True, eq=False)
class Places:
    """For address i the rows `start[i]:start[i + 1]`: the innermost inlined function first, the physical one last.

    An address that nothing is known about has no rows.
    """

    start: Int32s
    function: Int32s
    file: Int32s
    """Row of `files`; -1 when unknown."""
    line: Int32s
    """The line at the address in the innermost function, of the call in the others; 0 when unknown."""
    files: Texts


def last_at_or_before(starts: Addresses, addresses: Addresses) -> npt.NDArray[np.int64]:
    """Row of the last start that is not after each address, -1 where every start is."""
    return np.searchsorted(starts, addresses, side="right") - 1


def scopes_at(code: CodeMap, addresses: Addresses) -> Int32s:
    """The innermost scope at each address, -1 for none."""
    segment = last_at_or_before(code.segment_start, addresses)
    scope = np.full(len(addresses), -1, np.int32)
    known = segment >= 0
    scope[known] = code.segment_scope[segment[known]]
    return scope


def lines_at(code: CodeMap, addresses: Addresses) -> tuple[Int32s, Int32s]:
    """Files and lines at addresses, in the innermost function; -1 and 0 when unknown."""
    row = last_at_or_before(code.row_address, addresses)
    file, line = np.full(len(addresses), -1, np.int32), np.zeros(len(addresses), np.int32)
    known = row >= 0
    file[known], line[known] = code.row_file[row[known]], code.row_line[row[known]]
    return file, line


def resolve(code: CodeMap, addresses: Addresses) -> Places:
    """All levels of inlining at once: one pass over the addresses for each level."""
    scope = scopes_at(code, addresses)
    known = scope >= 0
    lengths = np.zeros(len(addresses), np.int64)
    lengths[known] = code.scope_depth[scope[known]]
    start = np.zeros(len(addresses) + 1, np.int32)
    np.cumsum(lengths, out=start[1:])
    function = np.empty(start[-1], np.int32)
    file, line = np.empty(start[-1], np.int32), np.empty(start[-1], np.int32)
    row, scope = start[:-1][known].astype(np.int64), scope[known]
    level_file, level_line = lines_at(code, addresses[known])
    while len(scope):
        function[row], file[row], line[row] = code.scope_function[scope], level_file, level_line
        level_file, level_line = code.scope_call_file[scope], code.scope_call_line[scope]
        scope = code.scope_parent[scope]
        inside = scope >= 0
        row, scope = row[inside] + 1, scope[inside]
        level_file, level_line = level_file[inside], level_line[inside]
    return Places(start, function, file, line, code.files)


def out_of_line_scopes(code: CodeMap, addresses: Addresses) -> Int32s:
    """The scope of the physical function at each address, -1 for none."""
    scope = scopes_at(code, addresses)
    while (inside := (scope >= 0) & (code.scope_parent[scope] >= 0 if len(code.scope_parent) else False)).any():
        scope = np.where(inside, code.scope_parent[scope], scope)
    return scope
