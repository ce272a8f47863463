"""Suspects the user can look into: what is no code of theirs is named by where their own code meets it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from whyperf.diagnose.joining.join import Joined
from whyperf.diagnose.joining.waiting_callers import Caller, caller_by_samples, caller_in_ladder
from whyperf.diagnose.verdict import Evidence, Suspect
from whyperf.engines.context_tree import ROOT
from whyperf.engines.excess.compare import Excess
from whyperf.engines.run import Run
from whyperf.recording.names.identity import is_named_by_address

_IT = "It "


def lifted(joined: Joined, bad: Sequence[Run], excess: Excess | None) -> Joined:
    """In the same order; those that come to the same function are one."""
    found: dict[tuple[str, str], Suspect] = {}
    for suspect in joined.suspects:
        caller = _caller(suspect, bad)
        named = described(suspect, excess) if caller is None else _named(suspect, caller)
        key = named.function, named.module
        found[key] = _merged(found[key], named, caller) if key in found else named
    suspects = (replace(one, rank=rank) for rank, one in enumerate(found.values(), 1))
    return replace(joined, suspects=tuple(suspects))


def _caller(suspect: Suspect, bad: Sequence[Run]) -> Caller | None:
    caller = next((one for evidence in suspect.evidence if (one := caller_in_ladder(evidence.detail))), None)
    return caller_by_samples(suspect, bad) if caller is None and suspect.line <= 0 else caller


def _named(suspect: Suspect, caller: Caller) -> Suspect:
    told = _of_the_program(suspect)
    return replace(
        suspect,
        function=caller.function,
        module=caller.module,
        file=caller.file,
        line=caller.line,
        block=-1,
        path=caller.path,
        why=f"{_waits(caller)} {told}",
        evidence=retold(suspect, told),
        lines=(),
        decided_by=0,
        change=None,
    )


def _waits(caller: Caller) -> str:
    return f"It waits for {caller.program}, which {caller.does}."


def _of_the_program(suspect: Suspect) -> str:
    """What was said of code in the program that is waited for."""
    return f"{suspect.module} {suspect.why.removeprefix(_IT)}" if suspect.why.startswith(_IT) else suspect.why


def _with_interval(first: Sequence[Evidence], other: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """The interval of what both answer for: at most all of it, as their shares are."""
    one, another = (evidence[0].detail.interval if evidence else None for evidence in (first, other))
    if one is None or another is None:
        return tuple(first)
    interval = min(1.0, one[0] + another[0]), min(1.0, one[1] + another[1])
    return replace(first[0], detail=replace(first[0].detail, interval=interval)), *first[1:]


def _merged(first: Suspect, other: Suspect, caller: Caller | None) -> Suspect:
    """Parts of one cause: their shares add up, and the first keeps its place. `caller`: why the other came to it."""
    why = first.why
    if caller is not None and not why.startswith(_waits(caller)):
        why = f"{_waits(caller)} {why}"
    engines = {evidence.engine for evidence in first.evidence}
    more = tuple(evidence for evidence in other.evidence if evidence.engine not in engines)
    lines = first if first.lines else other
    return replace(
        first,
        why=why,
        share=min(1.0, first.share + other.share),
        evidence=(*_with_interval(first.evidence, other.evidence), *more),
        lines=lines.lines,
        decided_by=lines.decided_by,
        variables=first.variables or other.variables,
    )


def described(suspect: Suspect, excess: Excess | None) -> Suspect:
    """Code without a name is described by its nearest neighbour on the stack that has one."""
    if not is_named_by_address(suspect.function):
        return suspect
    neighbour = _named_caller(suspect, excess) or _named_callee(suspect, excess)
    if not neighbour:
        return suspect
    who = f"Unnamed code of {suspect.module}, {neighbour}"
    is_it = suspect.why.startswith(_IT)
    why = f"{who}, {suspect.why.removeprefix(_IT)}" if is_it else f"{who}. {suspect.why}"
    return replace(suspect, why=why, evidence=retold(suspect, why))


def retold(suspect: Suspect, why: str) -> tuple[Evidence, ...]:
    """Its evidence, in which what the suspect's own sentence said is said as it is now."""
    return tuple(replace(one, why=why) if one.why == suspect.why else one for one in suspect.evidence)


def _named_caller(suspect: Suspect, excess: Excess | None) -> str:
    """The nearest named function above it, on the stacks that cost most in the bad runs."""
    if excess is None:
        named = [name for name in suspect.path[:-1] if not is_named_by_address(name)]
        return f"called by {named[-1]}" if named else ""
    tree, costs = excess.full.tree, excess.full.tree.inclusive(excess.full.bad.mean)
    seconds: dict[int, float] = defaultdict(float)
    for node in _nodes(suspect, excess):
        above = int(tree.parent[node])
        while above != ROOT and is_named_by_address(excess.name(int(tree.function[above]))):
            above = int(tree.parent[above])
        if above != ROOT:
            seconds[int(tree.function[above])] += float(costs[node])
    return f"called by {excess.name(max(seconds, key=lambda one: seconds[one]))}" if seconds else ""


def _named_callee(suspect: Suspect, excess: Excess | None) -> str:
    """The named function below it in which most of its time lies."""
    if excess is None:
        return ""
    tree, costs = excess.full.tree, excess.full.tree.inclusive(excess.full.bad.mean)
    nodes = _nodes(suspect, excess)
    below = [node for node in range(1, len(tree)) if int(tree.parent[node]) in nodes and tree.function[node] >= 0]
    named = [node for node in below if not is_named_by_address(excess.name(int(tree.function[node])))]
    if not named:
        return ""
    return f"which calls {excess.name(int(tree.function[max(named, key=lambda node: float(costs[node]))]))}"


def _nodes(suspect: Suspect, excess: Excess) -> set[int]:
    keys = [function.key for function in excess.index.functions]
    wanted = [at for at, key in enumerate(keys) if (key.name, key.module) == (suspect.function, suspect.module)]
    return set(np.flatnonzero(np.isin(excess.full.tree.function, wanted)).tolist())
