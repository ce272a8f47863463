"""Processes as the kernel's events tell them: from fork or exec to the next exec, joined with what /proc and the
sampler say of the same ones."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

import numpy as np

from whyperf.collect.tracer.traced import Records, Traced, TracedMappings, TracedProcess
from whyperf.recording.schemas.events import EventKind
from whyperf.seal.participants.processes import Process

_PID_SHIFT = 32
_PIDS = 1 << 22  # the highest that Linux gives


@dataclass
class Life:
    """A process between two moments at which it became another program. Grows while evidence is joined."""

    time: int
    pid: int
    origin: str  # exec, fork or attached
    parent: int = 0
    name: str = ""
    executable: str = ""
    command: tuple[str, ...] = ()
    cgroup: str = ""
    standing: str = ""  # why it is there though nobody asked for it: it was "met", or merely ran "beside"
    sampled: int = -1  # row of the sampler's processes

    def __lt__(self, other: Life) -> bool:
        return self.time < other.time

    def is_of(self, process: Process) -> bool:
        """Whether the sampler can mean this one, by how it began."""
        return self.sampled < 0 and (self.origin == process.origin or "attached" in (self.origin, process.origin))

    def is_later_part_of(self, process: Process) -> bool:
        """Whether only its beginning is missing here: nothing says that it has become another program since."""
        programs = {PurePath(path).name for path in (self.executable, process.executable) if path}
        return self.origin == "attached" and process.start < self.time and len(programs) < 2


class Lives:
    """All lives by pid, in the order of their times."""

    def __init__(self, traced: Traced, sampled: Sequence[Process], sightings: Mapping[int, int]) -> None:
        """`sightings`: when each pid was first seen."""
        self._of: dict[int, list[Life]] = defaultdict(list)
        for life in _born(traced.records):
            self._of[life.pid].append(life)
        for pid, time in sightings.items():
            self._see(pid, time)
        for fact in sorted(traced.processes, key=lambda fact: fact.time):
            self._tell(fact)
        self._reach_back(sampled)
        for number, process in enumerate(sampled):
            self._join(number, process)
        for mappings in traced.mappings:
            self._name_program(mappings)
        self.all = sorted(life for lives in self._of.values() for life in lives)
        self._followed = set(traced.followed) | {process.pid for process in sampled}
        self._dealt = _dealt_with(traced.records) if self._followed else set()
        for life in self.all:
            self._inherit(life)

    def at(self, pid: int, time: int) -> Life | None:
        """Who had the pid then; whoever had it first where nobody had it yet."""
        lives = self._of.get(pid)
        return lives[max(0, bisect_right(lives, time, key=lambda life: life.time) - 1)] if lives else None

    def of(self, pid: int) -> list[Life]:
        return self._of.get(pid, [])

    def _see(self, pid: int, time: int) -> None:
        lives = self._of[pid]
        if lives and lives[0].origin == "attached":
            lives[0].time = min(lives[0].time, time)
        elif not lives or time < lives[0].time:
            lives.insert(0, Life(time, pid, "attached"))

    def _tell(self, fact: TracedProcess) -> None:
        self._see(fact.pid, fact.time)
        life = self.at(fact.pid, fact.time)
        assert life is not None
        # Who forked it, its own event has said; /proc may have been asked when that one was gone.
        life.parent = (life.parent if life.origin == "fork" else 0) or fact.parent or life.parent
        life.name = fact.name or life.name
        life.executable, life.command, life.cgroup = fact.executable, fact.command, fact.cgroup

    def _reach_back(self, sampled: Sequence[Process]) -> None:
        """Whose fork or exec was dropped with the oldest events began when the sampler saw it begin."""
        began: dict[int, int] = {}
        for process in sampled:
            first = next(iter(self.of(process.pid)), None)
            if first is not None and first.is_later_part_of(process):
                began[process.pid] = max(process.start, began.get(process.pid, 0))
        for pid, time in began.items():
            self._of[pid][0].time = time

    def _join(self, number: int, process: Process) -> None:
        life = self.at(process.pid, process.start)
        if life is None or life.time > process.start or not life.is_of(process):
            life = Life(process.start, process.pid, process.origin)
            insort(self._of[process.pid], life)
        life.sampled = number
        life.origin = process.origin if life.origin == "attached" else life.origin
        life.parent = life.parent or process.parent_pid
        # What the program itself told is of its very start, before it could name itself otherwise.
        life.executable = process.executable or life.executable
        life.command = process.command or life.command

    def _name_program(self, mappings: TracedMappings) -> None:
        life = self.at(mappings.pid, mappings.time)
        if life is not None and not life.executable and life.origin != "fork" and mappings.rows:
            # Gone before it could be asked: a program lies below its libraries.
            life.executable = min(mappings.rows, key=lambda row: row.start).path

    def _inherit(self, life: Life) -> None:
        before = self._before(life)
        asked_for = not self._followed or life.pid in self._followed
        if before is None:
            life.standing = "" if asked_for else "met" if life.pid in self._dealt else "beside"
            return
        life.standing = "" if asked_for else before.standing
        life.cgroup = life.cgroup or before.cgroup
        if life.origin == "fork":
            life.executable, life.command = life.executable or before.executable, life.command or before.command

    def _before(self, life: Life) -> Life | None:
        """Who forked it, or what it was before the exec."""
        if life.origin == "fork":
            forker = self.at(life.parent, life.time)
            return forker if forker is not life else None
        if life.origin == "exec":
            lives = self._of[life.pid]
            at = next(i for i, other in enumerate(lives) if other is life)
            return lives[at - 1] if at else None
        return None


def _dealt_with(records: Records) -> set[int]:
    """Whoever did something, or had something done to it. Merely running next on a CPU is neither."""
    dealt = np.zeros(_PIDS, bool)
    dealt[records["pid"] & np.uint32(_PIDS - 1)] = True
    to_others = records["other"][records["kind"] != EventKind.SWITCH] >> np.uint64(_PID_SHIFT)
    dealt[to_others & np.uint64(_PIDS - 1)] = True
    return set(np.flatnonzero(dealt).tolist())


def _born(records: Records) -> Iterator[Life]:
    births = records[np.isin(records["kind"], (EventKind.FORK, EventKind.EXEC))]
    columns = (births["time"], births["kind"], births["pid"], births["other"], names_of(births))
    for time, kind, pid, other, name in zip(*(np.asarray(column).tolist() for column in columns), strict=True):
        child = other >> _PID_SHIFT
        if kind == EventKind.EXEC:
            yield Life(time, pid, "exec", name=name)
        elif child != pid and child:  # else it is a thread
            yield Life(time, child, "fork", parent=pid, name=name)


def names_of(records: Records) -> list[str]:
    """What fork, exec and rename say: a name in the first two arguments."""
    raw = np.ascontiguousarray(records["argument"][:, :2]).view("S16").ravel().tolist()
    return [name.split(b"\0", 1)[0].decode(errors="replace") for name in raw]
