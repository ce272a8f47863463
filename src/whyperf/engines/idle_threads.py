"""Tell threads that rest from threads that are kept waiting, by comparing runs.

A thread that rests does so for as long as the run lasts: its share of the wall clock stays what it was, however long
the others take. Only what it waits beyond that share is a wait of the slow runs. Calls that serve whatever comes next
(accept, epoll) are rest whatever their share. The main thread of a program that ends by itself never rests: the run
lasts as long as it does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whyperf.engines.kernel.system_calls import EITHER, READY, SLEEPS, numbers
from whyperf.engines.recording_protocol import Recorded
from whyperf.engines.run import Floats, Run, column, ended_by_themselves, ints, texts
from whyperf.recording.schemas.tables import Clock

Place = tuple[int, int]  # system call, and the functions that led there

_READY, _EITHER, _SLEEPS = numbers(READY), numbers(EITHER), set(numbers(SLEEPS).tolist())


@dataclass(frozen=True)
class _Rest:
    share: float = 0.0  # of the wall clock, of all threads together
    wait_s: float = 0.0  # a wait's length, as far as looks tell


def kept_waiting(good: Sequence[Run], bad: Sequence[Run]) -> dict[Run, Floats]:
    """By run and sample, the part of a wait that counts."""
    runs = (*good, *bad)
    main_counts = ended_by_themselves(runs)
    waits = {run: _Waits(run.recording, main_counts=main_counts) for run in runs}
    before, after = (_mean([waits[run].rests() for run in side]) for side in (good, bad))
    counts = {place: _beyond(place, before.get(place, _Rest()), rest) for place, rest in after.items()}
    return {run: waits[run].parts(counts, is_bad=run in bad) for run in runs}


def _beyond(place: Place, usual: _Rest, rest: _Rest) -> float:
    """The part of the slow runs' time at a place that resting as usual does not explain."""
    parts = [1.0 - usual.share / rest.share if rest.share > 0 else 0.0]
    if place[0] in _SLEEPS and rest.wait_s > 0:
        parts.append(1.0 - usual.wait_s / rest.wait_s)  # each sleep is longer: no timer of its own
    return max(0.0, *parts)


def _mean(runs: Sequence[Mapping[Place, _Rest]]) -> dict[Place, _Rest]:
    places = {place for run in runs for place in run}
    found = {place: [run.get(place, _Rest()) for run in runs] for place in places}
    return {
        place: _Rest(sum(one.share for one in rests) / len(runs), max(one.wait_s for one in rests))
        for place, rests in found.items()
    }


class _Waits:
    """A recording's samples of waiting threads."""

    def __init__(self, recording: Recorded, *, main_counts: bool) -> None:
        self._table = recording.table("samples")
        self._wall_s = max(recording.manifest.totals.wall_s, 1e-9)
        call = column(self._table, "wait")
        blocked = column(self._table, "clock") == Clock.BLOCKED
        if main_counts:
            blocked &= ~_of_main(recording, column(self._table, "thread"))
        self._call = call
        self._ready, self._either = blocked & np.isin(call, _READY), blocked & np.isin(call, _EITHER)
        self._chain = _chains(recording)[column(self._table, "stack")]

    def _places(self) -> list[Place]:
        at = np.flatnonzero(self._either)
        return list(zip(self._call[at].tolist(), self._chain[at].tolist(), strict=True))

    def rests(self) -> dict[Place, _Rest]:
        seconds: defaultdict[Place, list[float]] = defaultdict(list)
        weights = (column(self._table, "weight")[self._either] / 1e9).tolist()
        for place, weight in zip(self._places(), weights, strict=True):
            seconds[place].append(weight)
        return {place: _Rest(sum(one) / self._wall_s, sum(one) / len(one)) for place, one in seconds.items()}

    def parts(self, counts: Mapping[Place, float], *, is_bad: bool) -> Floats:
        found = np.ones(self._table.num_rows)
        found[self._ready] = 0.0
        found[self._either] = [counts.get(place, 0.0) for place in self._places()] if is_bad else 0.0
        return found


def _of_main(recording: Recorded, thread: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """By sample: whether it is of the first thread of the program that was started."""
    pids, threads = ints(recording.table("processes"), "pid"), recording.table("threads")
    rows = zip(ints(threads, "thread"), ints(threads, "tid"), strict=True)
    return np.isin(thread, [number for number, tid in rows if pids and tid == pids[0]])


def _chains(recording: Recorded) -> npt.NDArray[np.int64]:
    """By stack a number for the names of its functions, which is the same in all of them."""
    names = texts(recording.table("functions"), "name")
    stacks, function = recording.table("stacks"), ints(recording.table("frames"), "function")
    parent, frame = ints(stacks, "parent"), ints(stacks, "frame")
    found = [0] * len(parent)
    for stack in range(len(parent)):
        outer = found[parent[stack]] if 0 <= parent[stack] < stack else 0
        number = function[frame[stack]]
        found[stack] = hash((outer, names[number] if number >= 0 else ""))
    return np.array(found, np.int64)
