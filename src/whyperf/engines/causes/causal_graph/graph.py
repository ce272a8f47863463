"""One recording's annotated graph: waits, segments and what brought about what."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from whyperf.engines.arrays import Bools, Int32s, Ints
from whyperf.engines.causes.causal_graph.edges import Edges, Wakes, build_edges, classify_wakes
from whyperf.engines.causes.causal_graph.loops import Site, asks, at_loop_sites, looks_passive, loop_sites
from whyperf.engines.causes.causal_graph.messages import Channels, Messages, channels, match_messages
from whyperf.engines.causes.causal_graph.segments import Segments, cut_segments
from whyperf.engines.causes.causal_graph.shed_intervals import without_gaps
from whyperf.engines.causes.causal_graph.stacks import Frame
from whyperf.engines.causes.causal_graph.symbols import CausesSymbols
from whyperf.engines.causes.causal_graph.tasks import Tasks, find_tasks
from whyperf.engines.causes.causal_graph.trace import EventThread, EventTrace
from whyperf.engines.causes.causal_graph.waits import NEVER, Sleeps, ThreadWaits, find_waits
from whyperf.engines.causes.settings import CausesPaperSettings, CausesSettings
from whyperf.engines.kernel.rules import CallRule, load_rules
from whyperf.engines.recording_protocol import Recorded


@dataclass(frozen=True)
class Wait:
    """One row of `ThreadWaits`, to look at."""

    number: int
    thread: int
    begin: int
    end: int  # when it was woken; the recording's end if it never was
    resumed: int
    over: bool  # whether it ended within the recording
    call: int
    node: int
    sleeps: int


class Graph:
    """Parts are worked out when first asked for."""

    def __init__(self, recording: Recorded, settings: CausesSettings) -> None:
        self.settings = settings
        self.rules = load_rules()
        self.trace = EventTrace(recording, self.rules)
        self.call_bits: Ints = self.rules.call_bits

    @cached_property
    def _waits(self) -> tuple[ThreadWaits, Sleeps]:
        trace = self.trace
        return find_waits(trace.events, self.call_bits, trace.pids, trace.of_kernel, self.settings.poll_gap_ns)

    @property
    def waits(self) -> ThreadWaits:
        return self._waits[0]

    @cached_property
    def segments(self) -> Segments:
        begins = self.tasks.begins
        cut = cut_segments(
            self.trace.events, self.waits, self._waits[1], self.call_bits, begins, len(self.trace.threads)
        )
        return replace(cut, turn=cut.turn & self._begins_turn(cut))

    @cached_property
    def tasks(self) -> Tasks:
        return find_tasks(self.trace.events, self.trace.pids)

    def _begins_turn(self, cut: Segments) -> Bools:
        """By segment: whether its first event is at its thread's loop site, or a task's beginning; a request's
        multiplexers begin no turn."""
        loop = np.full(len(self.trace.threads) + 1, -2, np.int64)
        for thread, (_, node) in self.loops.items():
            loop[thread] = node
        first = np.minimum(cut.event_start[:-1], max(len(cut.events) - 1, 0))
        if not len(cut.events):
            return np.zeros(len(cut), np.bool_)
        rows = cut.events[first]
        begins: Bools = (self.trace.events.site[rows] == loop[cut.thread]) | self.tasks.begins[rows]
        return begins

    @cached_property
    def wakes(self) -> Wakes:
        return classify_wakes(self.trace, self.waits)

    @cached_property
    def loops(self) -> dict[int, Site]:
        return loop_sites(self.trace, self.waits, self.passive, self.settings)

    @cached_property
    def passive(self) -> Bools:
        """By wait: whether it looks like waiting for work."""
        return looks_passive(self.trace, self.waits, self.asks, self.tasks)

    @cached_property
    def in_loop(self) -> Bools:
        """By wait: whether it is at its thread's loop site."""
        return at_loop_sites(self.trace, self.waits, self.loops)

    @cached_property
    def idle(self) -> Bools:
        """By wait: whether the thread had nothing to do: in its loop, or waiting for work until all of it ended.

        A library's background thread (jemalloc's) idles in several places and is waited for by nobody.
        """
        found: Bools = self.in_loop | (self.passive & (self.cut_by_exit | (self.waits.woken == NEVER)))
        return found

    @cached_property
    def cut_by_exit(self) -> Bools:
        """By wait: whether its own process ended without it, so that nothing depended on it."""
        exits = np.array([rule.name == "exit" for rule in self.rules.wakes] + [False], np.bool_)
        pids = np.append(self.trace.pids, np.int32(-1))
        waits, events = self.waits, self.trace.events
        found: Bools = exits[self.wakes.rule] & (pids[events.thread[waits.wake]] == pids[waits.thread])
        return found

    @cached_property
    def asks(self) -> Bools:
        """By wait: whether it is for somebody whom the thread had spoken to first."""
        return asks(self.trace, self.waits, self.messages)

    @cached_property
    def channels(self) -> Channels:
        return channels(self.trace)

    @cached_property
    def messages(self) -> Messages:
        return match_messages(self.trace, without_gaps(self.trace, self.channels), self.settings.late_send_ns)

    @cached_property
    def symbols(self) -> CausesSymbols:
        return CausesSymbols(self.trace, self.segments)

    @cached_property
    def edges(self) -> Edges:
        rare = CausesPaperSettings().rare_symbols
        return build_edges(
            trace=self.trace,
            waits=self.waits,
            segments=self.segments,
            wakes=self.wakes,
            loops=self.in_loop,
            messages=self.messages,
            tasks=self.tasks,
            symbols=self.symbols,
            rare=rare,
        )

    @cached_property
    def ends(self) -> Ints:
        """By wait when it was over: woken, or the end of the recording."""
        found: Ints = np.where(self.waits.woken == NEVER, self.trace.end, self.waits.woken)
        return found

    @cached_property
    def wait_rows(self) -> Ints:
        """Thread t has waits wait_rows[t] .. wait_rows[t + 1]."""
        return np.searchsorted(self.waits.thread, np.arange(len(self.trace.threads) + 1))

    @cached_property
    def ready(self) -> Ints:
        """By segment when it could have begun, had there been a CPU."""
        before = self.segments.before
        woken = np.append(self.waits.woken, NEVER)[before]
        found: Ints = np.where((before >= 0) & (woken != NEVER), woken, self.segments.begin)
        return found

    def waits_of(self, thread: int) -> range:
        if not 0 <= thread < len(self.wait_rows) - 1:
            return range(0)
        return range(int(self.wait_rows[thread]), int(self.wait_rows[thread + 1]))

    def wait(self, number: int) -> Wait:
        waits, first = self.waits, int(self.waits.first[number])
        resumed = int(waits.resumed[number])
        return Wait(
            number,
            int(waits.thread[number]),
            int(waits.begin[number]),
            int(self.ends[number]),
            self.trace.end if resumed == NEVER else resumed,
            waits.woken[number] != NEVER,
            int(self.trace.events.call[first]),
            int(self.trace.events.site[first]),
            int(waits.sleeps[number]),
        )

    def thread(self, number: int) -> EventThread:
        return self.trace.threads[number]

    def main_thread(self, pid: int) -> int | None:
        number = self.trace.thread_of_tid.get(pid) if pid else None
        return number if number is not None and self.thread(number).main else None

    def does(self, call: int, what: CallRule) -> bool:
        return 0 <= call < len(self.call_bits) and bool(self.call_bits[call] & what)

    def stack(self, node: int) -> tuple[Frame, ...]:
        return self.trace.stacks.frames(node)

    @cached_property
    def followers(self) -> Int32s:
        """By wait the segment that came after it; -1: none did."""
        found = np.full(len(self.waits), -1, np.int32)
        followed = self.segments.before >= 0
        found[self.segments.before[followed]] = np.flatnonzero(followed)
        return found
