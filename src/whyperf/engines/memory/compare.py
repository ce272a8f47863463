"""Two kinds of runs compared by the memory that they hold at its peak: who decided about what is held more."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from whyperf.engines.changed_code import ChangedCode, compare_code
from whyperf.engines.context_tree import ROOT
from whyperf.engines.functions import FunctionIndex
from whyperf.engines.holdings import Holdings, holdings_of
from whyperf.engines.memory.changes import Amount, MemoryChange, change_of
from whyperf.engines.memory.contexts import MemoryContexts, allocated, live, place, samples
from whyperf.engines.memory.deciders import Deciders, mean, named_wrappers
from whyperf.engines.memory.frees import NotFreeing, who_stopped
from whyperf.engines.memory.settings import MemorySettings
from whyperf.engines.memory.sizes import passes_size_on
from whyperf.engines.run import Floats, Ints, Run
from whyperf.recording.schemas.memory_tables import MemoryKind


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
        stopped = who_stopped(self.contexts, where, change, self._wrappers, self.settings)
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
) -> MemoryExcess:
    index = FunctionIndex(good, bad)
    code = compare_code(index, same_work=same_work)
    held: dict[Run, Holdings] = {run: holdings_of(run.recording, kind) for run in (*good, *bad)}
    return MemoryExcess(place(index, held), code, MemorySettings(), kind, amount)
