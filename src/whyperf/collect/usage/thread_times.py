"""What each thread's time went into: running, waiting for a CPU, or blocked in which system call.

The kernel counts the first two for every thread. The rest is blocked, and looks at what the thread is in, at least ten
times a second, say in what: a look stands for the time since the one before. Nothing is signalled, stopped or unwound.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from whyperf.collect.usage.totals import Thread
from whyperf.recording.names.call_numbering import recorded_number
from whyperf.recording.names.system_calls import NAMES
from whyperf.recording.sealed.manifest import ThreadTimes

_MOST_THREADS = 64
_ON_DESCRIPTOR = frozenset({"read", "write", "readv", "writev"})
_UNKNOWN = "other"


@dataclass
class _Account:
    """One thread since the window opened."""

    name: str
    began: float
    run_before: float
    ready_before: float
    turns_before: int
    last: float = 0.0
    run_s: float = 0.0
    ready_s: float = 0.0
    turns: int = 0
    in_calls: dict[str, float] = field(default_factory=dict)
    """Seconds for which looks that saw the thread in a call stand."""

    def times(self, *, main: bool) -> ThreadTimes:
        lived = max(self.last - self.began, 0.0)
        blocked = max(lived - self.run_s - self.ready_s, 0.0)
        all_seen = sum(self.in_calls.values())
        parts = {call: blocked * seen / all_seen for call, seen in self.in_calls.items()} if all_seen else {}
        return ThreadTimes(self.name, main, lived, self.run_s, self.ready_s, self.turns, parts)


class ThreadAccounts:
    """Accounts of the threads that are looked at; those of ended threads are kept. One thread may look while another
    asks for the times."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._machine = os.uname().machine
        self._guard = threading.Lock()
        self._accounts: dict[Thread, _Account] = {}
        self._looked = 0.0

    def open_window(self, threads: Iterable[Thread], now: float) -> None:
        """What threads have done so far is not compared."""
        with self._guard:
            self._accounts.clear()
            self._looked = now
            for pid, tid in threads:
                with contextlib.suppress(OSError, ValueError):
                    run, ready, turns = _counted(pid, tid)
                    self._accounts[pid, tid] = _Account(_name(pid, tid), now, run, ready, turns, now)

    def look(self, threads: Iterable[Thread], now: float) -> None:
        """Ended threads that nobody has reaped yet are in no call."""
        with self._guard:
            for pid, tid in threads:
                if (pid, tid) in self._accounts or len(self._accounts) < _MOST_THREADS:
                    with contextlib.suppress(OSError, ValueError, IndexError):
                        self._look_at(pid, tid, now)
            self._looked = now

    def _look_at(self, pid: int, tid: int, now: float) -> None:
        run, ready, turns = _counted(pid, tid)
        account = self._accounts.get((pid, tid))
        if account is None:  # it began since the last look
            account = self._accounts[pid, tid] = _Account(_name(pid, tid), self._looked, 0.0, 0.0, 0)
        account.last = now
        account.run_s = run - account.run_before
        account.ready_s = ready - account.ready_before
        account.turns = turns - account.turns_before
        call = self._call(pid, tid)
        if call:
            account.in_calls[call] = account.in_calls.get(call, 0.0) + now - max(self._looked, account.began)

    def _call(self, pid: int, tid: int) -> str:
        """The system call in which a thread is blocked, with the kind of file where that says more; empty: none."""
        words = _text(f"/proc/{pid}/task/{tid}/syscall").split()
        if words[0] == "running" or words == ["-1", "0x0", "0x0"]:
            return ""
        number = int(words[0])
        name = NAMES.get(recorded_number(number, self._machine), _UNKNOWN) if number >= 0 else _UNKNOWN
        if name not in _ON_DESCRIPTOR:
            return name
        with contextlib.suppress(OSError):
            target = os.readlink(f"/proc/{pid}/fd/{int(words[1], 16)}")  # noqa: PTH115
            return f"{name}:{target.partition(':')[0] if ':' in target and target[0] != '/' else 'file'}"
        return name

    def times(self) -> tuple[ThreadTimes, ...]:
        """Of the busiest first."""
        with self._guard:
            every = [one.times(main=thread == (self._target, self._target)) for thread, one in self._accounts.items()]
        return tuple(sorted(every, key=lambda one: -(one.run_s + one.runnable_s)))


class QuotaWatch:
    """The CPU quota of the target's control group, and how long it stopped the group."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._seen: dict[Path, tuple[float, float]] = {}

    def look(self) -> None:
        for file in _cpu_statistics(self._target):
            with contextlib.suppress(OSError, ValueError, KeyError):
                value = _throttled_s(file)
                # A new one: another thread may be reading the old one.
                self._seen = {**self._seen, file: (self._seen.get(file, (value, value))[0], value)}

    @property
    def throttled_s(self) -> float:
        return max((last - first for first, last in self._seen.values()), default=0.0)

    @property
    def cpus(self) -> float:
        """That the quota of the group that was stopped allows; 0: none, or unknown."""
        for file, (first, last) in self._seen.items():
            if last > first:
                with contextlib.suppress(OSError, ValueError, ZeroDivisionError):
                    return _quota(file.parent)
        return 0.0


def _quota(group: Path) -> float:
    if (group / "cpu.max").exists():
        allowed, period = (group / "cpu.max").read_text().split()
    else:
        allowed, period = ((group / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
    return max(float(allowed) / float(period), 0.0)


def _cpu_statistics(pid: int) -> list[Path]:
    """Of the group that the process is in, by version 2 of control groups or 1."""
    found = []
    with contextlib.suppress(OSError):
        for line in _text(f"/proc/{pid}/cgroup").splitlines():
            _, controllers, path = line.split(":", 2)
            if not controllers:
                found.append(Path(f"/sys/fs/cgroup{path}/cpu.stat"))
            elif "cpu" in controllers.split(","):
                found.append(Path(f"/sys/fs/cgroup/{controllers}{path}/cpu.stat"))
                found.append(Path(f"/sys/fs/cgroup/cpu{path}/cpu.stat"))
    return [file for file in dict.fromkeys(found) if file.exists()]


def _throttled_s(file: Path) -> float:
    values = dict(line.split() for line in file.read_text().splitlines())
    return int(values["throttled_usec"]) / 1e6 if "throttled_usec" in values else int(values["throttled_time"]) / 1e9


def _counted(pid: int, tid: int) -> tuple[float, float, int]:
    """Seconds on a CPU, seconds in the run queue, and how often it got a CPU."""
    run, ready, turns = _text(f"/proc/{pid}/task/{tid}/schedstat").split()
    return int(run) / 1e9, int(ready) / 1e9, int(turns)


def _name(pid: int, tid: int) -> str:
    return _text(f"/proc/{pid}/task/{tid}/comm").rstrip("\n")


def _text(path: str) -> str:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, 4096).decode(errors="replace")
    finally:
        os.close(descriptor)
