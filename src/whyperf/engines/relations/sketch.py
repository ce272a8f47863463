"""Two sketches as one calling-context tree: how often everything was called from where, and what it cost, by side."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from whyperf.engines.arrays import Bools, Floats, Int32s
from whyperf.engines.grouping import grouped
from whyperf.engines.relations.changed_relations.changed import Counts
from whyperf.engines.relations.executions.catalogue import NONE, CataloguedFunction, InlinedLine
from whyperf.engines.relations.executions.matching import SharedSites, match_sites
from whyperf.engines.relations.executions.tree_passes import inclusive, within_same
from whyperf.engines.run import Run, column, ints

_MOST = 1 << 53  # activations: far more than any run has, so that sums of them fit
Call = tuple[int, int, int]
"""Calling function, its call (a shared site, NONE when unknown), function called."""


@dataclass(eq=False)
class _SideCounts:
    runs: int
    calls: list[float] = field(default_factory=list)  # by node, sums over the runs
    instructions: list[float] = field(default_factory=list)
    allocated: list[float] = field(default_factory=list)
    live: list[float] = field(default_factory=list)
    fanout: list[dict[int, int]] = field(default_factory=list)
    """By node: calls within one activation of the parent -> activations."""

    def grow(self) -> None:
        for values in (self.calls, self.instructions, self.allocated, self.live):
            values.append(0.0)
        self.fanout.append(defaultdict(int))


@dataclass(frozen=True, eq=False)
class SketchSide:
    runs: int
    calls: Floats  # by node, over all runs
    instructions: Floats
    allocated: Floats
    live: Floats
    fanout: tuple[dict[int, int], ...]


@dataclass(frozen=True, eq=False)
class Sketches:
    functions: tuple[CataloguedFunction, ...]
    places: tuple[InlinedLine, ...]
    site_place: tuple[int, ...]
    parent: Int32s  # by node
    function: Int32s
    caller: Int32s  # shared site of the call; NONE when unknown
    good: SketchSide
    bad: SketchSide
    own: Bools
    """By function: the program's own code."""
    notes: tuple[str, ...]

    @property
    def sides(self) -> tuple[SketchSide, SketchSide]:
        return self.good, self.bad

    def call(self, node: int) -> Call:
        above = int(self.parent[node])
        return (int(self.function[above]) if above >= 0 else NONE), int(self.caller[node]), int(self.function[node])

    def calls(self) -> tuple[list[Call], Int32s]:
        """Distinct calls, and which of them leads to each node."""
        number: dict[Call, int] = {}
        of_node = [number.setdefault(self.call(node), len(number)) for node in range(len(self.parent))]
        return list(number), np.array(of_node, np.int32)

    def outermost(self, label: Int32s, labels: int) -> Bools:
        """Nodes that lie below no other of their label: recursion is counted once."""
        start, order = grouped(self.parent, len(self.parent))
        return ~within_same(self.parent, label, max(labels, 1), start, order)

    def below(self, weight: Floats) -> Floats:
        return inclusive(self.parent, weight)

    def path(self, node: int) -> list[int]:
        """Functions from the root down."""
        found = []
        while node >= 0:
            found.append(int(self.function[node]))
            node = int(self.parent[node])
        return found[::-1]


def load_sketches(good: Sequence[Run], bad: Sequence[Run]) -> Sketches:
    shared = match_sites(good, bad)
    tree = _Tree(shared, _SideCounts(len(good)), _SideCounts(len(bad)))
    for runs, side in ((bad, tree.bad), (good, tree.good)):
        for run in runs:
            tree.add(run, side)
    return Sketches(
        functions=tuple(shared.functions),
        places=tuple(shared.places),
        site_place=tuple(shared.site_place),
        parent=np.array(tree.parent, np.int32),
        function=np.array(tree.function, np.int32),
        caller=np.array(tree.caller, np.int32),
        good=_side(tree.good),
        bad=_side(tree.bad),
        own=np.array([function.own for function in shared.functions], np.bool_),
        notes=tuple(shared.notes),
    )


@dataclass(eq=False)
class _Tree:
    shared: SharedSites
    good: _SideCounts
    bad: _SideCounts
    parent: list[int] = field(default_factory=list)
    function: list[int] = field(default_factory=list)
    caller: list[int] = field(default_factory=list)
    _number: dict[tuple[int, int, int], int] = field(default_factory=dict)

    def add(self, run: Run, side: _SideCounts) -> None:
        table, fanouts = run.recording.table("calls"), run.recording.table("fanouts")
        sites = np.append(self.shared.of_run[run], NONE)
        outer = np.append(self.shared.function_of_run[run], NONE)
        entry, caller = column(table, "site"), sites[column(table, "caller")].tolist()
        function, parent = outer[entry].tolist(), ints(table, "parent")
        columns = [ints(table, name) for name in ("calls", "instructions", "allocated", "live")]
        node_of: list[int] = []
        for row, above in enumerate(parent):
            node = self._node(node_of[above] if above >= 0 else NONE, function[row], caller[row])
            node_of.append(node)
            for total, values in zip((side.calls, side.instructions, side.allocated, side.live), columns, strict=True):
                total[node] += values[row]
        for call, times, activations in zip(
            ints(fanouts, "call"), ints(fanouts, "times"), ints(fanouts, "activations"), strict=True
        ):
            side.fanout[node_of[call]][times] += activations

    def _node(self, parent: int, function: int, caller: int) -> int:
        node = self._number.setdefault((parent, function, caller), len(self.parent))
        if node == len(self.parent):
            self.parent.append(parent)
            self.function.append(function)
            self.caller.append(caller)
            self.good.grow()
            self.bad.grow()
        return node


def _side(counts: _SideCounts) -> SketchSide:
    return SketchSide(
        counts.runs,
        np.array(counts.calls),
        np.array(counts.instructions),
        np.array(counts.allocated),
        np.array(counts.live),
        tuple(dict(one) for one in counts.fanout),
    )


def fanout_counts(side: SketchSide, nodes: Sequence[int], parents: Sequence[int]) -> Counts:
    """Calls per activation of the caller: `nodes` are the callee's contexts, `parents` all contexts of the caller."""
    made: dict[int, int] = defaultdict(int)
    for node in nodes:
        for times, activations in side.fanout[node].items():
            made[times] += activations
    activations = int(sum(side.calls[parent] for parent in parents))
    none = activations - sum(made.values())
    if none > 0:
        made[0] += none
    values = sorted(value for value in made if made[value] > 0)
    return Counts(np.array(values, np.int64), np.array([min(made[value], _MOST) for value in values], np.int64))
