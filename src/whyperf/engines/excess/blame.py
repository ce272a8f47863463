"""Who answers for the time of a context: its leaf, an anomalous function above it, or whoever took a new path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from whyperf.engines.excess.costs import Costs
from whyperf.engines.excess.novelty import Novelty, heads
from whyperf.engines.excess.settings import ExcessSettings
from whyperf.engines.excess.tree import ROOT, ContextTree
from whyperf.engines.run import Floats, Ints, sums


@dataclass(frozen=True)
class Charges:
    """Parts of contexts' time charged to functions: three columns, one row per (context, function)."""

    node: Ints
    function: Ints
    part: Floats
    head: Ints  # per context: where its new path begins, -1 where there is none
    caller_part: dict[int, float]  # per head: the part that the function which took the new path answers for

    def to(self, function: int) -> tuple[Ints, Floats]:
        rows = self.function == function
        return self.node[rows], self.part[rows]

    def sum(self, seconds: Floats, functions: int) -> Floats:
        return sums(self.function, self.part * seconds[self.node], functions)


@dataclass(frozen=True)
class Anomaly:
    """How much of what its callees left unexplained a function explains, 0 to 1; and under which callers less."""

    of: Mapping[int, float]
    under: Mapping[int, Mapping[int, float]]  # callee, then the caller that passed it its abnormal data

    def at(self, node: int, functions: list[int], parents: list[int]) -> float:
        value = self.of.get(functions[node], 0.0)
        lower = self.under.get(functions[node])
        while lower and value > 0.0 and node != ROOT:
            node = parents[node]
            value = min(value, lower.get(functions[node], value))
        return value


def charge(
    tree: ContextTree,
    novelty: Novelty,
    anomaly: Anomaly,
    existed: Callable[[int], bool],
    settings: ExcessSettings,
) -> Charges:
    head = heads(tree, novelty.new)
    caller_part = {
        int(node): settings.new_path_to_caller if existed(int(tree.function[node])) else settings.new_code_to_caller
        for node in np.unique(head[head >= 0])
    }
    functions, parents = tree.function.tolist(), tree.parent.tolist()
    rows: list[tuple[int, int, float]] = []
    for node, start in enumerate(head.tolist()):
        if node == ROOT:
            continue
        if start >= 0:
            rows.append((node, functions[parents[start]], caller_part[start]))
            rows.append((node, functions[start], 1.0 - caller_part[start]))
        elif not anomaly.of:
            rows.append((node, functions[node], 1.0))
        else:
            rows.extend(_deepest_first(functions, parents, node, anomaly))
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    return Charges(
        np.array(columns[0], np.int64),
        np.array(columns[1], np.int64),
        np.array(columns[2], np.float64),
        head,
        caller_part,
    )


def _deepest_first(
    functions: list[int], parents: list[int], node: int, anomaly: Anomaly
) -> list[tuple[int, int, float]]:
    rows: list[tuple[int, int, float]] = []
    left = 1.0
    above = node
    while above != ROOT and left > 0.0:
        function = functions[above]
        taken = left * anomaly.at(above, functions, parents)
        if taken > 0.0:
            rows.append((node, function, taken))
            left -= taken
        above = parents[above]
    if left > 0.0:
        rows.append((node, functions[node], left))
    return rows


def find_hub(
    costs: Costs, spent: Floats, novelty: Novelty, entries: frozenset[int], settings: ExcessSettings
) -> int | None:
    """The deepest function of the good runs under which half of all new or multiplied time lies; not an entry point.

    A cause that is cheap itself, such as a dispatcher that calls too often, has no excess of its own: this is the
    one thing that stacks can say about it.
    """
    tree = costs.tree
    grown = costs.bad.mean >= settings.multiplied * costs.good.mean
    grown |= heads(tree, novelty.new) >= 0
    relevant = np.where(grown, spent, 0.0)
    total = float(relevant.sum())
    if total <= 0.0:
        return None
    covered = tree.inclusive(relevant)
    depth = tree.depth()
    weight = covered / total
    cover: dict[int, float] = {}
    deepness: dict[int, float] = {}
    for node in tree.outermost().tolist():
        function = int(tree.function[node])
        cover[function] = cover.get(function, 0.0) + float(weight[node])
        deepness[function] = deepness.get(function, 0.0) + float(weight[node]) * float(depth[node])
    candidates = [
        function
        for function, part in cover.items()
        if part >= settings.hub_cover and not novelty.new[function] and function not in entries
    ]
    return max(candidates, key=lambda function: (deepness[function] / cover[function], cover[function]), default=None)
