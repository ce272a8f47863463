"""From accounts to findings: who decided about the memory, who no longer frees it, at which line, and why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from whyperf.engines.context_tree import ROOT
from whyperf.engines.finding import Finding, HotLine, Place, Strength
from whyperf.engines.holdings import Booleans
from whyperf.engines.memory.changes import GrowthReason
from whyperf.engines.memory.compare import MemoryAccount, MemoryExcess
from whyperf.engines.memory.contexts import PlacedHoldings, allocated
from whyperf.engines.memory.detail import MemoryDetail
from whyperf.engines.memory.sentences import (
    Said,
    called_by,
    churns,
    frees_less_through,
    is_waste,
    no_longer_frees,
    on_the_way,
    touches,
    why,
)
from whyperf.engines.memory.values import ChangedValue, changed_values
from whyperf.engines.shown_lines import lines_around
from whyperf.engines.source_change import source_change
from whyperf.recording.schemas.memory_tables import MemoryKind

ENGINE = "memory"


@dataclass(frozen=True, eq=False)
class _Named:
    """A function with its part in an account."""

    function: int
    node: int
    account: MemoryAccount
    score: float
    said: Said
    frees: bool = False  # it is named for what it freed
    inferred: bool = False


def findings(excess: MemoryExcess) -> list[Finding]:
    """Best first."""
    best: dict[int, _Named] = {}
    for named in _named(excess):
        known = best.get(named.function)
        if known is None or named.score > known.score:
            best[named.function] = named
    ranked = sorted(best.values(), key=lambda one: -one.score)
    # Of one account the first answers for it: shares are counted once.
    first = {id(one.account): one for one in reversed(ranked)}
    return [
        _finding(excess, rank, one, one.account.share if first[id(one.account)] is one else 0.0)
        for rank, one in enumerate(ranked, 1)
    ]


def _named(excess: MemoryExcess) -> Iterator[_Named]:
    settings = excess.settings
    for account in excess.accounts:
        if account.share < settings.least_share or account.sigma < settings.least_sigma:
            continue
        if not account.separated:
            continue
        yield from _preferring_changed(excess, list(_of_account(excess, account)))


def _of_account(excess: MemoryExcess, account: MemoryAccount) -> Iterator[_Named]:
    """Who no longer frees it, who allocates it, and who calls that one."""
    contexts, settings = excess.contexts, excess.settings
    churning = excess.amount is allocated
    not_freed = not churning and account.change.reason is GrowthReason.NOT_FREED and not is_waste(account.change)
    score = account.share
    if account.stopped is not None and not_freed:
        node = account.stopped.node
        said = no_longer_frees(account, contexts.name(account.node), contexts.name(node))
        yield _Named(contexts.function(node), node, account, score, said, frees=True)
        score *= settings.next_in_line
    said = churns(account) if churning else touches(account) if excess.kind is MemoryKind.PAGE else why(account)
    yield _Named(account.function, account.node, account, score, said)
    caller = int(contexts.tree.parent[account.node])
    if caller != ROOT and int(contexts.tree.parent[caller]) != ROOT:
        score *= settings.next_in_line
        said = called_by(said, contexts.name(account.node))
        yield _Named(contexts.function(caller), caller, account, score, said, inferred=True)


def _preferring_changed(excess: MemoryExcess, named: list[_Named]) -> list[_Named]:
    """Between two builds told to do the same, unchanged code cannot be why: the nearest changed function on the path
    comes first."""
    code = excess.code
    if not code.changed or any(one.function in code.changed for one in named[:1]):
        return named
    first = max(other.score for other in named)
    changed = _changed_on_the_way(excess, named, first)
    if changed is None:
        return named
    others = (other for other in named if other.function != changed.function)
    return [changed, *(replace(other, score=other.score * excess.settings.next_in_line) for other in others)]


def _changed_on_the_way(excess: MemoryExcess, named: list[_Named], score: float) -> _Named | None:
    contexts = excess.contexts
    for one in named:
        for node in reversed(contexts.tree.path(one.node)):
            function = contexts.function(node)
            if function in excess.code.changed and int(contexts.tree.parent[node]) != ROOT:
                same = function == one.function
                said = one.said if same else _said_on_the_way(excess, one)
                return _Named(function, node, one.account, score, said, one.frees, inferred=not same)
    return None


def _said_on_the_way(excess: MemoryExcess, one: _Named) -> Said:
    name = excess.contexts.name(one.node)
    if one.frees:
        return frees_less_through(one.account, excess.contexts.name(one.account.node), name)
    return on_the_way(one.said, name)


def _finding(excess: MemoryExcess, rank: int, named: _Named, share: float) -> Finding:
    account = named.account
    error = account.change.error / max(account.change.excess, 1.0) * account.share
    place, lines = _where(excess, named)
    values = (
        changed_values(excess.contexts, named.function, account.nodes) if named.function == account.function else []
    )
    changed = named.function in excess.code.changed
    return Finding(
        engine=ENGINE,
        function=excess.index.functions[named.function].key,
        place=place,
        rank=rank,
        score=min(1.0, max(0.0, named.score)),
        share=share,
        path=tuple(excess.contexts.name(node) for node in excess.contexts.tree.path(named.node)),
        pattern=named.said.pattern,
        why=" ".join((named.said.sentence, *(one.sentence for one in values))),
        lines=lines,
        detail=_detail(excess, named, changed, values),
        strength=Strength(
            account.sigma, account.separated, account.share - 2 * error, account.share + 2 * error, named.inferred
        ),
        change=source_change(excess.index, named.function, {place.line} - {0}) if changed else None,
    )


def _detail(excess: MemoryExcess, named: _Named, changed: bool, values: list[ChangedValue]) -> MemoryDetail:
    change, stopped = named.account.change, named.account.stopped
    calls = None if stopped is None else stopped.calls
    return MemoryDetail(
        good_live_bytes=change.good.live,
        bad_live_bytes=change.bad.live,
        good_kept_bytes=change.good.kept,
        bad_kept_bytes=change.bad.kept,
        good_allocations=change.good.objects,
        bad_allocations=change.bad.objects,
        good_allocated_bytes=change.good.allocated,
        bad_allocated_bytes=change.bad.allocated,
        good_touched_bytes=change.good.touched,
        bad_touched_bytes=change.bad.touched,
        reason=change.reason.name.lower().replace("_", "-"),
        sigma=named.account.sigma,
        allocated_in=excess.contexts.name(named.account.node),
        code="changed" if changed else "unknown",
        values=tuple(values),
        freed_in=None if stopped is None else excess.contexts.name(stopped.freeing),
        good_freed=None if stopped is None else stopped.good,
        bad_freed=None if stopped is None else stopped.bad,
        no_longer_called=None if calls is None else calls.callee,
        good_calls=None if calls is None else calls.good,
        bad_calls=None if calls is None else calls.bad,
    )


def _where(excess: MemoryExcess, named: _Named) -> tuple[Place, tuple[HotLine, ...]]:
    """The line of the function through which most of the memory is allocated; of who no longer frees, freed."""
    contexts, index = excess.contexts, excess.index
    side = contexts.good if named.frees else contexts.bad
    spent: defaultdict[tuple[str, int], float] = defaultdict(float)
    for one in side:
        inside = np.isin(one.node, named.account.nodes)
        stacks, weights = _stacks(excess, one, inside, frees=named.frees)
        files = one.run.frames.column("file")
        for stack, weight in zip(stacks.tolist(), weights.tolist(), strict=True):
            frame = index.innermost_frame(one.run, stack, named.function)
            if frame is not None and one.run.frame_line[frame]:
                shift = _shift(excess, one, named.function)
                spent[str(files[frame].as_py()), one.run.frame_line[frame] + shift] += weight
    function = index.functions[named.function]
    if not spent:
        known = (index.declared_line[run].get(named.function, 0) for run in index.bad)
        return Place(function.file, next((line for line in known if line), 0)), ()
    file, line = max(spent, key=lambda spot: (spent[spot], -spot[1]))
    total = sum(spent.values())
    shares = {at: weight / total for (name, at), weight in spent.items() if name == file}
    return Place(file, line), lines_around(index.bad, file, line, shares)


def _stacks(excess: MemoryExcess, one: PlacedHoldings, inside: Booleans, *, frees: bool) -> tuple[Any, Any]:
    stack = one.held.freed_stack if frees else one.held.stack
    weight = one.held.weight if frees else excess.amount(one)
    rows = np.flatnonzero(inside & (stack >= 0) & (weight > 0))
    distinct, where = np.unique(stack[rows], return_inverse=True)
    return distinct, np.bincount(where, weight[rows], len(distinct))


def _shift(excess: MemoryExcess, one: PlacedHoldings, function: int) -> int:
    """Lines are those of the bad build."""
    here = excess.index.declared_line[one.run].get(function, 0)
    shown = next((line for bad in excess.index.bad if (line := excess.index.declared_line[bad].get(function, 0))), 0)
    return shown - here if here and shown else 0
