"""Functions without a name: code that neither debug information nor symbols cover, but the unwind tables do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from whyperf.debuginfo.code_maps.code_map import CodeMap, ScopeKind
from whyperf.debuginfo.code_maps.places import last_at_or_before, scopes_at
from whyperf.debuginfo.code_maps.string_table import Texts
from whyperf.debuginfo.code_maps.unwind_index import CodeRanges
from whyperf.recording.names.identity import name_by_address


def with_nameless(code: CodeMap, ranges: CodeRanges, file_name: str) -> CodeMap:
    """What is known stays as it is; in the gaps every range becomes a function that is called by its address."""
    if not len(ranges.low):
        return code
    start = np.unique(np.concatenate([code.segment_start, ranges.low, ranges.high]))
    scope = scopes_at(code, start)
    row = last_at_or_before(ranges.low, start)
    added = (scope < 0) & (row >= 0) & (start < ranges.high[row])
    used, position = np.unique(row[added], return_inverse=True)
    count, known_scopes = len(used), len(code.scope_parent)
    if not count:
        return code
    scope[added] = known_scopes + position
    differs = np.append(True, scope[1:] != scope[:-1])
    start, scope = start[differs], scope[differs]
    bodies = np.flatnonzero(scope >= known_scopes)
    bodies = bodies[np.argsort(scope[bodies], kind="stable")]
    low = ranges.low[used]
    names = Texts.of(name_by_address(file_name, address) for address in low.tolist())
    none, unknown = np.zeros(count, np.int32), np.full(count, -1, np.int32)
    functions = len(code.function_line) + np.arange(count, dtype=np.int32)
    return replace(
        code,
        function_name=code.function_name.followed_by(names),
        function_file=np.append(code.function_file, unknown),
        function_line=np.append(code.function_line, none),
        function_order=np.append(code.function_order, none),
        function_inlined=np.append(code.function_inlined, none.astype(np.bool_)),
        function_noreturn=np.append(code.function_noreturn, none.astype(np.bool_)),
        scope_parent=np.append(code.scope_parent, unknown),
        scope_function=np.append(code.scope_function, functions),
        scope_call_file=np.append(code.scope_call_file, unknown),
        scope_call_line=np.append(code.scope_call_line, none),
        scope_depth=np.append(code.scope_depth, none + np.int32(1)),
        scope_kind=np.append(code.scope_kind, np.full(count, ScopeKind.SYMBOL, np.uint8)),
        scope_entry=np.append(code.scope_entry, low),
        segment_start=start,
        segment_scope=scope,
        body_low=np.append(code.body_low, start[bodies]),
        body_high=np.append(code.body_high, start[bodies + 1]),
        body_scope=np.append(code.body_scope, scope[bodies]),
    )
