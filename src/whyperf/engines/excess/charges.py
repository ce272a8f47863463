"""Who answers for the time of a context: its leaf, an anomalous function above it, or whoever took a new path."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass

import numpy as np

from whyperf.engines.allocation import Novelty
from whyperf.engines.changed_code import ChangedCode
from whyperf.engines.context_tree import ROOT, ContextTree
from whyperf.engines.excess.costs import Costs
from whyperf.engines.excess.growth import ContextGrowth
from whyperf.engines.excess.novelty import heads
from whyperf.engines.excess.settings import ExcessSettings
from whyperf.engines.run import Floats, Ints, sums


@dataclass(frozen=True)
class Charges:
    """Parts of contexts' time charged to functions: columns, one row per (context, who answers)."""

    node: Ints
    at: Ints  # the context that answers, mostly on the path to `node`; the root for functions in which nothing was seen
    function: Ints  # its function
    part: Floats
    head: Ints  # per context: where its new path begins, -1 where there is none
    existing: frozenset[int]  # heads whose function the good runs' program has as well
    caller_part: dict[int, float]  # per head: the part that the function which took the new path answers for
    oftener: dict[int, int]  # contexts that call another more often, and which

    def to(self, function: int) -> tuple[Ints, Ints, Floats]:
        rows = self.function == function
        return self.node[rows], self.at[rows], self.part[rows]

    def sum(self, seconds: Floats, functions: int) -> Floats:
        return sums(self.function, self.part * seconds[self.node], functions)


@dataclass(frozen=True)
class ExcessAnomaly:
    """What other engines know of functions' data, by number."""

    of: Mapping[int, float]  # how much of what its callees left unexplained a function explains, 0 to 1
    own: Mapping[int, float]  # the same, but of the time in its own code only
    normal: Set[int]  # functions whose decisions were compared and are what they were
    steady: Set[int]  # functions whose loops were compared and go as far as they did

    def at(self, function: int, *, leaf: bool) -> float:
        value = self.of.get(function, 0.0)
        return max(value, self.own.get(function, 0.0)) if leaf else value


NOTHING_KNOWN = ExcessAnomaly({}, {}, frozenset(), frozenset())


def charge(
    tree: ContextTree,
    novelty: Novelty,
    growth: ContextGrowth,
    anomaly: ExcessAnomaly,
    *,
    existed: Callable[[int], bool],
    code: ChangedCode,
    spent: Floats,
    settings: ExcessSettings,
) -> Charges:
    head = heads(tree, novelty.new)
    functions, parents = tree.function.tolist(), tree.parent.tolist()
    starts: list[int] = np.unique(head[head >= 0]).tolist()
    existing = frozenset(node for node in starts if existed(functions[node]))

    def to_caller(node: int) -> float:
        if node not in existing:
            return settings.new_code_to_caller
        if tree.called_in_loop[node] and not growth.repeats_inside(node):
            return settings.new_calls_to_caller
        as_ever = anomaly.steady if tree.called_in_loop[node] else anomaly.normal
        caller = functions[parents[node]]
        return settings.new_path_to_normal_caller if caller in as_ever else settings.new_path_to_caller

    caller_part = {node: to_caller(node) for node in starts}
    builds = TwoBuilds(tree, growth, code, spent, settings)
    rows: list[tuple[int, int, int, float]] = []
    for node, start in enumerate(head.tolist()):
        if node == ROOT:
            continue
        if start >= 0:
            shares: defaultdict[int, float] = defaultdict(float)
            shares[parents[start]] += caller_part[start]
            shares[growth.inwards(start, node)] += 1.0 - caller_part[start]
        else:
            shares = _shares(node, functions, growth, anomaly)
        rows.extend((node, at, function, part) for at, function, part in builds.answers(node, shares))
    nodes, answers, charged, parts = list(zip(*rows, strict=True)) or [(), (), (), ()]
    return Charges(
        np.array(nodes, np.int64),
        np.array(answers, np.int64),
        np.array(charged, np.int64),
        np.array(parts, np.float64),
        head,
        existing,
        caller_part,
        growth.call_oftener(anomaly.steady),
    )


