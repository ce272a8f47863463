"""Where threads begin: everything that a thread does is done below, so that it lies there says nothing."""

from __future__ import annotations

import numpy as np

from whyperf.engines.excess.tree import ROOT, ContextTree
from whyperf.engines.functions import FunctionIndex
from whyperf.engines.run import Run, column

_ENTRY_POINTS = frozenset({"main", "_start", "start_thread", "clone", "clone3", "__libc_start_main"})


def find_entries(index: FunctionIndex, tree: ContextTree) -> frozenset[int]:
    """Functions in which the program's own code begins, by their names or because threads begin there and nowhere are
    they called."""
    named = {number for number, function in enumerate(index.functions) if function.key.name in _ENTRY_POINTS}
    called = set(tree.function[tree.parent > ROOT].tolist())
    started: set[int] = set()
    for run in (*index.good, *index.bad):
        started |= _started(index, run)
    return frozenset(named | (started - called))


def _started(index: FunctionIndex, run: Run) -> set[int]:
    """The outermost functions of the program's own on stacks of threads that it started. A library's code is around
    them where the stack is whole: what starts a thread."""
    samples, threads = run.recording.table("samples"), run.recording.table("threads")
    pids = column(run.recording.table("processes"), "pid")
    of_thread = column(threads, "process")
    if not len(of_thread) or not len(pids):
        return set()
    first = column(threads, "tid") == pids[of_thread]
    stacks = np.unique(column(samples, "stack")[~first[column(samples, "thread")]])
    found: dict[int, int] = {}  # by stack: the outermost function of the program's own, -1 where there is none
    return {_outermost(index, run, stack, found) for stack in stacks.tolist()} - {-1}


def _outermost(index: FunctionIndex, run: Run, stack: int, found: dict[int, int]) -> int:
    path = []
    while stack >= 0 and stack not in found:
        path.append(stack)
        stack = run.stack_parent[stack]
    own, of_frame = index.own, index.of_frame[run]
    for at in reversed(path):
        known = found.get(run.stack_parent[at], -1)
        if known < 0 and run.stack_parent[at] >= 0:
            chain = (of_frame[frame] for frame in run.frame_chain[run.stack_frame[at]])
            known = next((function for function in chain if own[function]), -1)
        found[at] = known
    return found[path[0]] if path else found.get(stack, -1)
