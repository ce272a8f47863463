"""The walk from a stalled wait to whoever made it last (rules 5 and 6).

Within the window of a wait ask what its waker did; where that one waited too, ask on, in the part of the window that it
waited. Argus' beam search needs a vertex at which paths end (a user's input); programs that loop have none, and paths
ran back to the beginning of the recording. The window ends them here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from whyperf.engines.causes.causal_graph.activity import (
    Activity,
    Ran,
    Waited,
    activity,
    common_place,
    kept_from_cpu,
    samples_in,
)
from whyperf.engines.causes.causal_graph.edges import MESSAGE
from whyperf.engines.causes.causal_graph.graph import Wait
from whyperf.engines.causes.causal_graph.refused_locks import refused_lock
from whyperf.engines.causes.causal_graph.waits import Ended
from whyperf.engines.causes.path import Anomaly, Certainty, Culprit, CulpritEnding, Link, Rung, StallPath
from whyperf.engines.causes.roles import ThreadRoles
from whyperf.engines.causes.walk.missing_waker import Expectations, Expected, lock_holder
from whyperf.engines.causes.walk.relays import Relays, Sender
from whyperf.engines.causes.walk.replies import Replies
from whyperf.engines.kernel.rules import CallRule, LinkStrength
from whyperf.recording.schemas.events import EventKind

_CERTAINTY = {
    LinkStrength.STRONG: Certainty.STRONG,
    LinkStrength.BOOSTED: Certainty.WEAK,
    LinkStrength.WEAK: Certainty.WEAK,
}
_UNINTERRUPTIBLE = 2
_REGULAR_FILE = 8


@dataclass(frozen=True)
class _LetGo:
    """How a thread ended another's wait."""

    waiting: Wait
    segment: int


