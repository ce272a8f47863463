"""Why a function answers for time, and the context in which it answers for most."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import Enum

import numpy as np

from whyperf.engines.excess.compare import Excess
from whyperf.engines.excess.exact_calls import ExactCalls

_MOSTLY = 0.5


class BlameReason(Enum):
    """Why a function answers for time."""

    OWN = "own"  # the time is in its own code, or in library code that it calls
    TOOK_NEW_PATH = "took-new-path"  # it calls what the good runs never reach
    CALLS_MORE = "calls-more"  # it repeats calls that the good runs were never seen in
    CALLS_OFTENER = "calls-oftener"  # it calls more often what does each time the same
    NEW_PATH = "new-path"  # the good runs never reach it
    TAKES_LONGER = "takes-longer"  # the good runs were never seen in it, but its caller decided as ever
    NEW_CODE = "new-code"  # on a path that begins with a function that the good runs' binary does not have
    ELSEWHERE = "changed-elsewhere"  # its code differs between the builds, that on the way to the time does not
    HUB = "hub"  # cheap itself, but half of what grew lies under it


@dataclass(frozen=True)
class Anchor:
    """The context in which a function answers for most."""

    node: int
    role: BlameReason
    other: int | None = None  # the new function it calls, or the caller that leads to it


def anchor_of(excess: Excess, function: int) -> Anchor:
    tree, charges = excess.costs.tree, excess.charges
    weight: dict[Anchor, float] = defaultdict(float)
    for node, at, part in zip(*(column.tolist() for column in charges.to(function)), strict=True):
        answered = float(excess.spent[node]) * part
        if answered <= 0:
            continue
        head = int(charges.head[node])
        if at not in tree.path(node):
            weight[Anchor(at, BlameReason.ELSEWHERE, int(tree.function[node]))] += answered
        elif head < 0:
            weight[_on_known_path(excess, node, at)] += answered
        elif at == int(tree.parent[head]):
            weight[_on_way_to(excess, at, head)] += answered
        else:
            weight[Anchor(at, _role_on_new_path(excess, head), int(tree.function[tree.parent[at]]))] += answered
    return max(weight, key=lambda anchor: (weight[anchor], -anchor.node))


def _on_known_path(excess: Excess, node: int, at: int) -> Anchor:
    callee = excess.charges.oftener.get(at)
    if callee is None or callee not in excess.costs.tree.path(node) or not _may_be_called_oftener(excess, at, callee):
        return Anchor(at, BlameReason.OWN)
    return Anchor(at, BlameReason.CALLS_OFTENER, int(excess.costs.tree.function[callee]))


def _may_be_called_oftener(excess: Excess, at: int, callee: int) -> bool:
    """Whether exact counts, if there are any, confirm that more calls at the same cost take the time."""
    exact = _exact_calls(excess, at, callee)
    if exact is None:
        return True
    good, bad = (float(excess.costs.tree.inclusive(one.mean)[callee]) for one in (excess.costs.good, excess.costs.bad))
    return exact.explain(good, bad)


def _on_way_to(excess: Excess, at: int, head: int) -> Anchor:
    """Of a context that calls what good runs were never seen in. Exact counts, if there are any, decide whether the
    calls are new, and whether they are repeated."""
    tree, exact = excess.costs.tree, _exact_calls(excess, at, head)
    if exact is not None and not exact.are_new:
        return Anchor(at, BlameReason.OWN)
    role = BlameReason.CALLS_MORE if _is_repeated(excess, at, head) else BlameReason.TOOK_NEW_PATH
    return Anchor(at, role, int(tree.function[head]))


def _is_repeated(excess: Excess, at: int, callee: int) -> bool:
    exact = _exact_calls(excess, at, callee)
    return bool(excess.costs.tree.called_in_loop[callee]) and (exact is None or exact.are_repeated)


def _exact_calls(excess: Excess, at: int, callee: int) -> ExactCalls | None:
    """Of one context's function by another's."""
    function = excess.costs.tree.function
    return excess.exact_calls(int(function[at]), int(function[callee]))


def _role_on_new_path(excess: Excess, head: int) -> BlameReason:
    charges, exact = excess.charges, _exact_calls(excess, int(excess.costs.tree.parent[head]), head)
    if head not in charges.existing:
        return BlameReason.NEW_CODE
    if exact is not None and not exact.are_new:
        return BlameReason.TAKES_LONGER
    decided_as_ever = charges.caller_part[head] == excess.settings.new_path_to_normal_caller
    return BlameReason.TAKES_LONGER if decided_as_ever else BlameReason.NEW_PATH


def heaviest_context(excess: Excess, function: int) -> int:
    inclusive = excess.costs.tree.inclusive(excess.spent)
    nodes = np.flatnonzero(excess.costs.tree.function == function)
    return int(nodes[np.argmax(inclusive[nodes])])


def repeated_callee(excess: Excess, node: int) -> int | None:
    """What a context calls from a loop, where most of what grew under it lies there."""
    tree = excess.costs.tree
    inclusive = tree.inclusive(excess.spent)
    callees = [child for child in np.flatnonzero(tree.parent == node).tolist() if _is_repeated(excess, node, child)]
    heaviest = max(callees, key=lambda child: float(inclusive[child]), default=None)
    if heaviest is None or inclusive[heaviest] < _MOSTLY * inclusive[node]:
        return None
    return int(tree.function[heaviest])
