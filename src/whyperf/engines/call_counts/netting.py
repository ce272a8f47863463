"""Net what a function does less per call against the sites that call it more often, and the other way round.

The same for calls within a circle of functions: a sort that calls itself here instead of there recurses as often.

Work handed over in smaller pieces is no change: if `apply` is called a hundred times as often and does a hundredth each
time, the sites that call it and its own code carry shares of opposite sign that say nothing. From the innermost
functions outwards the smaller of the two is taken off both. Sums stay what they were.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from whyperf.engines.call_counts.attribution import Attribution
from whyperf.engines.call_counts.call_graph import CallGraph


def netted(graph: CallGraph, found: Attribution) -> Attribution:
    calls, own = found.calls.copy(), found.self_cost.copy()
    for circle in graph.circles:
        more, less = (circle[sign * calls[circle] > 0] for sign in (1, -1))
        amount = min(float(calls[more].sum()), -float(calls[less].sum()))
        if amount > 0:
            calls[more] *= 1 - amount / float(calls[more].sum())
            calls[less] *= 1 + amount / float(calls[less].sum())
    into, inside = graph.sites_by_callee, graph.sites_by_caller
    for function in graph.callees_first():
        arriving = into[function][graph.caller[into[function]] != function]
        per_call = own[function] + calls[inside[function]].sum()
        sign = np.sign(per_call)
        opposed = arriving[np.sign(calls[arriving]) == -sign]
        amount = min(abs(per_call), float(np.abs(calls[opposed]).sum()))
        if amount == 0:
            continue
        calls[opposed] *= 1 - amount / float(np.abs(calls[opposed]).sum())
        # ... and off its own changes of the other sign, of its code and of its sites.
        alike = inside[function][np.sign(calls[inside[function]]) == sign]
        of_code = abs(own[function]) if np.sign(own[function]) == sign else 0.0
        left = 1 - amount / (of_code + float(np.abs(calls[alike]).sum()))
        calls[alike] *= left
        own[function] *= left if of_code else 1.0
    return replace(found, calls=calls, self_cost=own)
