"""Calls that must have happened because some place was reached.

Every path to a place leads through the blocks that dominate it, every path from it through those that post-dominate it,
and every path from one round of a loop to the next through some of those within: what one of them calls was called,
however quickly it came back. Of an inlined function only a branch or a call tells, since compilers move other
instructions to where they were never meant to run. Calls of computed addresses and of other files tell nothing.
"""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt

from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.code_map import Addresses
from whyperf.debuginfo.flow import Flow, Flows
from whyperf.debuginfo.flow_graph import EXIT, next_in_round
from whyperf.debuginfo.places import last_at_or_before, out_of_line_scopes, scopes_at
from whyperf.recording.deep_tables import SiteKind

_CALLS = (SiteKind.CALL, SiteKind.TAIL_CALL)
_NEVER_MOVE = (*_CALLS, SiteKind.BRANCH)


def passed_calls(binary: Binary, addresses: Addresses, budget_s: float) -> set[tuple[int, int]]:
    """Callers and callees, by number of the binary's functions: every path by one of the addresses has such a call.

    Code is read for as long as there is time: that of the first addresses first.
    """
    outer = out_of_line_scopes(binary.code, addresses)
    flows, deadline = Flows(binary, callee_depth=0), time.process_time() + budget_s
    found: set[tuple[int, int]] = set()
    for scope in dict.fromkeys(outer[outer >= 0].tolist()):
        flow = flows.of(scope) if time.process_time() < deadline else None
        if flow is not None:
            found |= _calls_around(binary, flow, addresses[outer == scope])
    return found


def _calls_around(binary: Binary, flow: Flow, addresses: Addresses) -> set[tuple[int, int]]:
    code = binary.code
    ran = _surely_ran(flow, addresses)
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


def _surely_ran(flow: Flow, addresses: Addresses) -> npt.NDArray[np.bool_]:
    """Which instructions ran before or after one of the addresses did."""
    order = np.argsort(flow.address, kind="stable")
    rows = order[np.maximum(last_at_or_before(flow.address[order], addresses), 0)]
    ends = np.append(flow.first[1:], len(flow.address))
    ran = np.zeros(len(flow.address), np.bool_)
    reached: list[int] = np.unique(flow.block[rows]).tolist()
    around = {loop for block in reached for loop in flow.loops.around(block)}
    rounds = (
        (next_in_round(flow.successors, flow.loops, one), [b for b in reached if one in flow.loops.around(b)])
        for one in around
    )
    for towards, starts in ((flow.dominator.tolist(), reached), (flow.join.tolist(), reached), *rounds):
        whole: set[int] = set()
        for start in starts:
            block = start
            while block != EXIT and block not in whole:
                whole.add(block)
                ran[flow.first[block] : ends[block]] = True
                block = towards[block] if towards[block] != block else EXIT
    return ran
