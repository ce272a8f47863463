"""Two kinds of runs compared by the memory that they hold at its peak: who decided about what is held more."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from whyperf.engines.changed_code import ChangedCode, compare_code
from whyperf.engines.context_tree import ROOT
from whyperf.engines.functions import FunctionIndex
from whyperf.engines.holdings import Holdings, holdings_of
from whyperf.engines.memory.changes import Amount, MemoryChange, change_of
from whyperf.engines.memory.contexts import MemoryContexts, PlacedHoldings, allocated, live, place, samples
from whyperf.engines.memory.deciders import Deciders, mean, named_wrappers
from whyperf.engines.memory.frees import CallsPerUnit, NotFreeing, who_stopped
from whyperf.engines.memory.settings import MemorySettings
from whyperf.engines.run import Floats, Ints, Run, column, texts
from whyperf.recording.schemas.memory_tables import MemoryKind

_FEWEST = 5  # samples: by chance a parameter does not equal the size so often
_MOST = 2000  # samples of a run that are looked at
_HEADER_BYTES = 64  # what an allocator adds for itself
_ALMOST_ALL = 0.9


@dataclass(frozen=True, eq=False)
class MemoryAccount:
    """What one function decided about."""

    function: int
    node: int  # its context with most of the excess
    nodes: Ints  # contexts in which what it decided about was allocated
    share: float  # of the excess
    change: MemoryChange
    stopped: NotFreeing | None  # who freed it in the good runs and no longer does

    @property
    def sigma(self) -> float:
        return self.change.excess / self.change.error

    @property
    def separated(self) -> bool:
        return min(self.change.bad_runs) > max(self.change.good_runs)


@dataclass(frozen=True, eq=False)
class MemoryExcess:
    contexts: MemoryContexts
    code: ChangedCode
    settings: MemorySettings
    kind: MemoryKind = MemoryKind.ALLOCATION
    amount: Amount = live  # what is compared
    counted: CallsPerUnit = field(default_factory=dict)

    @property
    def index(self) -> FunctionIndex:
        return self.contexts.index

    @cached_property
    def by_node(self) -> Floats:
        """Bytes that bad runs have more of it."""
        contexts = self.contexts
        return mean(contexts.by_node(contexts.bad, self.amount)) - mean(contexts.by_node(contexts.good, self.amount))

    @property
    def total(self) -> float:
        return float(self.by_node.sum())

    @cached_property
    def accounts(self) -> tuple[MemoryAccount, ...]:
        """By what they decided about, largest first."""
        contexts, deciders = self.contexts, self._deciders
        decided: defaultdict[int, list[int]] = defaultdict(list)
        deciding: defaultdict[int, defaultdict[int, float]] = defaultdict(lambda: defaultdict(float))
        for node in np.flatnonzero(self._used).tolist():
            at = deciders.decider(node) if node != ROOT else ROOT
            function = contexts.function(at)
            if function >= 0:
                decided[function].append(node)
                deciding[function][at] += float(self.by_node[node])
        found = [self._account(function, nodes, deciding[function]) for function, nodes in decided.items()]
        total = max(self.total, sum(max(one.change.excess, 0.0) for one in found) / 2, 1.0)
        shared = (replace(one, share=min(1.0, one.change.excess / total)) for one in found)
        return tuple(sorted(shared, key=lambda one: -one.change.excess))

    def _account(self, function: int, nodes: list[int], deciding: dict[int, float]) -> MemoryAccount:
        where = np.array(nodes, np.int64)
        change = change_of(self.contexts, where, self.amount)
        node = max(deciding, key=lambda one: (deciding[one], -one))
        stopped = who_stopped(self.contexts, where, change, self._wrappers, self.settings, counted=self.counted)
        return MemoryAccount(function, node, where, 0.0, change, stopped)

    @cached_property
    def _used(self) -> Floats:
        """By node, what either kind of runs allocated there."""
        contexts = self.contexts
        used = [mean(contexts.by_node(side, allocated)) for side in (contexts.good, contexts.bad)]
        held = [mean(contexts.by_node(side, live)) for side in (contexts.good, contexts.bad)]
        found: Floats = used[0] + used[1] + held[0] + held[1]
        return found

    @cached_property
    def _wrappers(self) -> set[int]:
        told = passes_size_on(self.contexts) if self.kind is MemoryKind.ALLOCATION else set()
        return named_wrappers(self.contexts) | told

    @cached_property
    def _deciders(self) -> Deciders:
        contexts = self.contexts
        seen = contexts.by_node(contexts.bad, samples).sum(axis=0)
        return Deciders(contexts, self.by_node, seen, self._wrappers, self.settings)


def compare(
    good: Sequence[Run],
    bad: Sequence[Run],
    *,
    kind: MemoryKind = MemoryKind.ALLOCATION,
    amount: Amount = live,
    same_work: bool | None = None,
    counted: CallsPerUnit | None = None,
) -> MemoryExcess:
    """`counted`: where calls were counted as well, they tell whether who no longer frees is still called."""
    index = FunctionIndex(good, bad)
    code = compare_code(index, same_work=same_work)
    held: dict[Run, Holdings] = {run: holdings_of(run.recording, kind) for run in (*good, *bad)}
    return MemoryExcess(place(index, held), code, MemorySettings(), kind, amount, counted or {})


def passes_size_on(contexts: MemoryContexts) -> set[int]:
    """Functions one of whose parameters is what they ask for, save for a constant number of bytes: whoever calls them
    decides about the size.
    """
    seen: defaultdict[tuple[int, int], list[float]] = defaultdict(list)
    for one in (*contexts.good, *contexts.bad):
        for (function, name), differences in _differences(contexts, one).items():
            seen[function, name] += differences
    return {function for (function, _), found in seen.items() if len(found) >= _FEWEST and _is_constant(found)}


def _is_constant(differences: list[float]) -> bool:
    values, counts = np.unique(differences, return_counts=True)
    most = int(np.argmax(counts))
    return bool(0 <= values[most] <= _HEADER_BYTES and counts[most] >= _ALMOST_ALL * len(differences))


def _differences(contexts: MemoryContexts, one: PlacedHoldings) -> dict[tuple[int, int], list[float]]:
    """By function and parameter, what the size is beyond the parameter's value."""
    recording = one.run.recording
    variables = recording.table("variables")
    parameters = {
        row: (int(function), hash(name))
        for row, (scope, kind, function, name) in enumerate(
            zip(
                texts(variables, "scope"),
                texts(variables, "kind"),
                column(variables, "function").tolist(),
                texts(variables, "name"),
                strict=True,
            )
        )
        if scope == "parameter" and kind in ("signed", "unsigned") and function >= 0
    }
    values = recording.table("values")
    of_variable, of_sample, value = (column(values, name) for name in ("variable", "sample", "value"))
    size = dict(zip(one.held.sample[:_MOST].tolist(), one.held.size[:_MOST].tolist(), strict=True))
    known = np.isin(of_variable, np.array(list(parameters), np.int64)) & np.isin(of_sample, one.held.sample[:_MOST])
    found: defaultdict[tuple[int, int], list[float]] = defaultdict(list)
    number = contexts.index.of_row[one.run]
    for row in np.flatnonzero(known).tolist():
        function, name = parameters[int(of_variable[row])]
        if function in number:
            found[number[function], name].append(size[int(of_sample[row])] - float(value[row]))
    return found