class StallWalk:
    def __init__(self, stalled: ThreadRoles, normals: Sequence[ThreadRoles]) -> None:
        self.roles, self.graph, self.normals = stalled, stalled.graph, normals
        self.expected = Expectations(stalled, normals)
        self.replies = Replies(stalled, normals)
        self.relays = Relays(stalled.graph, self.replies)

    def explain(self, anomaly: Anomaly) -> StallPath:
        if anomaly.wait < 0:
            return self._thread(anomaly.thread, anomaly.begin, anomaly.end, ())
        return self._wait(anomaly.wait, anomaly.begin, anomaly.end, ())

    def _wait(self, number: int, begin: int, end: int, rungs: tuple[Rung, ...]) -> StallPath:
        """Why a wait lasted through the window."""
        graph, wait = self.graph, self.graph.wait(number)
        if any(rung.wait == number for rung in rungs):
            return StallPath(rungs, Culprit(CulpritEnding.CYCLE, wait.thread, begin, end, wait.node, number))
        rung = Rung(wait.thread, begin, end, number, None)
        if len(rungs) >= graph.settings.longest_chain:
            return StallPath((*rungs, rung), Culprit(CulpritEnding.UNKNOWN, wait.thread, begin, end, wait.node, number))
        if graph.does(wait.call, CallRule.SLEEP):
            return self._slept(wait, rung, rungs)
        if self._nobody_ended(wait):
            party = None if self._for_device(wait) else self.expected.of(wait)
            if party is None:
                ending = CulpritEnding.DEVICE if self._for_device(wait) else CulpritEnding.OUTSIDE
                return StallPath((*rungs, rung), Culprit(ending, wait.thread, begin, end, wait.node, number))
            return self._thread(party.thread, begin, end, (*rungs, replace(rung, link=party.link)), missing=wait)
        waker, segment = self._waker(wait)
        on = (*rungs, replace(rung, link=waker.link))
        return self._thread(waker.thread, begin, end, on, let_go=_LetGo(wait, segment))

    def _nobody_ended(self, wait: Wait) -> bool:
        """It was not woken, or only by the clock, by the kernel, or to die."""
        ended = self.graph.waits.ended[wait.number]
        if ended != Ended.THREAD:
            return self._sender_seen(wait) is None
        return self.was_killed(wait)

    def was_killed(self, wait: Wait) -> bool:
        """Woken by a signal, or by the end of its own process, it did nothing more but end."""
        graph = self.graph
        segment, rule = int(graph.followers[wait.number]), int(graph.wakes.rule[wait.number])
        name = graph.rules.wakes[rule].name if rule >= 0 else ""
        waker = int(graph.trace.events.thread[graph.waits.wake[wait.number]])
        own = waker >= 0 and graph.thread(waker).pid == graph.thread(wait.thread).pid
        if name != "signal" and not (name == "exit" and own):
            return False
        if segment < 0:
            return True
        rows = graph.segments.events_of(segment)
        kinds = Counter(graph.trace.events.kind[rows].tolist())
        return kinds[EventKind.EXIT] > 0 and kinds[EventKind.SYSCALL] <= 1

    def _for_device(self, wait: Wait) -> bool:
        """In the kernel's own hands: a disk, memory, or a file system's threads."""
        graph = self.graph
        events, first = graph.trace.events, int(graph.waits.last[wait.number])
        on_file = int(events.object[first]) >> 60 == _REGULAR_FILE
        uninterruptible = bool(int(events.result[first]) & _UNINTERRUPTIBLE)
        return uninterruptible or (on_file and not graph.does(wait.call, CallRule.LOCK))

    def _waker(self, wait: Wait) -> tuple[Expected, int]:
        """Whoever woke it, and in which segment; the sender of what it then read, where the wake-up itself was for
        something else."""
        graph = self.graph
        wake = int(graph.waits.wake[wait.number])
        rule = int(graph.wakes.rule[wait.number])
        thread = int(graph.trace.events.thread[wake])
        if rule < 0 or graph.rules.wakes[rule].name == "reading":
            sender = self._sender_seen(wait)
            if sender is not None and not graph.does(wait.call, CallRule.SEND):
                link = Link("message", Certainty.STRONG, "it sent what was read then")
                return Expected(sender.thread, link), sender.segment
        segment = graph.segments.at(thread, int(graph.trace.events.time[wake]))
        if rule < 0:
            return Expected(thread, Link("wake-up", Certainty.WEAK, "it woke it, for an unknown reason")), segment
        chosen = graph.rules.wakes[rule]
        return Expected(thread, Link(chosen.name, _CERTAINTY[chosen.strength], chosen.why)), segment

    def _sender_seen(self, wait: Wait) -> Sender | None:
        """Who had sent what the thread received right after the wait."""
        graph = self.graph
        segment = int(graph.followers[wait.number])
        if segment < 0 or not graph.does(wait.call, CallRule.RECEIVE | CallRule.MULTIPLEX):
            return None
        for edge in graph.edges.into(segment):
            if graph.edges.mechanism[edge] == MESSAGE:
                source = int(graph.edges.source[edge])
                sender = Sender(int(graph.segments.thread[source]), source)
                if sender.thread != wait.thread and graph.segments.end[source] >= wait.begin:
                    return sender
        return None

    def _slept(self, wait: Wait, rung: Rung, rungs: tuple[Rung, ...]) -> StallPath:
        """A sleep is a culprit; many of them in a row are a poll for something that another thread does."""
        settings = self.graph.settings
        if wait.sleeps < settings.polls:
            culprit = Culprit(CulpritEnding.SLEPT, wait.thread, rung.begin, rung.end, wait.node, wait.number)
            fed = self.replies.fed_by(wait.thread, wait.begin)
            return StallPath((*rungs, rung), replace(culprit, fed_by=fed))
        awaited = (
            self._flag_writer(wait)
            or self.expected.task_runner(wait)
            or self._busy_lock(wait)
            or self._busiest_sibling(wait)
        )
        if awaited is None:
            return StallPath(
                (*rungs, rung), Culprit(CulpritEnding.POLLED, wait.thread, rung.begin, rung.end, wait.node, wait.number)
            )
        return self._thread(awaited.thread, rung.begin, rung.end, (*rungs, replace(rung, link=awaited.link)))

    def _flag_writer(self, wait: Wait) -> Expected | None:
        events = self.graph.trace.events
        late = wait.end + self.graph.settings.late_send_ns
        rows = np.flatnonzero(
            (events.kind == EventKind.FLAG_ACCESS)
            & (events.time >= wait.begin)
            & (events.time <= late)
            & (events.thread >= 0)
            & (events.thread != wait.thread)
        )
        link = Link("watched flag", Certainty.STRONG, "it wrote the flag that was polled")
        return Expected(int(events.thread[rows[-1]]), link) if len(rows) else None

    def _busy_lock(self, wait: Wait) -> Expected | None:
        """A lock that is tried again and again (sqlite's busy handler): whoever holds it."""
        tried = refused_lock(self.graph, wait)
        if tried is None:
            return None
        holder = lock_holder(self.graph, tried, wait.end, wait.thread)
        link = Link("file lock", Certainty.INFERRED, "it had the lock that was tried again and again")
        return None if holder is None else Expected(holder, link)

    def _busiest_sibling(self, wait: Wait) -> Expected | None:
        """A variable of the process that nobody watched: a guess, and called one."""
        graph = self.graph
        pid = graph.thread(wait.thread).pid
        siblings = [one for one, other in enumerate(graph.trace.threads) if other.pid == pid and one != wait.thread]
        ran = [(did.ran.total if did.ran else 0) for did in self._during(siblings, wait)]
        time, thread = max(zip(ran, siblings, strict=True), default=(0, -1))
        if time < graph.settings.guess_part * (wait.end - wait.begin):
            return None
        return Expected(thread, Link("polling", Certainty.GUESS, "it was the busiest thread of the polling process"))

    def _during(self, threads: Sequence[int], wait: Wait) -> Iterator[Activity]:
        return (activity(self.graph, one, wait.begin, wait.end) for one in threads)

    def _thread(
        self,
        thread: int,
        begin: int,
        end: int,
        rungs: tuple[Rung, ...],
        *,
        missing: Wait | None = None,
        let_go: _LetGo | None = None,
    ) -> StallPath:
        """What a thread did in the window that kept the one before it waiting.

        `missing`: that one's wait, which nobody ended; `let_go`: how the thread ended it.
        """
        graph = self.graph
        if thread < 0 or not graph.trace.witnessed[thread]:
            return StallPath(rungs, Culprit(CulpritEnding.OUTSIDE, thread, begin, end, -1))
        exited = self.expected.exits.get(thread)
        if missing is not None and exited is not None and exited <= begin + (end - begin) // 2:
            return StallPath(rungs, self.replies.gone(thread, exited))
        did = activity(graph, thread, begin, end)
        site = did.mostly_waited
        if site is None:
            return StallPath(rungs, self._running(thread, did.ran, begin, end))
        found = None
        if graph.in_loop[site.longest]:
            if missing is not None:
                found = self._unanswered(thread, begin, end, rungs, missing, site)
            elif let_go is not None:
                found = self._relayed(thread, begin, end, rungs, let_go)
        return found or self._wait(site.longest, site.begin, site.end, rungs)

    def _unanswered(  # noqa: PLR0917 -- the walk's own arguments
        self, thread: int, begin: int, end: int, rungs: tuple[Rung, ...], missing: Wait, site: Waited
    ) -> StallPath | None:
        """Idle after a turn that should have ended a wait: it passed the request on, or did not reply."""
        graph, answered = self.graph, self.replies.last_turn(thread, missing)
        if answered is None:
            return None
        onward = self.replies.forwarded_to(answered, missing)
        if onward is not None and not any(one.thread == onward for one in rungs):
            link = Link("onward request", Certainty.INFERRED, "it was asked on behalf of the waiting thread")
            rung = Rung(thread, site.begin, site.end, site.longest, link)
            return self._thread(onward, begin, end, (*rungs, rung), missing=graph.wait(site.longest))
        return StallPath(rungs, self.replies.culprit(answered, begin, end))

    def _relayed(self, thread: int, begin: int, end: int, rungs: tuple[Rung, ...], let_go: _LetGo) -> StallPath | None:
        """An idle thread went on to let another go: because of somebody's message, or by its own clock."""
        graph = self.graph
        turn = self.relays.turn(let_go.segment, let_go.waiting, begin)
        if turn.wait < 0 or len(rungs) >= graph.settings.longest_chain:
            return None
        wait = graph.wait(turn.wait)
        if turn.sender is not None and turn.sender.thread >= 0:
            link = Link(turn.sender.mechanism, turn.sender.certainty, turn.sender.why)
            rung = Rung(thread, begin, min(end, wait.end), turn.wait, link)
            until = min(end, max(begin + 1, int(graph.segments.end[turn.sender.segment])))
            on = _LetGo(wait, turn.sender.segment)
            return self._thread(turn.sender.thread, begin, until, (*rungs, rung), let_go=on)
        if turn.by_clock and self._rested_by_clock(thread, begin, end) < graph.settings.polls:
            culprit = Culprit(CulpritEnding.SLEPT, thread, begin, end, wait.node, turn.wait)
            return StallPath(rungs, replace(culprit, fed_by=(let_go.waiting.thread,)))
        return None

    def _rested_by_clock(self, thread: int, begin: int, end: int) -> int:
        """How often its clock alone roused it from its loop: often, and it looks for something again and again."""
        graph, rows = self.graph, self.graph.waits_of(thread)
        span = slice(rows.start, rows.stop)
        inside = (graph.waits.begin[span] < end) & (graph.ends[span] > begin)
        return int((inside & graph.in_loop[span] & (graph.waits.ended[span] == Ended.TIMER)).sum())

    def _running(self, thread: int, ran: Ran | None, begin: int, end: int) -> Culprit:
        graph = self.graph
        if ran is None:
            return Culprit(CulpritEnding.UNKNOWN, thread, begin, end, -1)
        fed = self.replies.fed_by(thread, ran.begin)
        place = common_place(graph, samples_in(graph, thread, begin, end))
        rivals = kept_from_cpu(graph, thread, ran.begin, ran.end)
        kept = sum(rivals.values())
        # A run that is long by itself is the cause, however much longer a busy machine made it.
        if kept > (ran.end - ran.begin) / 2 and ran.end - ran.begin - kept < self._ordinary_run(thread):
            busiest = tuple(rivals.most_common(3))
            return Culprit(CulpritEnding.STARVED, thread, ran.begin, ran.end, place, fed_by=fed, others=busiest)
        return Culprit(CulpritEnding.RAN, thread, ran.begin, ran.end, place, fed_by=fed)

    def _ordinary_run(self, thread: int) -> int:
        """How long a thread may run on end without being out of the ordinary."""
        settings, role = self.graph.settings, self.roles.of_thread[thread]
        if not self.normals:
            return settings.least_excess_ns
        longest = 0
        for roles in self.normals:
            segments = roles.graph.segments
            mine = np.isin(segments.thread, roles.threads_like(role))
            longest = max(longest, int((segments.end - segments.begin)[mine].max(initial=0)))
        ordinary = max(settings.short_excess_ns, round(settings.excess_factor * longest))
        return min(ordinary, settings.least_excess_ns)
