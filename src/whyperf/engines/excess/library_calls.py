"""Which library function the program's own code called, rather than in which of its internals the time was seen."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from whyperf.engines.context_tree import ROOT
from whyperf.engines.excess.compare import Excess
from whyperf.recording.names.hash_tables import hash_of, walks_bucket


@dataclass(frozen=True)
class LibraryCall:
    function: int
    share: float  # of what the caller answers for
    hash: str  # the program's own function that decides about buckets, where most of the time goes into walking them


def library_calls(excess: Excess, function: int) -> list[LibraryCall]:
    """Of what `function` answers for: by the outermost library function below code of the program's own, most first."""
    entry, hashes = _entries(excess)
    gained: dict[int, float] = defaultdict(float)
    walked: dict[tuple[int, str], float] = defaultdict(float)
    total = 0.0
    for leaf, seconds in _gained_at(excess, function).items():
        total += max(0.0, seconds)
        if entry[leaf] >= 0:
            gained[entry[leaf]] += seconds
            if hashes[leaf]:
                walked[entry[leaf], hashes[leaf]] += seconds
    order = sorted((one for one in gained if gained[one] > 0), key=lambda one: -gained[one])
    return [LibraryCall(one, gained[one] / total, _mostly(walked, one, gained[one])) for one in order]


def _mostly(walked: dict[tuple[int, str], float], function: int, whole: float) -> str:
    parts = {name: seconds for (called, name), seconds in walked.items() if called == function}
    most = max(parts, key=lambda name: parts[name], default="")
    return most if most and 2 * parts[most] > whole else ""


def _entries(excess: Excess) -> tuple[list[int], list[str]]:
    """By node of the full view: the outermost library function that it is in, -1 in the program's own code; and the
    hash of the table whose buckets are walked there."""
    tree, own = excess.full.tree, excess.index.own
    entry, hashes = [-1] * len(tree), [""] * len(tree)
    for node, (parent, function) in enumerate(zip(tree.parent.tolist(), tree.function.tolist(), strict=True)):
        if node == ROOT or function < 0:
            continue
        name = excess.name(function)
        hashes[node] = hashes[parent] or (hash_of(name) if walks_bucket(name) else "")
        if not own[function]:
            entry[node] = function if parent == ROOT or entry[parent] < 0 else entry[parent]
        elif hashes[node]:
            entry[node] = entry[parent]  # how keys are compared is the program's own code, called back
    return entry, hashes


def _gained_at(excess: Excess, function: int) -> dict[int, float]:
    """By node of the full view, the excess that `function` answers for."""
    nodes, _, parts = excess.charges.to(function)
    part = np.zeros(len(excess.costs.tree))
    np.add.at(part, nodes, parts)
    gained: dict[int, float] = defaultdict(float)
    for folded, full, sign in ((excess.costs.bad, excess.full.bad, 1.0), (excess.costs.good, excess.full.good, -1.0)):
        for run, node, leaf in zip(folded.runs, folded.nodes, full.nodes, strict=True):
            weights = sign / len(folded.runs) * part[node] * run.time(excess.clock).seconds / excess.units[run]
            for at, seconds in zip(leaf.tolist(), weights.tolist(), strict=True):
                gained[at] += seconds
    return gained
