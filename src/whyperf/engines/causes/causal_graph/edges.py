"""The graph's edges: which segment brought another about, and how sure that is (rule 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whyperf.engines.arrays import Bools, Int8s, Int32s, Ints
from whyperf.engines.causes.causal_graph.grouping import groups
from whyperf.engines.causes.causal_graph.handovers import armed_by_others, handed_over
from whyperf.engines.causes.causal_graph.messages import Messages
from whyperf.engines.causes.causal_graph.segments import Segments
from whyperf.engines.causes.causal_graph.symbols import CausesSymbols
from whyperf.engines.causes.causal_graph.tasks import Tasks
from whyperf.engines.causes.causal_graph.trace import EventTrace
from whyperf.engines.causes.causal_graph.waits import Ended, ThreadWaits
from whyperf.engines.compiled import njit
from whyperf.engines.kernel.rules import LinkStrength
from whyperf.recording.schemas.events import EventKind

# Mechanisms that no rule of the file names.
NEIGHBOUR, MESSAGE, FORK, UNKNOWN, REQUEST, WORK, TIMER = -1, -2, -3, -4, -5, -6, -7
TASK = -16  # and below: TASK less the number of the queue


def queue_of(mechanism: int) -> int:
    """Whose tasks an edge is about; -1: it is not about tasks."""
    return TASK - mechanism if mechanism <= TASK else -1


@dataclass(frozen=True)
class Edges:
    """A row each, by target. `source` was a cause of `target`."""

    source: Int32s
    target: Int32s
    strength: Int8s  # `LinkStrength`
    mechanism: Int32s  # number of the wake rule, or one of the above
    start: Ints  # those into segment s are rows start[s] .. start[s + 1]

    def into(self, segment: int) -> range:
        return range(int(self.start[segment]), int(self.start[segment + 1]))


@dataclass(frozen=True)
class Wakes:
    """By wait: the rule that its wake-up follows, -1 where none does or nobody is behind it."""

    rule: Int32s


def classify_wakes(trace: EventTrace, waits: ThreadWaits) -> Wakes:
    events = trace.events
    rule = np.full(len(waits), -1, np.int32)
    woken = np.flatnonzero(waits.ended == Ended.THREAD)
    wake = waits.wake[woken]
    call, site = events.call[wake], events.site[wake]
    first, where = groups(call, site)
    of_pair = [trace.rules.wake(int(call[row]), trace.stacks.functions(int(site[row]))) for row in first.tolist()]
    if of_pair:
        rule[woken] = np.array(of_pair, np.int32)[where]
    return Wakes(rule)


def build_edges(
    *,
    trace: EventTrace,
    waits: ThreadWaits,
    segments: Segments,
    wakes: Wakes,
    loops: Bools,
    messages: Messages,
    tasks: Tasks,
    symbols: CausesSymbols,
    rare: float,
) -> Edges:
    """`loops` tells which waits are between turns."""
    events = trace.events
    pieces = [_neighbours(segments, loops, symbols, rare)]

    behind = np.flatnonzero((waits.ended == Ended.THREAD) & (waits.wake >= 0))
    follower = np.full(len(waits), -1, np.int32)
    followed = segments.before >= 0
    follower[segments.before[followed]] = np.flatnonzero(followed)
    strengths = np.array([*(rule.strength for rule in trace.rules.wakes), LinkStrength.WEAK], np.int8)
    waker = segments_at(segments, events.thread[waits.wake[behind]], events.time[waits.wake[behind]])
    rule = wakes.rule[behind]
    pieces.append((waker, follower[behind], strengths[rule], np.where(rule >= 0, rule, UNKNOWN).astype(np.int32)))

    sender = segments_at(segments, events.thread[messages.send], events.time[messages.send])
    receiver = segments_at(segments, events.thread[messages.receive], events.time[messages.receive])
    pieces.append(_uniform(sender, receiver, LinkStrength.STRONG, MESSAGE))

    forks = np.flatnonzero((events.kind == EventKind.FORK) & (events.other >= 0) & (events.thread >= 0))
    first = np.append(segments.of_thread[:-1], -1)
    first[:-1][np.diff(segments.of_thread) == 0] = -1
    child = first[events.other[forks]]
    parent = segments_at(segments, events.thread[forks], events.time[forks])
    pieces.append(_uniform(parent, child.astype(np.int32), LinkStrength.STRONG, FORK))

    for (asked, taken), kind in zip(handed_over(events), (REQUEST, WORK), strict=True):
        asker = segments_at(segments, events.thread[asked], events.time[asked])
        doer = segments_at(segments, events.thread[taken], events.time[taken])
        pieces.append(_uniform(asker, doer, LinkStrength.STRONG, kind))

    putter = segments_at(segments, events.thread[tasks.put], events.time[tasks.put])
    runner = segments_at(segments, events.thread[tasks.run], events.time[tasks.run])
    weak = np.array([queue.strength == "weak" for queue in trace.queues], np.bool_)[tasks.queue]
    strength = np.where(weak, np.int8(LinkStrength.WEAK), np.int8(LinkStrength.STRONG))
    pieces.append((putter, runner, strength, TASK - tasks.queue))

    clocked = np.flatnonzero((waits.ended == Ended.TIMER) & (waits.wake >= 0))
    armed, fired = armed_by_others(events, waits.wake[clocked])
    setter = segments_at(segments, events.thread[armed], events.time[armed])
    pieces.append(_uniform(setter, follower[clocked[fired]], LinkStrength.STRONG, TIMER))

    source, target, strength, mechanism = (np.concatenate(column) for column in zip(*pieces, strict=True))
    known = (source >= 0) & (target >= 0) & (source != target)
    known &= segments.begin[source] <= segments.end[target]
    columns = source[known], target[known], strength[known], mechanism[known]
    order = np.lexsort((columns[2], columns[0], columns[1]))
    source, target, strength, mechanism = (column[order] for column in columns)
    twice = np.zeros(len(source), np.bool_)
    twice[1:] = (source[1:] == source[:-1]) & (target[1:] == target[:-1])
    source, target = source[~twice], target[~twice]
    start = np.searchsorted(target, np.arange(len(segments) + 1))
    return Edges(source, target, strength[~twice], mechanism[~twice], start)


_Piece = tuple[Int32s, Int32s, Int8s, Int32s]


def _uniform(source: Int32s, target: Int32s, strength: LinkStrength, mechanism: int) -> _Piece:
    return source, target, np.full(len(source), strength, np.int8), np.full(len(source), mechanism, np.int32)


def segments_at(segments: Segments, thread: Int32s, time: Ints) -> Int32s:
    found = np.full(len(thread), -1, np.int32)
    _find_segments(segments.of_thread, segments.begin, thread, time, found)
    return found


@njit(cache=True, nogil=True)
def _find_segments(of_thread: Ints, begin: Ints, thread: Int32s, time: Ints, found: Int32s) -> None:
    for at in range(len(thread)):
        who = thread[at]
        if who < 0 or who + 1 >= len(of_thread):
            continue
        low, high = of_thread[who], of_thread[who + 1]
        if low == high:
            continue
        inside = low + np.searchsorted(begin[low:high], time[at], side="right") - 1
        found[at] = max(inside, low)


def _neighbours(segments: Segments, loops: Bools, symbols: CausesSymbols, rare: float) -> _Piece:
    """Adjacent segments of a thread: weak, boosted by a rare symbol that they share, none across the end of a task.

    Sharing nothing (but dispatchers) they are unrelated, unless the thread merely waited between them (section 5).
    """
    start, numbers = symbols.of_segments
    counts = np.bincount(numbers, minlength=len(symbols.names))
    positive = np.sort(counts[counts > 0])
    limit = int(positive[int(len(positive) * rare)]) if len(positive) else 0
    strength = np.full(len(segments), _NO_EDGE, np.int8)
    _compare_neighbours(segments.thread, segments.before, segments.turn, loops, start, numbers, counts, limit, strength)
    target = np.flatnonzero(strength != _NO_EDGE).astype(np.int32)
    return target - 1, target, strength[target], np.full(len(target), NEIGHBOUR, np.int32)


_NO_EDGE = 9


@njit(cache=True, nogil=True)
def _compare_neighbours(  # noqa: PLR0917 -- columns
    thread: Int32s,
    before: Int32s,
    turn: Bools,
    loops: Bools,
    start: Ints,
    symbols: Int32s,
    counts: Ints,
    rare: int,
    strength: Int8s,
) -> None:
    seen = np.full(len(counts), -1, np.int32)
    for segment in range(1, len(thread)):
        if thread[segment] != thread[segment - 1] or turn[segment]:
            continue
        wait = before[segment]
        if wait >= 0 and loops[wait]:
            continue
        for at in range(start[segment - 1], start[segment]):
            seen[symbols[at]] = segment
        shared, boosted = False, False
        for at in range(start[segment], start[segment + 1]):
            if seen[symbols[at]] == segment:
                shared = True
                boosted = boosted or counts[symbols[at]] <= rare
        if shared or wait >= 0:
            strength[segment] = 0 if boosted else 1
