"""Function latencies inferred from the continuity of contexts, thread by thread; and what threads waited for.

One run's events are read a piece at a time and walked through once; nothing is kept per event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from whyperf.engines.contexts import event_pass
from whyperf.engines.contexts.event_pass import Events, InferenceState
from whyperf.engines.contexts.indexing import Tree
from whyperf.engines.contexts.records import (
    INSTANCE,
    REGISTER,
    SAMPLE,
    THREAD,
    WAIT,
    Flags,
    Floats,
    Ints,
    Records,
)
from whyperf.engines.contexts.settings import Sources
from whyperf.engines.contexts.totals import InstanceTotals
from whyperf.engines.recording_protocol import has_events, rows_of
from whyperf.engines.run import Run
from whyperf.recording.schemas.events import EventKind
from whyperf.recording.sealed.row_groups import Columns

_INSTANCES_AT_ONCE = 1 << 18
_REGISTERS = 256  # threads with open contexts at first; doubled as needed
_WAITS_AT_THE_END = 4096
_CALL_NUMBERS = 1024
_COLUMNS = (
    "time", "thread", "kind", "context", "detail", "other", "object", "peer", "argument0", "argument1", "result",
    "stack", "cut",
)  # fmt: skip

TakeInstances = Callable[[Records], None]


@dataclass(frozen=True, eq=False)
class Calls:
    """Ends of system calls with a known stack, by node and number."""

    node: Ints
    number: Ints
    count: Ints


@dataclass(frozen=True, eq=False)
class FollowedRun:
    """One run's events in terms of contexts."""

    waits: Records  # WAIT
    samples: Records  # SAMPLE
    calls: Calls
    totals: InstanceTotals
    running: Floats  # nanoseconds on the CPU by node, told conservatively from the stacks before and after alone


def follow(
    run: Run,
    tree: Tree,
    node_of_stack: Ints,
    *,
    sources: Sources = Sources.ALL,
    of: Flags | None = None,
    take: TakeInstances | None = None,
) -> FollowedRun:
    """Instances are inferred `of` these threads, or of all.

    `take` is given them in portions, if it is there at all; the array is used again.
    """
    walk = _Walk(run, tree, sources, take)
    if of is not None:
        walk.pass_over(~of)
    gathered = _Gathered()
    for piece in _pieces(run):
        events, weight = _events(piece, node_of_stack)
        walk.through(events)
        gathered.add(events, weight)
    walk.end()
    return FollowedRun(
        np.concatenate([np.zeros(0, WAIT), *walk.waits]),
        np.concatenate(gathered.samples),
        gathered.calls(),
        walk.totals,
        walk.running,
    )


class _Walk:
    def __init__(self, run: Run, tree: Tree, sources: Sources, take: TakeInstances | None) -> None:
        self._take, self._sources = take, int(sources)
        self._end = run.manifest.window.end
        self.waits: list[Records] = []
        self._state = _fresh_state(tree, run.recording.table("threads").num_rows, keep=take is not None)

    def pass_over(self, threads: Flags) -> None:
        self._state.threads["passed_over"] = threads

    @property
    def totals(self) -> InstanceTotals:
        return InstanceTotals(*self._state.totals.T)

    @property
    def running(self) -> Floats:
        return self._state.running

    def through(self, events: Events) -> None:
        switches = int(np.count_nonzero(events.kind == EventKind.SWITCH))
        self._state = self._state._replace(waits=np.zeros(switches + 1, WAIT))
        self._state.threads["unplaced"] = -1
        begin, why = 0, event_pass.REGISTERS_FULL
        while why != event_pass.DONE:
            begin, why = event_pass.follow(self._state, events, begin, self._sources)
            self._give_instances()
            if why == event_pass.REGISTERS_FULL:
                self._state = _with_more_registers(self._state)
        self._keep_waits()

    def end(self) -> None:
        self._state = self._state._replace(waits=np.zeros(_WAITS_AT_THE_END, WAIT))
        begin = 0
        while begin < len(self._state.threads):
            begin = event_pass.finish(self._state, begin, self._end)
            self._give_instances()
            self._keep_waits()

    def _give_instances(self) -> None:
        if self._take is not None and self._state.written[0]:
            self._take(self._state.instances[: self._state.written[0]])
        self._state.written[0] = 0

    def _keep_waits(self) -> None:
        self.waits.append(self._state.waits[: self._state.written[1]].copy())
        self._state.written[1] = 0


