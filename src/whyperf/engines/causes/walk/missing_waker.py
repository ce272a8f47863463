"""Nobody woke it: who should have (rule 6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whyperf.engines.arrays import Int32s, Words
from whyperf.engines.causes.causal_graph.activity import activity
from whyperf.engines.causes.causal_graph.graph import Graph, Wait
from whyperf.engines.causes.causal_graph.handovers import armed_by_others
from whyperf.engines.causes.causal_graph.messages import channel_of
from whyperf.engines.causes.causal_graph.waits import Ended
from whyperf.engines.causes.path import Certainty, Link
from whyperf.engines.causes.roles import ThreadRole, ThreadRoles
from whyperf.engines.kernel.rules import CallRule
from whyperf.recording.names.system_calls import NUMBERS
from whyperf.recording.schemas.events import EventKind

_LOCK_UN = 8
_TID = 0x3FFFFFFF  # of a futex word that names its owner; the upper bits are flags
_OBJECT_TYPES = (1, 0xC)  # pipe, socket


@dataclass(frozen=True)
class Expected:
    """A thread that should have ended a wait, and what says so."""

    thread: int
    link: Link


class Expectations:
    def __init__(self, stalled: ThreadRoles, normals: Sequence[ThreadRoles]) -> None:
        self.roles, self.graph, self.normals = stalled, stalled.graph, normals

    def of(self, wait: Wait) -> Expected | None:
        """The best founded answer: a lock's holder before a channel's other end before who does it as a rule."""
        return next(self._asked(wait), None)

    def _asked(self, wait: Wait) -> Iterator[Expected]:
        for ask in (
            self._mutex_owner,
            self._file_lock_holder,
            self._timer_setter,
            self._live_child,
            self._reader,
            self._sender,
            self.task_runner,
            self._last_partner,
            self._usual_waker,
        ):
            found = ask(wait)
            if found is not None and found.thread != wait.thread:
                yield found

    def _mutex_owner(self, wait: Wait) -> Expected | None:
        """glibc keeps the owner in a mutex' third word: a deadlock of two mutexes has no wake-up to follow."""
        graph = self.graph
        if not graph.does(wait.call, CallRule.FUTEX) or not graph.rules.is_lock(
            graph.trace.stacks.functions(wait.node)
        ):
            return None
        owner = int(graph.trace.events.extra[graph.waits.last[wait.number]]) & 0xFFFFFFFF & _TID
        thread = graph.trace.thread_of_tid.get(owner)
        return _inferred(thread, "mutex", "the mutex names it as its owner")

    def _file_lock_holder(self, wait: Wait) -> Expected | None:
        if not self.graph.does(wait.call, CallRule.LOCK):
            return None
        graph = self.graph
        named = graph.main_thread(int(graph.trace.events.extra[graph.waits.last[wait.number]]) & 0xFFFFFFFF)
        if named is not None:
            return _inferred(named, "file lock", "the kernel names it as the holder of the lock")
        holder = lock_holder(graph, self._object(wait), wait.begin, wait.thread)
        return _inferred(holder, "file lock", "it took the lock on the file last and had not released it")

    def _timer_setter(self, wait: Wait) -> Expected | None:
        """Whoever set the clock that ended it, if that took most of the wait: the rest is what it was set to."""
        graph, events = self.graph, self.graph.trace.events
        if graph.waits.ended[wait.number] != Ended.TIMER or graph.waits.wake[wait.number] < 0:
            return None
        armed, _ = armed_by_others(events, graph.waits.wake[[wait.number]])
        if not len(armed) or int(events.time[armed[0]]) < (wait.begin + wait.end) // 2:
            return None
        link = Link("timer", Certainty.STRONG, "it set, late, the timer that ended the wait")
        return Expected(int(events.thread[armed[0]]), link)

    def task_runner(self, wait: Wait) -> Expected | None:
        """Whoever ran the task that the thread had queued last, if its turn came during the wait, or may have lasted
        into it."""
        graph, events, tasks = self.graph, self.graph.trace.events, self.graph.tasks
        mine = np.flatnonzero((events.thread[tasks.put] == wait.thread) & (events.time[tasks.put] <= wait.begin))
        if not len(mine):
            return None
        last = mine[np.argmax(tasks.put[mine])]
        previous = wait.number - 1
        rested = int(graph.ends[previous]) if previous in graph.waits_of(wait.thread) else graph.trace.start
        put, run = int(events.time[tasks.put[last]]), int(events.time[tasks.run[last]])
        if run > wait.end or (run < wait.begin and put < rested):
            return None
        why = "it ran the task that the waiting thread had queued just before"
        return _inferred(int(events.thread[tasks.run[last]]), graph.trace.queues[tasks.queue[last]].name, why)

    def _live_child(self, wait: Wait) -> Expected | None:
        graph = self.graph
        if not graph.does(wait.call, CallRule.CHILD):
            return None
        events, pid = graph.trace.events, graph.thread(wait.thread).pid
        forks = np.flatnonzero((events.kind == EventKind.FORK) & (events.other >= 0) & (events.time <= wait.end))
        children = [
            int(events.other[row])
            for row in forks
            if events.thread[row] >= 0 and graph.trace.pids[events.thread[row]] == pid
        ]
        alive = [one for one in children if graph.thread(one).main and self._alive_after(one, wait.begin)]
        return _inferred(alive[-1] if alive else None, "child", "it is the child that was waited for")

    def _alive_after(self, thread: int, time: int) -> bool:
        tids = {one for one, other in enumerate(self.graph.trace.threads) if other.tid == self.graph.thread(thread).tid}
        exits = [self.exits[one] for one in tids if one in self.exits]
        return not exits or max(exits) > time

    def _reader(self, wait: Wait) -> Expected | None:
        """A full pipe or socket: whoever reads it."""
        if not self.graph.does(wait.call, CallRule.SEND):
            return None
        found = self._most_common(self._channel(wait, sends=True), sends=False, apart_from=wait.thread)
        return _inferred(found, "full channel", "it reads what was being written")

    def _sender(self, wait: Wait) -> Expected | None:
        """Waiting for data: whoever sends through that channel."""
        found = self._most_common(self._channel(wait, sends=False), sends=True, apart_from=wait.thread)
        return _inferred(found, "channel", "it sends through the channel that was waited on")

    def _last_partner(self, wait: Wait) -> Expected | None:
        """Waiting among many: the other end of what the thread last sent to or received from."""
        graph = self.graph
        if not graph.does(wait.call, CallRule.MULTIPLEX):
            return None
        moved, events = graph.channels, graph.trace.events
        mine = np.flatnonzero((events.thread[moved.rows] == wait.thread) & (events.time[moved.rows] <= wait.begin))
        if not len(mine):
            return None
        last = moved.rows[mine[-1]]
        back = self._channels(events.object[last : last + 1], events.peer[last : last + 1], sends=False)
        found = self._most_common(int(back[0]), sends=True, apart_from=wait.thread)
        return _inferred(found, "connection", "it is the other end of the connection that was used last")

    def _usual_waker(self, wait: Wait) -> Expected | None:
        """Who ends such waits in the normal run, or earlier in this one."""
        signature = self.roles.signatures[self.roles.signature_of[wait.number]]
        role = self.roles.of_thread[wait.thread]
        sources = [(one, "in the good run") for one in self.normals] + [(self.roles, "as a rule")]
        for key in ((role, signature), (None, signature), (None, signature.broad)):
            for roles, where in sources:
                for usual, _ in roles.usual_wakers.get(key, Counter[ThreadRole]()).most_common(2):
                    thread = self._best_of_role(usual, wait)
                    if thread is not None:
                        return _inferred(thread, "usual waker", f"such waits are ended by it {where}")
        return None

    def _best_of_role(self, role: ThreadRole, wait: Wait) -> int | None:
        """Of several threads of the role the one that did one thing for most of the time."""
        threads = [one for one in self.roles.threads_like(role) if one != wait.thread]
        return max(threads, key=lambda one: self._coverage(one, wait), default=None)

    def _coverage(self, thread: int, wait: Wait) -> int:
        did = activity(self.graph, thread, wait.begin, wait.end)
        return max([one.total for one in did.waited] + ([did.ran.total] if did.ran else []), default=0)

    @cached_property
    def exits(self) -> dict[int, int]:
        """When threads ended."""
        events = self.graph.trace.events
        rows = np.flatnonzero((events.kind == EventKind.EXIT) & (events.thread >= 0))
        return {int(events.thread[row]): int(events.time[row]) for row in rows}

    def _object(self, wait: Wait) -> int:
        return int(self.graph.trace.events.object[self.graph.waits.first[wait.number]])

    def _channel(self, wait: Wait, *, sends: bool) -> int:
        events, first = self.graph.trace.events, int(self.graph.waits.first[wait.number])
        if int(events.object[first]) >> 60 not in _OBJECT_TYPES:
            return 0
        return int(self._channels(events.object[first : first + 1], events.peer[first : first + 1], sends=sends)[0])

    def _channels(self, object_: Words, peer: Words, *, sends: bool) -> Words:
        return channel_of(object_, peer, np.full(len(object_), sends))

    def _most_common(self, channel: int, *, sends: bool, apart_from: int) -> int | None:
        threads = self.users(channel, sends=sends)
        counted = Counter(int(one) for one in threads if one != apart_from)
        return counted.most_common(1)[0][0] if counted else None

    def users(self, channel: int, *, sends: bool) -> Int32s:
        """Threads that sent, or received, through a channel, as often as they did."""
        if channel == 0:
            return np.zeros(0, np.int32)
        moved = self.graph.channels
        rows = moved.rows[(moved.channel == np.uint64(channel)) & (moved.sends == sends)]
        threads: Int32s = self.graph.trace.events.thread[rows]
        return threads


def lock_holder(graph: Graph, object_: int, time: int, apart_from: int) -> int | None:
    """Whoever took a file's lock last before a time without giving it back."""
    events = graph.trace.events
    flock, fcntl = NUMBERS["flock"], NUMBERS["fcntl"]
    rows = np.flatnonzero(
        (events.kind == EventKind.SYSCALL)
        & (events.object == np.uint64(object_))
        & (events.result == 0)
        & np.isin(events.call, [flock, fcntl])
        & (events.time <= time)
    )
    holder = None
    for row in rows.tolist():
        released = events.call[row] == flock and int(events.argument1[row]) & _LOCK_UN
        holder = None if released else int(events.thread[row])
    return None if holder == apart_from else holder


def _inferred(thread: int | None, mechanism: str, why: str) -> Expected | None:
    return None if thread is None else Expected(thread, Link(mechanism, Certainty.INFERRED, why))