def _shares(node: int, functions: list[int], growth: ContextGrowth, anomaly: ExcessAnomaly) -> defaultdict[int, float]:
    """Contexts with what each answers for of the time in `node`; adds up to 1.

    One part goes to where growth comes in. Of the other part abnormal data take theirs, deepest first, each at
    most as much as has grown there; the rest stays where the time is.
    """
    path = growth.path(node, anomaly.steady)
    shares: defaultdict[int, float] = defaultdict(float)
    for step in path.steps:
        shares[step.node] += step.part
    left = 1.0 - sum(shares.values())
    for at, most in path.region:
        taken = left * most * anomaly.at(functions[at], leaf=at == node)
        shares[at] += taken
        left -= taken
    for at, part in growth.owners(path.owner, anomaly.steady):
        shares[at] += left * part
    return shares


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
    depth = tree.depth
    weight = covered / total
    cover: dict[int, float] = {}
    deepness: dict[int, float] = {}
    for node in tree.outermost.tolist():
        function = int(tree.function[node])
        cover[function] = cover.get(function, 0.0) + float(weight[node])
        deepness[function] = deepness.get(function, 0.0) + float(weight[node]) * float(depth[node])
    candidates = [
        function
        for function, part in cover.items()
        if part >= settings.hub_cover and not novelty.new[function] and function not in entries
    ]
    return max(candidates, key=lambda function: (deepness[function] / cover[function], cover[function]), default=None)


class TwoBuilds:
    """Who answers for time where two builds do the same work: rather code that differs than code that is the same.

    What code that is the same would answer for goes to the changed code that answers already, else to the nearest on
    its stack as far out as growth is concentrated, else to changed code anywhere, which may have made what others work
    on. Contexts that have not grown stay whose they are: their time would only be noise in what the changed code
    answers for.
    """

    def __init__(
        self, tree: ContextTree, growth: ContextGrowth, code: ChangedCode, spent: Floats, settings: ExcessSettings
    ) -> None:
        self._tree, self._growth, self._code, self._settings = tree, growth, code, settings
        self._functions: list[int] = tree.function.tolist()
        self._has_grown: list[bool] = (spent > 0.0).tolist()
        seen = {function: node for node, function in reversed([*enumerate(self._functions)])}
        # Whoever calls new code has changed, too; and everything runs under an entry point.
        able = (code.changed - code.new - growth.entries) or code.changed
        if len(able) > settings.most_changes:
            able = frozenset()
        self._anywhere = [(seen.get(function, ROOT), function) for function in sorted(able)]

    def answers(self, node: int, shares: Mapping[int, float]) -> Iterator[tuple[int, int, float]]:
        """Contexts with their functions and what each answers for of the time in `node`; adds up as `shares` do."""
        functions, code = self._functions, self._code
        taken = 1.0 - self._settings.same_code_answers
        same = sum(part for at, part in shares.items() if functions[at] in code.same)
        heirs = self._heirs(node, shares) if same > 0.0 and self._has_grown[node] else []
        left = 1.0 - taken * sum(part for _, _, part in heirs)
        for at, part in shares.items():
            if part > 0.0:
                yield at, functions[at], part * left if functions[at] in code.same else part
        for at, function, part in heirs:
            yield at, function, same * taken * part

    def _heirs(self, node: int, shares: Mapping[int, float]) -> list[tuple[int, int, float]]:
        """Contexts and functions whose code differs, with their parts of what is taken from the rest."""
        functions, changed, settings = self._functions, self._code.changed, self._settings
        answering = {at: part for at, part in shares.items() if functions[at] in changed and part > 0.0}
        if answering:
            total = sum(answering.values())
            return [(at, functions[at], part / total) for at, part in answering.items()]
        for at, _ in self._growth.path(node).region:
            if functions[at] in changed and functions[at] not in self._growth.entries:
                return [(at, functions[at], 1.0)]
        if not self._anywhere:
            return []
        # The more functions have changed, the less that says about each of them; most it says about those on the stack.
        on_stack = {functions[at]: at for at in self._tree.path(node)}
        weights = [settings.change_on_stack if function in on_stack else 1.0 for _, function in self._anywhere]
        each = min(1.0, settings.telling_changes / len(self._anywhere)) / sum(weights)
        return [
            (on_stack.get(function, at), function, each * weight)
            for (at, function), weight in zip(self._anywhere, weights, strict=True)
        ]
