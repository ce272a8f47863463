"""Where a thread waits between turns (rule 2): not an anomaly however long it lasts, and the end of a task."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from whyperf.engines.arrays import Bools, Int32s, Words
from whyperf.engines.causes.causal_graph.grouping import groups
from whyperf.engines.causes.causal_graph.messages import Messages
from whyperf.engines.causes.causal_graph.tasks import Tasks
from whyperf.engines.causes.causal_graph.trace import EventTrace
from whyperf.engines.causes.causal_graph.waits import Ended, ThreadWaits
from whyperf.engines.causes.settings import CausesSettings
from whyperf.engines.kernel.rules import CallRule
from whyperf.engines.kernel.system_calls import COUNTED, numbers
from whyperf.recording.schemas.events import EventKind

_COUNTED = numbers(COUNTED)

Site = tuple[int, int]  # system call, stack node


def loop_sites(trace: EventTrace, waits: ThreadWaits, passive: Bools, settings: CausesSettings) -> dict[int, Site]:
    """By thread its loop's site: the shallowest repeated one, if that looks like waiting for work.

    Needed by every server: without it each idle worker is a long wait. The shallowest, because a request's own waits
    (for a disk, a lock, a database) lie deeper. A thread whose shallowest site is a sleep paces itself and has none,
    unless it looks for tasks that way.
    """
    events = trace.events
    call, site = events.call[waits.first], events.site[waits.first]
    counts: dict[int, dict[Site, list[int]]] = defaultdict(dict)
    whole = (events.cut[waits.first] == 0) & (site >= 0)  # a stack that is cut looks shallow
    threads_with_whole = np.unique(waits.thread[whole])
    usable = np.flatnonzero(whole | ~np.isin(waits.thread, threads_with_whole))
    first, where = groups(waits.thread[usable], call[usable], site[usable])
    waits_at, passive_at = np.bincount(where), np.bincount(where, weights=passive[usable])
    for row, count, of_them in zip(usable[first].tolist(), waits_at, passive_at, strict=True):
        counts[int(waits.thread[row])][int(call[row]), int(site[row])] = [int(count), int(of_them)]
    bits, depth = trace.rules.call_bits, trace.stacks.depth
    loops = {}
    for thread, sites in counts.items():
        repeated = {one: n for one, n in sites.items() if n[0] >= settings.loop_waits} or sites
        least = min(depth(node) for _, node in repeated)
        shallow = {one: n for one, n in repeated.items() if depth(one[1]) == least}
        idle = {one: n[0] for one, n in shallow.items() if n[1] >= settings.loop_part * n[0]}
        paced = any(bits[one[0]] & CallRule.SLEEP and one not in idle for one in shallow)
        if idle and not paced:
            loops[thread] = max(idle, key=lambda one: idle[one])
    return loops


def at_loop_sites(trace: EventTrace, waits: ThreadWaits, loops: dict[int, Site]) -> Bools:
    """By wait: whether it is at its thread's loop site, as far as its stack, which may be cut, tells."""
    events = trace.events
    call, site = events.call[waits.first], events.site[waits.first]
    first, where = groups(waits.thread, call, site, events.cut[waits.first].astype(np.int32))
    found = np.zeros(len(first), np.bool_)
    for group, row in enumerate(first.tolist()):
        loop = loops.get(int(waits.thread[row]))
        if loop is None or loop[0] != call[row]:
            continue
        found[group] = site[row] == loop[1]
        if events.cut[waits.first[row]] or site[row] < 0:
            seen = trace.stacks.functions(int(site[row]))
            found[group] = trace.stacks.functions(loop[1])[: len(seen)] == seen
    at: Bools = found[where]
    return at


def looks_passive(trace: EventTrace, waits: ThreadWaits, asked: Bools, tasks: Tasks) -> Bools:
    """Waiting for work: among several descriptors, for a connection, for a request, on a futex that is no lock; in
    whatever way, but for a lock, where the thread runs tasks that others have put (GLib polls one descriptor)."""
    events, rules = trace.events, trace.rules
    bits = rules.call_bits[np.clip(events.call[waits.first], -1, len(rules.call_bits) - 1)]
    several = (bits & CallRule.MULTIPLEX != 0) & ~_single_descriptor(trace, waits)
    one_object = ((bits & CallRule.RECEIVE) != 0) | ((bits & CallRule.MULTIPLEX != 0) & ~several)
    waiting = (bits & (CallRule.MULTIPLEX | CallRule.RECEIVE | CallRule.FUTEX | CallRule.SLEEP)) != 0
    locked = _in_locks(trace, waits)
    passive: Bools = (
        (bits & CallRule.ACCEPT != 0)
        | several
        | (one_object & _served_here(trace, waits) & ~asked)
        | ((bits & CallRule.FUTEX != 0) & ~locked & ~asked)
        | (waiting & ~locked & _runs_tasks(trace, tasks)[waits.thread])
    )
    return passive


