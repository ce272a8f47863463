"""What was executed in the zoomed runs of one side, in numbers that both sides share (see `matching`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whyperf.engines.arrays import Int8s, Int32s, Ints
from whyperf.engines.grouping import grouped
from whyperf.engines.relations.executions.tree_passes import depths, nearest_above


@dataclass(frozen=True, eq=False)
class ExecutionTrace:
    """Events are executions of instructions, numbered in the order of time: producers come before what uses them.
    Regions (threads, activations, loops, iterations, arms of branches) form a tree: parents come before children."""

    site: Int32s  # by event
    region: Int32s  # by event: the innermost one
    first_input: Ints  # by event, and one more: where its inputs begin
    producer: Int32s  # by input: the event that made the value; -1 where that was not watched
    through: (
        Int8s  # by input: DependenceKind REGISTER, MEMORY or OLD; what a counter was before is hardly ever followed
    )
    label: Int32s  # by region: its class in the catalogue
    parent: Int32s  # by region; -1 where a thread starts
    opener: Int32s  # by region: the event that decided for it; -1 where none did
    last: Int32s  # by region: the last event within it
    instructions: Ints  # by region: of activations all that were executed until they ended, watched or not
    activation: Int32s  # by region: the function's number if it is an activation, else -1
    updated: Int32s  # events that changed what is watched
    amount: Ints  # by how much
    ends: Int32s  # where each run ended: the innermost region
    runs: int = 1

    @property
    def events(self) -> int:
        return len(self.site)

    @cached_property
    def depth(self) -> Int32s:
        """By region."""
        return depths(self.parent)

    @cached_property
    def caller(self) -> Int32s:
        """By region: the site of the call that led to the activation around it; -1 where it is not known."""
        around = nearest_above(self.parent, self.activation >= 0)
        opener = np.where(around >= 0, self.opener[np.maximum(around, 0)], -1)
        if not self.events:
            return np.full(len(around), -1, np.int32)
        return np.where(opener >= 0, self.site[np.maximum(opener, 0)], -1).astype(np.int32)

    @cached_property
    def children(self) -> tuple[Ints, Int32s]:
        return grouped(self.parent, len(self.parent))

    def by_site(self, sites: int) -> tuple[Ints, Int32s]:
        return grouped(self.site, sites)


def joined(traces: Sequence[ExecutionTrace]) -> ExecutionTrace:
    """Several runs of one side as one trace of as many roots."""
    if len(traces) == 1:
        return traces[0]
    events = np.cumsum([0, *(trace.events for trace in traces)])
    regions = np.cumsum([0, *(len(trace.parent) for trace in traces)])
    inputs = np.cumsum([0, *(len(trace.producer) for trace in traces)])

    def shifted(name: str, by: Ints) -> Int32s:
        parts = [getattr(trace, name) for trace in traces]
        moved = [np.where(part >= 0, part + start, -1) for part, start in zip(parts, by.tolist(), strict=False)]
        return np.concatenate(moved).astype(np.int32)

    def plain(name: str) -> Int32s:
        together: Int32s = np.concatenate([getattr(trace, name) for trace in traces])
        return together

    starts = [trace.first_input[:-1] + start for trace, start in zip(traces, inputs.tolist(), strict=False)]
    return ExecutionTrace(
        site=plain("site"),
        region=shifted("region", regions),
        first_input=np.concatenate([*starts, inputs[-1:]]).astype(np.int64),
        producer=shifted("producer", events),
        through=np.concatenate([trace.through for trace in traces]),
        label=plain("label"),
        parent=shifted("parent", regions),
        opener=shifted("opener", events),
        last=shifted("last", events),
        instructions=np.concatenate([trace.instructions for trace in traces]),
        activation=plain("activation"),
        updated=shifted("updated", events),
        amount=np.concatenate([trace.amount for trace in traces]),
        ends=shifted("ends", regions),
        runs=sum(trace.runs for trace in traces),
    )
