"""Code without a name is described by its nearest neighbour on the stack that has one."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np

from whyperf.diagnose.verdict import Evidence, Suspect
from whyperf.engines.context_tree import ROOT
from whyperf.engines.excess.compare import Excess
from whyperf.recording.names.identity import is_named_by_address

_IT = "It "


def described(suspect: Suspect, excess: Excess | None) -> Suspect:
    if not is_named_by_address(suspect.function):
        return suspect
    neighbour = _caller(suspect, excess) or _callee(suspect, excess)
    if not neighbour:
        return suspect
    who = f"Unnamed code of {suspect.module}, {neighbour}"
    is_it = suspect.why.startswith(_IT)
    why = f"{who}, {suspect.why.removeprefix(_IT)}" if is_it else f"{who}. {suspect.why}"
    return replace(suspect, why=why, evidence=retold(suspect, why))


def retold(suspect: Suspect, why: str) -> tuple[Evidence, ...]:
    """Its evidence, in which what the suspect's own sentence said is said as it is now."""
    return tuple(replace(one, why=why) if one.why == suspect.why else one for one in suspect.evidence)


def _caller(suspect: Suspect, excess: Excess | None) -> str:
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


def _callee(suspect: Suspect, excess: Excess | None) -> str:
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
