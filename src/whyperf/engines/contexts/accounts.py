"""What a function's time is made of: running, ready to run, blocked on what, how often, and where in its code."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

import numpy as np

from whyperf.engines.contexts.compare import ContextsComparison
from whyperf.engines.contexts.records import Flags, Ints, Records
from whyperf.engines.contexts.relevance import members
from whyperf.engines.finding import HotLine, Place
from whyperf.engines.kernel.wait_kinds import Kinds, WaitKind, kinds_of, woken_by_thread
from whyperf.engines.run import Floats, Run, column, sums, texts
from whyperf.engines.shown_lines import lines_around

_PORTS = 1 << 32  # a peer below is local port << 16 | remote port


@dataclass(frozen=True)
class Split:
    """Seconds per unit of work."""

    running: float = 0.0
    runnable: float = 0.0
    blocked: float = 0.0

    @property
    def total(self) -> float:
        """The function's own doing: not that others had the CPU."""
        return self.running + self.blocked


@dataclass(frozen=True)
class WaitedFor:
    """Waits of one kind in one system call, per unit of work."""

    kind: WaitKind
    call: int
    good_s: float
    bad_s: float
    good_count: float
    bad_count: float

    @property
    def excess(self) -> float:
        return self.bad_s - self.good_s


@dataclass(frozen=True)
class LatencyAccount:
    """One function."""

    good: Split
    bad: Split
    waited_for: tuple[WaitedFor, ...]  # most added time first
    other_side: str  # who ended the first of these from outside the program, or the port behind the socket