def _runs_tasks(trace: EventTrace, tasks: Tasks) -> Bools:
    """By thread: whether it runs what others have put."""
    putter, runner = trace.events.thread[tasks.put], trace.events.thread[tasks.run]
    runs = np.zeros(len(trace.threads), np.bool_)
    runs[runner[putter != runner]] = True
    return runs


def asks(trace: EventTrace, waits: ThreadWaits, messages: Messages) -> Bools:
    """By wait: whether the thread had mostly spoken to those who end waits at its site before they ever spoke to it.

    Whoever asks and whoever serves wait alike, each for the other, in turns; who spoke first tells them apart. Needed
    for a main thread that hands tasks to a worker through condition variables, and for two processes with two pipes.
    """
    events = trace.events
    rows, group = groups(waits.thread, events.call[waits.first], events.site[waits.first])
    spoke = _first_words(trace, messages)
    woken = np.flatnonzero(waits.ended == Ended.THREAD)
    partner = events.thread[waits.wake[woken]]
    balance = np.zeros(len(rows), np.int64)
    first, pairs = groups(group[woken], partner)
    for row, count in zip(first.tolist(), np.bincount(pairs).tolist(), strict=True):
        thread, other = int(waits.thread[woken[row]]), int(partner[row])
        asked = spoke.get((thread, other), _NEVER) < spoke.get((other, thread), _NEVER)
        balance[group[woken[row]]] += count if asked else -count
    found: Bools = (balance > 0)[group]
    return found


_NEVER = np.iinfo(np.int64).max


def _first_words(trace: EventTrace, messages: Messages) -> dict[tuple[int, int], int]:
    """When a thread first woke another, or sent it something: who is not asleep need not be woken."""
    events = trace.events
    woke = np.flatnonzero(
        (events.kind == EventKind.WAKING) & (events.thread >= 0) & (events.other >= 0) & (events.call >= 0)
    )
    speaker = np.concatenate((events.thread[woke], events.thread[messages.send]))
    hearer = np.concatenate((events.other[woke], events.thread[messages.receive]))
    time = np.concatenate((events.time[woke], events.time[messages.send]))
    order = np.argsort(time, kind="stable")
    first = order[groups(speaker[order], hearer[order])[0]]
    columns = (speaker[first].tolist(), hearer[first].tolist(), time[first].tolist())
    return {(thread, other): time for thread, other, time in zip(*columns, strict=True)}


def _single_descriptor(trace: EventTrace, waits: ThreadWaits) -> Bools:
    """poll() and ppoll() tell how many; for one of them the recorder also tells which object."""
    events = trace.events
    polls = np.isin(events.call[waits.first], _COUNTED)
    single: Bools = polls & (events.argument1[waits.first] == 1)
    return single


def _in_locks(trace: EventTrace, waits: ThreadWaits) -> Bools:
    """By wait: whether it is for a lock, which hardly ever is a wait for work."""
    rules = trace.rules
    site = trace.events.site[waits.first]
    first, where = groups(site)
    names = [trace.stacks.functions(int(node)) for node in site[first]]
    lock = np.array([rules.is_lock(one) or rules.is_interpreter_lock(one) for one in names], np.bool_)
    return lock[where]


def _served_here(trace: EventTrace, waits: ThreadWaits) -> Bools:
    """Whether the first thing that the process did with the object was to receive from it: it serves, not asks."""
    events = trace.events
    bits = trace.rules.call_bits[np.clip(events.call, -1, len(trace.rules.call_bits) - 1)]
    moved = np.flatnonzero(
        (events.kind == EventKind.SYSCALL)
        & (events.result > 0)
        & (events.object != 0)
        & (events.thread >= 0)
        & (bits & (CallRule.RECEIVE | CallRule.SEND) != 0)
    )
    keys = _process_object(trace.pids[events.thread[moved]], events.object[moved]).view(np.int64)
    first = groups(keys)[0]
    asked = keys[first[bits[moved[first]] & CallRule.SEND != 0]]
    objects = events.object[waits.first]
    mine = _process_object(trace.pids[waits.thread], objects)
    served: Bools = (objects != 0) & ~np.isin(mine.view(np.int64), asked)
    return served


def _process_object(pid: Int32s, object_: Words) -> Words:
    """One number for both; objects' upper bits tell their type, the mixing keeps pairs apart."""
    mixed: Words = (object_ ^ (object_ >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15) + pid.astype(np.uint64)
    return mixed