class _Gathered:
    """What needs no state."""

    def __init__(self) -> None:
        self.samples: list[Records] = [np.zeros(0, SAMPLE)]
        self._calls: list[tuple[Ints, Ints]] = []

    def add(self, events: Events, weight: Ints) -> None:
        known = events.node > 0
        sampled = (events.kind == EventKind.SAMPLE) & (events.thread >= 0)
        samples = np.zeros(int(np.count_nonzero(sampled)), SAMPLE)
        samples["time"], samples["weight"] = events.time[sampled], weight[sampled]
        for name in ("thread", "node", "stack"):
            samples[name] = getattr(events, name)[sampled]
        self.samples.append(samples)
        called = (events.kind == EventKind.SYSCALL) & known & (events.detail >= 0) & (events.detail < _CALL_NUMBERS)
        key = events.node[called].astype(np.int64) * _CALL_NUMBERS + events.detail[called]
        self._calls.append(np.unique(key, return_counts=True))

    def calls(self) -> Calls:
        if not self._calls:
            return Calls(*(np.zeros(0, np.int64) for _ in range(3)))
        keys, where = np.unique(np.concatenate([key for key, _ in self._calls]), return_inverse=True)
        counts = np.bincount(where, weights=np.concatenate([count for _, count in self._calls]), minlength=len(keys))
        return Calls(keys // _CALL_NUMBERS, keys % _CALL_NUMBERS, counts.astype(np.int64))


def _pieces(run: Run) -> Iterator[Columns]:
    """The events within the window."""
    if not has_events(run.recording):
        return
    window = run.manifest.window
    for piece in rows_of(run.recording, "events").pieces(_COLUMNS):
        begin, end = np.searchsorted(piece["time"], [window.start, window.end + 1])
        yield {name: values[begin:end] for name, values in piece.items()}


def _events(piece: Columns, node_of_stack: Ints) -> tuple[Events, Ints]:
    node = np.append(node_of_stack, -1).astype(np.int32)[piece["stack"]]  # -1 is the last
    fields = {name: piece[name] for name in Events._fields if name not in ("node", "whole")}
    return Events(**fields, node=node, whole=piece["cut"] == 0), piece["argument0"].astype(np.int64)


def _fresh_state(tree: Tree, threads: int, *, keep: bool) -> InferenceState:
    deepest = int(tree.depth.max(initial=0)) + 1
    known = np.zeros(threads, THREAD)
    known["node"] = known["register"] = -1
    return InferenceState(
        parent=tree.parent,
        depth=tree.depth,
        threads=known,
        under_way=np.zeros(threads, WAIT),
        registers=np.zeros((_REGISTERS, deepest), REGISTER),
        free=np.arange(_REGISTERS, dtype=np.int32),
        free_count=np.array([_REGISTERS], np.int64),
        instances=np.zeros(max(_INSTANCES_AT_ONCE, 4 * deepest) if keep else 0, INSTANCE),
        waits=np.zeros(0, WAIT),
        written=np.zeros(2, np.int64),
        totals=np.zeros((len(tree.parent), 3)),
        running=np.zeros(len(tree.parent)),
    )


def _with_more_registers(state: InferenceState) -> InferenceState:
    rows, deepest = state.registers.shape
    count = int(state.free_count[0])
    registers = np.concatenate([state.registers, np.zeros((rows, deepest), REGISTER)])
    free = np.concatenate([state.free[:count], np.arange(rows, 2 * rows, dtype=np.int32), state.free[count:]])
    return state._replace(registers=registers, free=free, free_count=np.array([count + rows], np.int64))
