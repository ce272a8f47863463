"""Which thread's time explains the added wall time: running, ready to run, or blocked.

Sums over threads say little: four threads that each compute a second longer add a second to the wall clock, and a
thread that polls in the background may queue for seconds that nobody waits for. So every thread is judged alone, by
what it did more of than its namesakes of the good runs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from whyperf.engines.kernel.system_calls import SLEEPS, STORAGE
from whyperf.engines.run import Run
from whyperf.recording.sealed.manifest import ThreadTimes, Totals

_SLEEPS, _STORAGE = frozenset(SLEEPS), frozenset(STORAGE)


@dataclass(frozen=True)
class ThreadTime:
    """Seconds of a thread, or of the one of its namesakes that had most, per unit of work."""

    run_s: float = 0.0
    runnable_s: float = 0.0
    asleep_s: float = 0.0
    storage_s: float = 0.0
    blocked_s: float = 0.0  # all of it
    lived_s: float = 0.0

    def __sub__(self, other: ThreadTime) -> ThreadTime:
        return ThreadTime(*(mine - its for mine, its in zip(_fields(self), _fields(other), strict=True)))

    @property
    def only_sleeps(self) -> bool:
        """It wakes up by itself and hardly computes: nobody waits for it to get a CPU."""
        return self.asleep_s > self.blocked_s / 2 and self.run_s < self.asleep_s / 10

    def longer_asleep_than(self, usual: ThreadTime) -> float:
        """Beyond what it would sleep if it just did so for as long as the window lasts, as pollers do."""
        lasted = self.lived_s / usual.lived_s if usual.lived_s > 0 else 0.0
        return self.asleep_s - usual.asleep_s * max(lasted, 1.0)


@dataclass(frozen=True)
class Threads:
    """What threads added, each alone."""

    run_s: float  # of the thread that computes most more, with what ended too soon to be looked at
    runnable_s: float  # of the thread that queued most more, without those that only sleep and wake up
    blocked_s: float  # in sleep or for storage, of the thread that does most more of it


def added_by_threads(good: Sequence[Run], bad: Sequence[Run], *, per_unit: bool) -> Threads | None:
    """None where a run does not know its threads."""
    if not all(run.manifest.totals.threads for run in (*good, *bad)):
        return None
    before, after = (
        _mean([_parts(run.manifest.totals, run.work.count if per_unit else 1.0) for run in side])
        for side in (good, bad)
    )
    pairs = [(before.get(group, ThreadTime()), part) for group, part in after.items()]
    uncounted = _unaccounted(bad, per_unit=per_unit) - _unaccounted(good, per_unit=per_unit)
    return Threads(
        run_s=max((now - usual).run_s for usual, now in pairs) + max(uncounted, 0.0),
        runnable_s=max(((now - usual).runnable_s for usual, now in pairs if not now.only_sleeps), default=0.0),
        blocked_s=max(max(now.longer_asleep_than(usual), (now - usual).storage_s) for usual, now in pairs),
    )


def queued_share(runs: Sequence[Run]) -> float:
    """How long threads waited for a CPU in units of how long they had one, without those that only sleep."""
    threads = [one for run in runs for one in run.manifest.totals.threads if not ThreadTime(*_seconds(one)).only_sleeps]
    ran = sum(one.run_s for one in threads)
    return sum(one.runnable_s for one in threads) / ran if ran > 0 else 0.0


def sum_queued(runs: Sequence[Run]) -> float:
    """Time in the run queue of all threads of a run together, on average."""
    return sum(one.runnable_s for run in runs for one in run.manifest.totals.threads) / len(runs)


def queued_s(totals: Totals, stopped_by: str) -> float | None:
    """Of the wall clock, what passed in the run queue: of the main thread where the run ended with it, else of the
    thread that queued longest without being one that only sleeps; None: unknown."""
    if not totals.threads:
        return None
    if stopped_by == "exit":
        return next((one.runnable_s for one in totals.threads if one.main), 0.0)
    parts = _parts(totals, 1.0).values()
    return max((part.runnable_s for part in parts if not part.only_sleeps), default=0.0)


def _parts(totals: Totals, units: float) -> dict[tuple[bool, str], ThreadTime]:
    """By thread, where threads of the same name are one: the longest, or all where they ran one after another."""
    members: defaultdict[tuple[bool, str], list[ThreadTimes]] = defaultdict(list)
    for thread in totals.threads:
        members[thread.main, thread.name].append(thread)
    wall = max(totals.wall_s, 1e-9)
    return {group: _joined(threads, units, wall) for group, threads in members.items()}


def _joined(threads: Sequence[ThreadTimes], units: float, wall_s: float) -> ThreadTime:
    side_by_side = max(1.0, sum(thread.lived_s for thread in threads) / wall_s)
    columns = zip(*(_seconds(thread) for thread in threads), strict=True)
    return ThreadTime(*(max(*column, sum(column) / side_by_side) / units for column in columns))


def _seconds(thread: ThreadTimes) -> tuple[float, ...]:
    asleep, storage = (
        sum(seconds for call, seconds in thread.blocked_s.items() if call in calls) for calls in (_SLEEPS, _STORAGE)
    )
    return thread.run_s, thread.runnable_s, asleep, storage, sum(thread.blocked_s.values()), thread.lived_s


def _mean(runs: Sequence[dict[tuple[bool, str], ThreadTime]]) -> dict[tuple[bool, str], ThreadTime]:
    groups = {group for run in runs for group in run}
    columns = {group: zip(*(_fields(run.get(group, ThreadTime())) for run in runs), strict=True) for group in groups}
    return {group: ThreadTime(*(sum(values) / len(runs) for values in columns[group])) for group in groups}


def _unaccounted(runs: Sequence[Run], *, per_unit: bool) -> float:
    """CPU time of what came and went between two looks, per unit of work."""
    return sum(
        max(run.manifest.totals.cpu_s - sum(one.run_s for one in run.manifest.totals.threads), 0.0)
        / (run.work.count if per_unit else 1.0)
        for run in runs
    ) / len(runs)


def _fields(part: ThreadTime) -> tuple[float, ...]:
    return part.run_s, part.runnable_s, part.asleep_s, part.storage_s, part.blocked_s, part.lived_s
