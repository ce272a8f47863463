"""Which part of the time counts: a thread that only waits for others, or has nothing to do, explains no latency.

A program that ends by itself is as slow as its main thread. While that waits for another thread of the program, what
counts is what that other thread does meanwhile, and so on: every moment of the wall clock is counted once.

A server never ends; there every thread counts, but neither its waits for other threads of the program nor those at
its idle place, where it asks for the next thing to do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whyperf.engines.contexts.chains import CountedChain, Timelines, by_thread, resolve
from whyperf.engines.contexts.inference import FollowedRun
from whyperf.engines.contexts.layers import OF_THE_PROGRAM
from whyperf.engines.contexts.records import Flags, Ints
from whyperf.engines.contexts.settings import ContextsSettings
from whyperf.engines.kernel.wait_kinds import woken_by_thread
from whyperf.engines.run import Run, column, texts


@dataclass(frozen=True, eq=False)
class Members:
    """By thread of a run."""

    program: Flags  # of a process of the program
    roots: Ints  # the first process' main thread; after an exec it is another row


def members(run: Run) -> Members:
    processes, threads = run.recording.table("processes"), run.recording.table("threads")
    process_of = column(threads, "process")
    own = np.array([origin in OF_THE_PROGRAM for origin in texts(processes, "origin")], np.bool_)
    program = own[process_of] if len(own) else np.zeros(len(process_of), np.bool_)
    if not own.any():
        return Members(program, np.zeros(0, np.int64))
    pids, start = column(processes, "pid"), column(processes, "start")
    first = np.flatnonzero(own)[np.argmin(start[own])]
    is_root = program & (pids[process_of] == pids[first]) & (column(threads, "tid") == pids[first])
    return Members(program, np.flatnonzero(is_root))


def along_the_main_thread(run: Run, followed: FollowedRun, settings: ContextsSettings) -> CountedChain:
    who, window = members(run), run.manifest.window
    waits, samples = followed.waits, followed.samples
    threads = len(who.program)
    waits_of, samples_of = by_thread(waits["thread"], threads), by_thread(samples["thread"], threads)
    known = np.append(who.program, False)
    causal = woken_by_thread(waits) & known[waits["waker"]]
    lines = Timelines(waits, waits_of.order, waits_of.start, causal, samples, samples_of.order, samples_of.start)
    counted = CountedChain(*(np.zeros(len(rows), np.int64) for rows in (waits, waits, samples)))
    for root in who.roots.tolist():
        resolve(lines, root, (window.start, window.end), settings.longest_chain, counted)
    return counted


def of_all_threads(run: Run, followed: FollowedRun, idle: Flags) -> CountedChain:
    """`idle`: nodes below which waits do not count."""
    who = members(run)
    waits, samples = followed.waits, followed.samples
    known = np.append(who.program, False)
    here = known[waits["thread"]]
    along = woken_by_thread(waits) & known[waits["waker"]]
    at_rest = np.append(idle, False)[waits["node"]]
    counts = here & ~along & ~at_rest & (waits["state"] != 0)
    return CountedChain(
        np.where(counts, waits["woken"] - waits["start"], 0),
        np.where(here, waits["end"] - waits["woken"], 0),
        np.where(known[samples["thread"]], samples["weight"], 0),
    )
