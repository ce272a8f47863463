"""Following waits to who ended them: whose time a stretch of a thread's time really is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from whyperf.engines.compiled import njit
from whyperf.engines.contexts.records import Flags, Int32s, Ints, Records


@dataclass(frozen=True, eq=False)
class ByThread:
    """Records of each thread in time order: `order[start[thread] : start[thread + 1]]`."""

    order: Ints
    start: Ints


def by_thread(thread: Int32s, threads: int) -> ByThread:
    """Records that are in time order already."""
    order = np.argsort(thread, kind="stable")
    return ByThread(order, np.searchsorted(thread[order], np.arange(threads + 1)))


class Timelines(NamedTuple):
    """What all threads of a run did. Waits and samples are rows; of a thread as `ByThread` tells."""

    waits: Records
    wait_order: Ints
    wait_start: Ints
    causal: Flags  # waits that another thread of the program ended
    samples: Records
    sample_order: Ints
    sample_start: Ints


class CountedChain(NamedTuple):
    """Nanoseconds that count: of waits, and of samples."""

    blocked: Ints
    runnable: Ints
    running: Ints


@njit(cache=True, nogil=True)
def _first_not_before(times: Ints, order: Ints, within: tuple[int, int], moment: np.int64) -> int:
    """The first of the rows of `order` within the bounds whose time is `moment` or later."""
    low, high = within
    while low < high:
        middle = (low + high) // 2
        if times[order[middle]] < moment:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def resolve(lines: Timelines, root: int, window: tuple[int, int], longest: int, counted: CountedChain) -> None:
    """Adds what counts of the thread `root` within the window.

    Of a causal wait what the waker did meanwhile counts instead, through at most `longest` threads.
    """
    waits, samples = lines.waits, lines.samples
    todo = [(np.int64(root), np.int64(window[0]), np.int64(window[1]), np.int64(0))]
    while len(todo) > 0:
        thread, since, until, chain = todo.pop()
        behind = lines.sample_start[thread + 1]
        row = _first_not_before(samples["time"], lines.sample_order, (lines.sample_start[thread], behind), since)
        while row < behind and samples[lines.sample_order[row]].time < until:
            counted.running[lines.sample_order[row]] = samples[lines.sample_order[row]].weight
            row += 1
        behind = lines.wait_start[thread + 1]
        row = _first_not_before(waits["end"], lines.wait_order, (lines.wait_start[thread], behind), since)
        while row < behind and waits[lines.wait_order[row]].start < until:
            at = lines.wait_order[row]
            wait = waits[at]
            counted.runnable[at] += max(0, min(until, wait.end) - max(since, wait.woken))
            low, high = max(since, wait.start), min(until, wait.woken)
            if high > low:
                if lines.causal[at] and chain < longest:
                    todo.append((np.int64(wait.waker), low, high, chain + 1))
                else:
                    counted.blocked[at] += high - low
            row += 1
