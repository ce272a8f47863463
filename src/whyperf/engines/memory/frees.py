"""Who no longer frees: the function that freed in the good runs what the bad ones hold."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

import numpy as np

from whyperf.engines.context_tree import ROOT
from whyperf.engines.memory.changes import MemoryChange, freed_in
from whyperf.engines.memory.contexts import MemoryContexts, allocated, samples
from whyperf.engines.memory.deciders import Deciders, mean
from whyperf.engines.memory.settings import MemorySettings
from whyperf.engines.run import Floats, Ints
from whyperf.recording.names.identity import FunctionKey

_LARGER_PART = 0.5


CallsPerUnit = Mapping[FunctionKey, tuple[float, float]]
"""Exact ones of each function, in good and in bad runs."""


@dataclass(frozen=True)
class FewerCalls:
    """Of the function that frees."""

    callee: str
    good: float  # per unit of work
    bad: float
    unit: str


@dataclass(frozen=True)
class NotFreeing:
    node: int
    freeing: int  # node: itself, or what it calls
    good: float  # part of what was allocated that it freed
    bad: float
    resizes: bool  # what good runs free there, and bad runs do not, they free by realloc
    calls: FewerCalls | None  # it no longer calls who frees, or less often


def who_stopped(
    contexts: MemoryContexts,
    nodes: Ints,
    change: MemoryChange,
    wrappers: Set[int],
    settings: MemorySettings,
    *,
    counted: CallsPerUnit,
) -> NotFreeing | None:
    """None where nobody freed the larger part of it, or still does."""
    good_freed, bad_freed = (freed_in(contexts, side, nodes) for side in (contexts.good, contexts.bad))
    good_part, bad_part = _part(good_freed, change.good.allocated), _part(bad_freed, change.bad.allocated)
    lost = _lost(good_part, bad_part)
    if not lost.any():
        return None
    innermost = int(np.argmax(lost))
    everything = [mean(contexts.by_freeing_node(side, allocated)) for side in (contexts.good, contexts.bad)]
    seen = contexts.by_freeing_node(contexts.bad, samples).sum(axis=0)
    at = Deciders(contexts, everything[0] - everything[1], seen, wrappers, settings).decider(innermost)
    before, now = (float(contexts.tree.inclusive(part)[at]) for part in (good_part, bad_part))
    if before - now < settings.freed_part * _missing(change) or before <= now:
        return None
    resizes = _resized_part(contexts, nodes, innermost) > settings.freed_part
    caller, calls = _who_calls_less(contexts, at, (before - now) / before, counted)
    return NotFreeing(caller, at, before, now, resizes, calls)


def _who_calls_less(
    contexts: MemoryContexts, freeing: int, lost: float, counted: CallsPerUnit
) -> tuple[int, FewerCalls | None]:
    """Where fewer calls are the larger part of why less is freed, the nearest caller for whom that is not so."""
    at, calls = freeing, None
    while (caller := int(contexts.tree.parent[at])) != ROOT and _key(contexts, caller) in counted:
        good, bad = counted.get(_key(contexts, at), (0.0, 0.0))
        if good <= 0 or 1 - bad / good < _LARGER_PART * lost:
            break
        calls = FewerCalls(contexts.name(at), good, bad, contexts.bad[0].run.work.unit)
        at = caller
    return at, calls


def _key(contexts: MemoryContexts, node: int) -> FunctionKey:
    return contexts.index.functions[contexts.function(node)].key


def _resized_part(contexts: MemoryContexts, nodes: Ints, freeing: int) -> float:
    """Of what good runs free of it in one context: a call that frees and allocates is one of realloc."""
    freed = resized = 0.0
    for one in contexts.good:
        known = np.isin(one.node, nodes) & (one.freed_node == freeing)
        freed += float(one.held.weight[known].sum())
        resized += float(one.held.weight[known & np.isin(one.held.freed_stack, one.held.stack)].sum())
    return resized / freed if freed else 0.0


def _lost(good: Floats, bad: Floats) -> Floats:
    """By node, what part of the allocations it freed more in good runs."""
    lost: Floats = np.maximum(good - bad, 0.0)
    lost[ROOT] = 0.0
    return lost


def _missing(change: MemoryChange) -> float:
    """The part of the allocations that was no longer there at the peak of good runs, and is in bad ones."""
    return change.bad.held_part - change.good.held_part


def _part(freed: Floats, of: float) -> Floats:
    part: Floats = freed / of if of > 0 else np.zeros(len(freed))
    return part
