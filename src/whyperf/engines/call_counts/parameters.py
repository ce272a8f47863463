"""What functions decide, by counts and samples: calls per activation, self cost per activation, calls from outside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whyperf.engines.call_counts.call_graph import CallGraph, Floats


@dataclass(frozen=True, eq=False)
class Measured:
    """One kind of run, per unit of work."""

    activations: Floats  # of each function
    calls: Floats  # of each site
    self_cost: Floats  # seconds (or bytes, pages, ...) in each function's own code
    one_sample: float = 0.0  # what costs less may not be seen at all; 0: everything is


@dataclass(frozen=True, eq=False)
class Parameters:
    calls: Floats  # of each site, per activation of its function
    self_cost: Floats  # of each function, per activation
    outside: Floats  # activations of each function that no counted site made


def parameters(graph: CallGraph, baseline: Measured, slow: Measured) -> tuple[Parameters, Parameters]:
    """Parameters of both sides.

    A function that one kind of run never entered decided nothing there: what one activation of it does is unknown, and
    taken to be what it is in the other kind. So only who began to call it has changed. The same holds for the cost of a
    function that runs and was never sampled, as far as that could have stayed unseen.
    """
    made = []
    for side, other in ((baseline, slow), (slow, baseline)):
        runs = side.activations > 0
        shown_by = np.where(runs, side.activations, other.activations)
        per_call = np.where(runs[graph.caller], side.calls, other.calls)
        own = np.where(runs, np.where(side.self_cost > 0, side.self_cost, _unseen(side, other)), other.self_cost)
        arriving = np.bincount(graph.callee, weights=side.calls, minlength=graph.functions)
        made.append(
            Parameters(
                _ratio(per_call, shown_by[graph.caller]),
                _ratio(own, shown_by),
                np.maximum(side.activations - arriving, 0.0),
            )
        )
    return made[0], made[1]


def _unseen(side: Measured, other: Measured) -> Floats:
    """What functions cost at most that were never sampled: as much per activation as in the other kind of run."""
    return np.minimum(side.activations * _ratio(other.self_cost, other.activations), side.one_sample)


def _ratio(amount: Floats, of: Floats) -> Floats:
    found: Floats = np.divide(amount, of, out=np.zeros(len(of)), where=of > 0)
    return found
