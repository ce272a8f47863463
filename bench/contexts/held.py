"""Inferred function instances held against true ones: coverage and errors, as in IntroPerf's Table 3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from bench.contexts.entries import ROOT, Entries
from bench.contexts.latencies import Instances

_SLOWEST = 0.01


@dataclass(frozen=True)
class Accuracy:
    """Of contexts or of instances. Errors are medians, relative to the truth; None where nothing was covered."""

    count: int
    covered: int
    conservative: float | None
    aggressive: float | None
    expected: float | None

    @property
    def coverage(self) -> float:
        return self.covered / self.count if self.count else 0.0


@dataclass(frozen=True)
class Held:
    """By one selection of event sources."""

    contexts: Accuracy  # time accumulated in them
    slowest_contexts: Accuracy  # in which most time accumulated
    slowest_calls: Accuracy  # contexts whose calls take longest: the mean of a call
    instances: Accuracy
    slowest_instances: Accuracy
    unmatched: float  # share of the inferred instances in contexts that the program never was in


def held_against(truth: Entries, inferred: Instances, tids: np.ndarray) -> Held:
    """`tids`: by row of `threads`."""
    true_node = _true_nodes(truth, inferred)
    node = true_node[inferred.node]
    logged = np.isin(tids[inferred.thread], np.unique(truth.tid))
    known = logged & (node >= 0)
    wrong = int(np.count_nonzero(logged & (node == _NEVER)))
    group, inferred_group = _groups(truth, tids[inferred.thread][known], node[known])
    order = np.lexsort((truth.start, group))
    inferred_order = np.lexsort((inferred.first[known], inferred_group))
    columns = (inferred.first, inferred.last, inferred.conservative, inferred.aggressive, inferred.expected)
    first, last, *estimates = (column[known][inferred_order] for column in columns)
    match = np.full(truth.node.size, -1, np.int64)
    match[order] = _matches(
        _Spans(group[order], truth.start[order], truth.end[order]), _Spans(inferred_group[inferred_order], first, last)
    )
    rows = np.arange(truth.node.size)
    slow = rows[truth.latency >= np.quantile(truth.latency, 1 - _SLOWEST)]
    in_order = [np.asarray(estimate, float) for estimate in estimates]
    true, seen = _of_contexts(truth.node, truth.latency, truth.contexts), np.unique(node[known])
    contexts = [_of_contexts(node[known][inferred_order], estimate, truth.contexts) for estimate in in_order]
    totals, means = [one.total for one in contexts], [one.mean for one in contexts]
    present = np.flatnonzero(true.total > 0)
    return Held(
        _accuracy_of_contexts(present, true.total, totals, seen),
        _accuracy_of_contexts(_slowest(present, true.total), true.total, totals, seen),
        _accuracy_of_contexts(_slowest(present, true.mean), true.mean, means, seen),
        _accuracy_of_instances(rows, truth.latency, match, in_order),
        _accuracy_of_instances(slow, truth.latency, match, in_order),
        wrong / max(1, int(np.count_nonzero(logged & (node != _OUTSIDE)))),
    )


_OUTSIDE, _NEVER = -1, -2  # of logged functions; where the truth has no such path


def _true_nodes(truth: Entries, inferred: Instances) -> np.ndarray:
    """The true context of every inferred one: functions that are not logged are passed over."""
    functions = inferred.contexts.index.functions
    number = {name: place for place, name in enumerate(truth.names)}
    keys = [number.get((function.key.module, function.key.name), -1) for function in functions]
    parent, function = inferred.contexts.tree.parent, inferred.contexts.function
    result = np.full(len(inferred.contexts), _OUTSIDE, np.int64)
    last = np.full(len(inferred.contexts), -1, np.int64)  # logged function, to fold direct recursion
    for node in range(1, len(result)):
        above, logged = int(parent[node]), keys[int(function[node])]
        result[node], last[node] = result[above], last[above]
        if logged >= 0 and logged != last[above]:
            start = ROOT if result[above] == _OUTSIDE else int(result[above])
            result[node] = _NEVER if start == _NEVER else truth.child.get((start, logged), _NEVER)
            last[node] = logged
        elif logged < 0 and result[above] != _NEVER:
            result[node] = result[above]
    return _own_instances(result, keys, function)


def _own_instances(true_node: np.ndarray, keys: list[int], function: np.ndarray) -> np.ndarray:
    """A library function below a logged one is no instance of that."""
    logged = np.array([place >= 0 and keys[place] >= 0 for place in function.tolist()])
    return np.where(logged | (true_node == _NEVER), true_node, _OUTSIDE)


def _groups(truth: Entries, tid: np.ndarray, node: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A number for thread and context together, the same on both sides."""
    return truth.tid * truth.contexts + truth.node, tid * truth.contexts + node


class _Spans(NamedTuple):
    """Sorted by group, thread and context together, and time."""

    group: np.ndarray
    first: np.ndarray
    last: np.ndarray


@njit(cache=True)
def _matches(true, inferred):  # type: ignore[no-untyped-def]
    """For each true instance the inferred one that has an event in it and overlaps it most; -1: none.

    Instances of one context in one thread never overlap, so that one walk along both suffices.
    """
    match = np.full(true.group.size, -1, np.int64)
    place = 0
    for row in range(true.group.size):
        group, start, end = true.group[row], true.first[row], true.last[row]
        while place < inferred.group.size and (
            inferred.group[place] < group or (inferred.group[place] == group and inferred.last[place] < start)
        ):
            place += 1
        most, at = -1, place
        while at < inferred.group.size and inferred.group[at] == group and inferred.first[at] <= end:
            first, last = inferred.first[at], inferred.last[at]
            overlap = min(end, last) - max(start, first)
            if (start <= first or last <= end) and overlap > most:  # its first or its last event
                most, match[row] = overlap, at
            at += 1
    return match


@dataclass(frozen=True, eq=False)
class _Latencies:
    """By context."""

    total: np.ndarray
    mean: np.ndarray


def _of_contexts(node: np.ndarray, latency: np.ndarray, contexts: int) -> _Latencies:
    total = np.bincount(node, weights=latency, minlength=contexts)
    return _Latencies(total, total / np.maximum(np.bincount(node, minlength=contexts), 1))


def _slowest(contexts: np.ndarray, latency: np.ndarray) -> np.ndarray:
    slowest: np.ndarray = contexts[np.argsort(-latency[contexts])][: max(1, round(_SLOWEST * contexts.size))]
    return slowest


def _accuracy_of_contexts(
    chosen: np.ndarray, true: np.ndarray, estimates: list[np.ndarray], seen: np.ndarray
) -> Accuracy:
    covered = chosen[np.isin(chosen, seen)]
    return Accuracy(len(chosen), len(covered), *(_median_error(one[covered], true[covered]) for one in estimates))


def _accuracy_of_instances(
    chosen: np.ndarray, latency: np.ndarray, match: np.ndarray, estimates: list[np.ndarray]
) -> Accuracy:
    covered = chosen[match[chosen] >= 0]
    errors = (_median_error(one[match[covered]], latency[covered]) for one in estimates)
    return Accuracy(len(chosen), len(covered), *errors)


def _median_error(estimate: np.ndarray, true: np.ndarray) -> float | None:
    if not len(true):
        return None
    return float(np.median(np.abs(estimate - true) / np.maximum(true, 1)))
