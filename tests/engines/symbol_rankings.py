"""What other profilers would say of the same recordings: the yardstick for our own ranking.

Like perf, all of these count by symbol: inlined code belongs to the function it was inlined into, and a library's
function is a function like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from whyperf.engines.contexts.indexing import index_contexts
from whyperf.engines.contexts.inference import follow
from whyperf.engines.contexts.layers import layers_of
from whyperf.engines.contexts.responsible_functions import user_nodes
from whyperf.engines.functions import FunctionIndex
from whyperf.engines.run import Floats, Run, sums
from whyperf.recording.names.identity import FunctionKey
from whyperf.recording.schemas.tables import Clock


@dataclass(frozen=True)
class Ranked:
    function: FunctionKey
    value: float


def by_self_share(good: Sequence[Run], bad: Sequence[Run]) -> list[Ranked]:
    """`perf report --no-children` of the bad runs."""
    index = FunctionIndex(good, bad)
    return _ranking(index, _mean_shares(index, bad, _self))


def by_inclusive_share(good: Sequence[Run], bad: Sequence[Run]) -> list[Ranked]:
    """`perf report --children` of the bad runs."""
    index = FunctionIndex(good, bad)
    return _ranking(index, _mean_shares(index, bad, _inclusive))


def by_share_difference(good: Sequence[Run], bad: Sequence[Run]) -> list[Ranked]:
    """`perf diff`: a function's share of its run, bad minus good."""
    index = FunctionIndex(good, bad)
    return _ranking(index, _mean_shares(index, bad, _self) - _mean_shares(index, good, _self))


def by_off_cpu_time(good: Sequence[Run], bad: Sequence[Run]) -> list[Ranked]:
    """The longest off-CPU stacks of the bad runs, whoever waits and whatever for: their innermost user functions."""
    contexts = index_contexts(FunctionIndex(good, bad))
    user = user_nodes(contexts, layers_of(contexts.index))
    seconds = np.zeros(len(contexts.index.functions))
    for run in bad:
        waits = follow(run, contexts.tree, contexts.node_of_stack[run]).waits
        known = waits["node"] > 0
        functions = contexts.function[user[waits["node"][known]]]
        seconds += sums(functions, (waits["end"] - waits["start"])[known] / 1e9, len(seconds)) / len(bad)
    return _ranking(contexts.index, seconds)


def _ranking(index: FunctionIndex, values: Floats) -> list[Ranked]:
    ranked = [Ranked(function.key, float(value)) for function, value in zip(index.functions, values, strict=True)]
    return sorted((one for one in ranked if one.value > 0), key=lambda one: (-one.value, one.function.name))


def _mean_shares(index: FunctionIndex, runs: Sequence[Run], seconds: Callable[[FunctionIndex, Run], Floats]) -> Floats:
    shares = np.zeros(len(index.functions))
    for run in runs:
        total = run.time(Clock.CPU).total_s
        if total > 0:
            shares += seconds(index, run) / total / len(runs)
    return shares


def _self(index: FunctionIndex, run: Run) -> Floats:
    result = np.zeros(len(index.functions))
    time = run.time(Clock.CPU)
    for stack, seconds in zip(time.stack.tolist(), time.seconds.tolist(), strict=True):
        if stack >= 0:
            result[_symbol(index, run, stack)] += seconds
    return result


def _inclusive(index: FunctionIndex, run: Run) -> Floats:
    result = np.zeros(len(index.functions))
    time = run.time(Clock.CPU)
    for stack, seconds in zip(time.stack.tolist(), time.seconds.tolist(), strict=True):
        on_stack: set[int] = set()
        node = stack
        while node >= 0:
            on_stack.add(_symbol(index, run, node))
            node = run.stack_parent[node]
        for function in on_stack:
            result[function] += seconds
    return result


def _symbol(index: FunctionIndex, run: Run, stack: int) -> int:
    return index.of_frame[run][run.frame_chain[run.stack_frame[stack]][0]]