class Accounts:
    """Accounts of one comparison's functions."""

    def __init__(self, comparison: ContextsComparison) -> None:
        self.comparison = comparison

    def of(self, function: int) -> LatencyAccount:
        waited = self._waited_for(function)
        return LatencyAccount(
            *self._split(function), tuple(waited), self._other_side(function, waited[0]) if waited else ""
        )

    def _split(self, function: int) -> tuple[Split, Split]:
        """Good and bad."""
        here = self._nodes_of(function)
        good, bad = (
            Split(*(float(side.mean(part)[here].sum()) for part in ("running", "runnable", "blocked")))
            for side in (self.comparison.good, self.comparison.bad)
        )
        return good, bad

    def _waited_for(self, function: int) -> list[WaitedFor]:
        good, bad = (self._waits(function, side.runs) for side in (self.comparison.good, self.comparison.bad))
        nothing = np.zeros(2)
        found = [
            WaitedFor(WaitKind(kind), call, *_alternate(good.get(key, nothing), bad.get(key, nothing)))
            for key in good.keys() | bad.keys()
            for kind, call in [key]
        ]
        return sorted(found, key=lambda one: (-one.excess, one.kind, one.call))

    def _other_side(self, function: int, waited: WaitedFor) -> str:
        processes: Counter[str] = Counter()
        ports: Counter[int] = Counter()
        for run in self.comparison.bad.runs:
            waits, blocked, kinds = self._of(run)
            chosen = self._here(run, function) & (kinds == waited.kind) & (waits["call"] == waited.call) & (blocked > 0)
            names = self._outside_names[run]
            outside = chosen & woken_by_thread(waits) & np.isin(waits["waker"], list(names))
            for waker, time in zip(waits["waker"][outside].tolist(), blocked[outside].tolist(), strict=True):
                processes[names[waker]] += time
            if waited.kind is WaitKind.SOCKET:
                known = chosen & (waits["peer"] > 0) & (waits["peer"] < _PORTS)
                for peer, time in zip(waits["peer"][known].tolist(), blocked[known].tolist(), strict=True):
                    ports[int(peer) & 0xFFFF] += time
        if processes:
            return processes.most_common(1)[0][0]
        return f"port {ports.most_common(1)[0][0]}" if ports else ""

    def doer(self, function: int) -> tuple[str, str]:
        """The process and the thread of the bad runs in which the function took most of its time, by name."""
        spent: defaultdict[tuple[str, str], float] = defaultdict(float)
        flags = np.append(self._nodes_of(function), False)
        for run in self.comparison.bad.runs:
            threads, processes = run.recording.table("threads"), run.recording.table("processes")
            seconds = np.zeros(threads.num_rows)
            for rows, times in self._times(run):
                chosen = flags[rows["node"]]
                seconds += sums(rows["thread"][chosen].astype(np.int64), times[chosen] / 1e9, len(seconds))
            for thread in np.flatnonzero(seconds).tolist():
                process = int(column(threads, "process")[thread])
                executable = str(processes.column("executable")[process].as_py()) if process >= 0 else ""
                name = str(threads.column("name")[thread].as_py())
                spent[PurePosixPath(executable).name, name] += float(seconds[thread])
        return max(spent, key=lambda one: (spent[one], one), default=("", ""))

    def place(self, function: int) -> tuple[Place, tuple[HotLine, ...]]:
        """The line in the function's code from which most of the added time came."""
        index = self.comparison.index
        gained: defaultdict[tuple[str, int], float] = defaultdict(float)
        for side, sign in ((self.comparison.bad, 1.0), (self.comparison.good, -1.0)):
            for run in side.runs:
                for stack, seconds in self._by_stack(run, function):
                    frame = index.innermost_frame(run, stack, function)
                    if frame is not None and run.frame_line[frame]:
                        spot = (str(run.frames.column("file")[frame].as_py()), run.frame_line[frame])
                        gained[spot] += sign * seconds / len(side.runs)
        grown = {spot: seconds for spot, seconds in gained.items() if seconds > 0}
        if not grown:
            declared = (index.declared_line[run].get(function, 0) for run in index.bad)
            return Place(index.functions[function].file, next((line for line in declared if line), 0)), ()
        file, line = max(grown, key=lambda spot: (grown[spot], spot))
        total = sum(grown.values())
        share = {at: seconds / total for (where, at), seconds in grown.items() if where == file}
        return Place(file, line), lines_around(index.bad, file, line, share)

    def _nodes_of(self, function: int) -> Flags:
        comparison = self.comparison
        flags: Flags = comparison.contexts.function[comparison.answering] == function
        return flags

    def _waits(self, function: int, runs: Sequence[Run]) -> dict[tuple[int, int], Floats]:
        """Mean seconds and counts by kind and system call."""
        found: defaultdict[tuple[int, int], Floats] = defaultdict(lambda: np.zeros(2))
        for run in runs:
            waits, blocked, kinds = self._of(run)
            chosen = self._here(run, function) & (blocked > 0)
            each = self._per_unit(run, waits["node"][chosen]) / len(runs)
            keys = kinds[chosen].astype(np.int64) << 32 | (waits["call"][chosen].astype(np.int64) & 0xFFFFFFFF)
            unique, where = np.unique(keys, return_inverse=True)
            seconds, counts = (sums(where, each * one, len(unique)) for one in (blocked[chosen] / 1e9, 1.0))
            for key, one, count in zip(unique.tolist(), seconds.tolist(), counts.tolist(), strict=True):
                call = np.int64(key & 0xFFFFFFFF).astype(np.int32)
                found[key >> 32, int(call)] += np.array([one, count])
        return dict(found)

    def _of(self, run: Run) -> tuple[Records, Ints, Kinds]:
        return self.comparison.followed[run].waits, self.comparison.counted[run].blocked, self._kinds[run]

    @cached_property
    def _kinds(self) -> dict[Run, Kinds]:
        return {run: kinds_of(followed.waits) for run, followed in self.comparison.followed.items()}

    @cached_property
    def _outside_names(self) -> dict[Run, dict[int, str]]:
        """Threads that are not the program's, with their programs' names."""
        found = {}
        for run in self.comparison.followed:
            names = [PurePosixPath(path).name for path in texts(run.recording.table("processes"), "executable")]
            process_of = column(run.recording.table("threads"), "process").tolist()
            program = members(run).program
            found[run] = {
                thread: names[process]
                for thread, process in enumerate(process_of)
                if not program[thread] and process >= 0 and names[process]
            }
        return found

    def _here(self, run: Run, function: int) -> Flags:
        """Which of a run's waits the function answers for."""
        flags = np.append(self._nodes_of(function), False)
        here: Flags = flags[self.comparison.followed[run].waits["node"]]
        return here

    def _by_stack(self, run: Run, function: int) -> Iterator[tuple[int, float]]:
        """Seconds per unit of work that the function answers for, by stack."""
        flags = np.append(self._nodes_of(function), False)
        for rows, times in self._times(run):
            chosen = flags[rows["node"]] & (times > 0)
            stacks, where = np.unique(rows["stack"][chosen], return_inverse=True)
            seconds = sums(where, self._per_unit(run, rows["node"][chosen]) * times[chosen] / 1e9, len(stacks))
            yield from zip(stacks.tolist(), seconds.tolist(), strict=True)

    def _per_unit(self, run: Run, nodes: Ints) -> Floats:
        return np.broadcast_to(self.comparison.unit.factor[run], len(self.comparison.contexts))[nodes]

    def _times(self, run: Run) -> tuple[tuple[Records, Ints], tuple[Records, Ints]]:
        """Waits and samples with the nanoseconds of each that count."""
        followed, counted = self.comparison.followed[run], self.comparison.counted[run]
        return (followed.waits, counted.blocked), (followed.samples, counted.running)


def _alternate(good: Floats, bad: Floats) -> Iterator[float]:
    """Seconds of good and bad, then counts of good and bad."""
    return (float(side[at]) for at in range(2) for side in (good, bad))
