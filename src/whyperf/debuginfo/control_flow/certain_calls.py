"""Calls that must have happened because some place was reached.

Every path to a place leads through the blocks that dominate it, and every path from one round of a loop to the next
through some of those within: what one of them calls was called, however quickly it came back. Of an inlined function
only a branch or a call tells, since compilers move other instructions to where they were never meant to run. Calls of
computed addresses and of other files tell nothing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from whyperf.debuginfo.basic_blocks.flow_graph import EXIT
from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.code_maps.code_map import Addresses
from whyperf.debuginfo.code_maps.places import out_of_line_scopes, scopes_at
from whyperf.debuginfo.control_flow.function_flow import Flow, TimedFlows
from whyperf.recording.schemas.deep_tables import SiteKind

_CALLS = (SiteKind.CALL, SiteKind.TAIL_CALL)
_NEVER_MOVE = (*_CALLS, SiteKind.BRANCH)


def passed_calls(flows: TimedFlows, addresses: Addresses) -> set[tuple[int, int]]:
    """Callers and callees, by number of the binary's functions: every path by one of the addresses has such a call.

    Code is read for as long as there is time: that of the first addresses first.
    """
    outer = out_of_line_scopes(flows.binary.code, addresses)
    found: set[tuple[int, int]] = set()
    for scope in dict.fromkeys(outer[outer >= 0].tolist()):
        flow = flows.of(scope)
        if flow is not None:
            found |= _calls_around(flows.binary, flow, addresses[outer == scope])
    return found


def _calls_around(binary: Binary, flow: Flow, addresses: Addresses) -> set[tuple[int, int]]:
    code = binary.code
    ran = _ran_before(flow, addresses) | _ran_in_rounds(flow, addresses)
    steady = np.flatnonzero(ran & np.isin(flow.kind, _NEVER_MOVE))
    calls: set[tuple[int, int]] = set()  # by scope
    for row, scope in zip(steady.tolist(), scopes_at(code, flow.address[steady]).tolist(), strict=True):
        inner = scope
        while inner >= 0 and (around := int(code.scope_parent[inner])) >= 0:
            calls.add((around, inner))
            inner = around
        if flow.target[row] >= 0 and flow.kind[row] in _CALLS:
            calls.add((scope, binary.scope_entered_at(int(flow.target[row]))))
    return {
        (int(code.scope_function[caller]), int(code.scope_function[callee]))
        for caller, callee in calls
        if caller >= 0 and callee >= 0
    }


def _ran_before(flow: Flow, addresses: Addresses) -> npt.NDArray[np.bool_]:
    """Which instructions ran before one of the addresses did."""
    ran = np.zeros(len(flow.address), np.bool_)
    whole: set[int] = set()
    for row in flow.rows_at(addresses).tolist():
        block = int(flow.block[row])
        ran[flow.first[block] : row] = True
        while (above := int(flow.dominator[block])) != block and above not in whole:
            whole.add(above)
            ran[flow.instructions(above)] = True
            block = above
    return ran


def _ran_in_rounds(flow: Flow, addresses: Addresses) -> npt.NDArray[np.bool_]:
    """Which instructions ran after one of the addresses did, before a loop around it went on or was left."""
    ran = np.zeros(len(flow.address), np.bool_)
    reached: list[int] = np.unique(flow.block[flow.rows_at(addresses)]).tolist()
    for loop in {loop for block in reached for loop in flow.loops.around(block)}:
        after = flow.next_in_round(loop)
        seen: set[int] = set()
        for start in reached:
            block = start if loop in flow.loops.around(start) else EXIT
            while block != EXIT and block not in seen:
                seen.add(block)
                ran[flow.instructions(block)] = True
                block = after[block]
    return ran
