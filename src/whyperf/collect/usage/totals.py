"""What a target and its descendants used, from /proc while they live and from the kernel's account when they end."""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from whyperf.recording.sealed.manifest import Totals

Thread = tuple[int, int]  # process and thread

_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class LongestWaits:
    """How long the thread that waited longest was ready to run without getting a CPU."""

    of_any_s: float = 0.0
    of_main_s: float = 0.0  # of main threads alone: each lives as long as its process does

    def __or__(self, other: LongestWaits) -> LongestWaits:
        return LongestWaits(max(self.of_any_s, other.of_any_s), max(self.of_main_s, other.of_main_s))


@dataclass(frozen=True)
class Usage:
    """Amounts used so far. Differences of two of them are what was used in between; the peak of memory is a peak."""

    cpu_user_s: float = 0.0
    cpu_system_s: float = 0.0
    max_rss_bytes: int = 0
    read_bytes: int = 0
    written_bytes: int = 0
    voluntary_switches: int = 0
    involuntary_switches: int = 0
    major_faults: int = 0
    cpu_waits: Mapping[Thread, float] = field(default_factory=dict)

    def since(self, start: Usage, wall_s: float, *, seen: LongestWaits | None = None) -> Totals:
        """Totals of the window that began with `start`: never negative, though processes go away unaccounted.

        `seen` is what threads had waited for a CPU when they were last looked at: they may have ended since.
        """
        waits = longest_waits(self.cpu_waits, start) | (seen or LongestWaits())
        return Totals(
            wall_s=max(wall_s, 0.0),
            cpu_user_s=max(self.cpu_user_s - start.cpu_user_s, 0.0),
            cpu_system_s=max(self.cpu_system_s - start.cpu_system_s, 0.0),
            max_rss_bytes=self.max_rss_bytes,
            read_bytes=max(self.read_bytes - start.read_bytes, 0),
            written_bytes=max(self.written_bytes - start.written_bytes, 0),
            voluntary_switches=max(self.voluntary_switches - start.voluntary_switches, 0),
            involuntary_switches=max(self.involuntary_switches - start.involuntary_switches, 0),
            major_faults=max(self.major_faults - start.major_faults, 0),
            cpu_wait_s=waits.of_any_s,
            main_cpu_wait_s=waits.of_main_s,
        )

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.cpu_user_s + other.cpu_user_s,
            self.cpu_system_s + other.cpu_system_s,
            max(self.max_rss_bytes, other.max_rss_bytes),
            self.read_bytes + other.read_bytes,
            self.written_bytes + other.written_bytes,
            self.voluntary_switches + other.voluntary_switches,
            self.involuntary_switches + other.involuntary_switches,
            self.major_faults + other.major_faults,
            {**self.cpu_waits, **other.cpu_waits},
        )


@dataclass(frozen=True)
class Identity:
    """A process for good: numbers are reused, the moment of its start is not."""

    pid: int
    start: int


def process_tree(root: int) -> list[Identity]:
    """The process and its living descendants, parents first."""
    children = _children_by_task if Path(f"/proc/{root}/task/{root}/children").exists() else _children_by_scan()
    found = [identity] if (identity := identify(root)) else []
    for process in found:
        found += [identity for child in children(process.pid) if (identity := identify(child)) is not None]
    return found


def identify(pid: int) -> Identity | None:
    fields = _stat(pid)
    return None if fields is None else Identity(pid, int(fields[19]))


def is_running(process: Identity) -> bool:
    fields = _stat(process.pid)
    return fields is not None and int(fields[19]) == process.start and fields[0] not in ("Z", "X")


def usage_of(pids: Iterable[int]) -> Usage:
    """What living processes used, with all descendants that they have waited for."""
    return sum((_usage_of_one(pid) for pid in pids), start=Usage())


def machine_usage() -> Usage:
    """What all CPUs did since the machine was started."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        lines = Path("/proc/stat").read_text().splitlines()
        user, nice, system, _, _, interrupts, soft = map(int, lines[0].split()[1:8])
        switches = next((int(line.split()[1]) for line in lines if line.startswith("ctxt ")), 0)
        return Usage(
            cpu_user_s=(user + nice) * _TICK_S,
            cpu_system_s=(system + interrupts + soft) * _TICK_S,
            voluntary_switches=switches,
        )
    return Usage()


def io_bytes(pid: int) -> tuple[int, int]:
    """Bytes read from and written to storage; a process that ended keeps its account until it is reaped."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        lines = Path(f"/proc/{pid}/io").read_text().splitlines()
        account = {name: int(value) for name, value in (line.split(": ") for line in lines)}
        return account["read_bytes"], account["write_bytes"]
    return 0, 0


@dataclass(frozen=True)
class LastWords:
    """What the kernel tells of an ended process only until it is reaped."""

    storage: tuple[int, int]
    cpu_waits: Mapping[Thread, float]  # of its first thread; others are gone by then


def last_words(pid: int) -> LastWords:
    return LastWords(io_bytes(pid), cpu_waits([(pid, pid)]))


def cpu_waits(threads: Iterable[Thread]) -> dict[Thread, float]:
    """How long threads were ready to run without running; nothing of those for which the kernel does not keep count."""
    waits: dict[Thread, float] = {}
    for pid, tid in threads:
        with contextlib.suppress(OSError, ValueError, IndexError):
            waits[pid, tid] = int(Path(f"/proc/{pid}/task/{tid}/schedstat").read_text().split()[1]) / 1e9
    return waits


def longest_waits(waits: Mapping[Thread, float], start: Usage) -> LongestWaits:
    """Take the longest since then, not the sum: threads mostly wait side by side, or for each other."""
    longest = LongestWaits()
    for (pid, tid), waited in waits.items():
        since = waited - start.cpu_waits.get((pid, tid), 0.0)
        longest |= LongestWaits(since, since if pid == tid else 0.0)
    return longest


def usage_at_end(reaped: resource.struct_rusage, said: LastWords, seen: Usage, inherited_rss_bytes: int) -> Usage:
    """What a child used in its whole life, with all descendants that it waited for; `seen` is what it had before.

    Linux starts a child's peak of memory with that of the memory it was spawned from, so a peak no higher than the
    recorder's own says nothing; the highest one seen while it ran stands in, or 0, unknown, if it was over too soon.
    """
    peak = reaped.ru_maxrss * 1024
    if peak <= inherited_rss_bytes:
        peak = seen.max_rss_bytes
    return Usage(
        cpu_user_s=reaped.ru_utime,
        cpu_system_s=reaped.ru_stime,
        max_rss_bytes=peak,
        read_bytes=said.storage[0],
        written_bytes=said.storage[1],
        voluntary_switches=reaped.ru_nvcsw,
        involuntary_switches=reaped.ru_nivcsw,
        major_faults=reaped.ru_majflt,
        cpu_waits=said.cpu_waits,
    )


def peak_rss_bytes(pid: int) -> int:
    return memory_of(pid)[0]


def memory_of(pid: int) -> tuple[int, int]:
    """The peak of resident memory, and what is in swap now; bytes."""
    status = _status_lines(f"/proc/{pid}/status")
    return status.get("VmHWM", 0) * 1024, status.get("VmSwap", 0) * 1024


def thread_names(pid: int) -> dict[int, str]:
    """Names of a process's threads, as they are now."""
    names: dict[int, str] = {}
    for thread in _threads(pid):
        with contextlib.suppress(OSError):
            names[int(thread)] = Path(f"/proc/{pid}/task/{thread}/comm").read_text(errors="replace").rstrip("\n")
    return names


def _usage_of_one(pid: int) -> Usage:
    fields = _stat(pid)
    if fields is None:
        return Usage()
    switches, peak = [0, 0], 0
    # A process's own counts are its first thread's only.
    threads = _threads(pid)
    for thread in threads:
        lines = _status_lines(f"/proc/{pid}/task/{thread}/status")
        switches[0] += lines.get("voluntary_ctxt_switches", 0)
        switches[1] += lines.get("nonvoluntary_ctxt_switches", 0)
        peak = max(peak, lines.get("VmHWM", 0) * 1024)
    read, written = io_bytes(pid)
    return Usage(
        cpu_user_s=(int(fields[11]) + int(fields[13])) * _TICK_S,
        cpu_system_s=(int(fields[12]) + int(fields[14])) * _TICK_S,
        max_rss_bytes=peak,
        read_bytes=read,
        written_bytes=written,
        voluntary_switches=switches[0],
        involuntary_switches=switches[1],
        major_faults=int(fields[9]) + int(fields[10]),
        cpu_waits=cpu_waits((pid, int(thread)) for thread in threads),
    )


def _status_lines(path: str) -> dict[str, int]:
    wanted: dict[str, int] = {}
    with contextlib.suppress(OSError, ValueError):
        for line in Path(path).read_text(errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name in ("VmHWM", "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"):
                wanted[name] = int(value.split()[0])
    return wanted


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat from the third on (state, parent, ...): the second may hold anything."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None


def _children_by_task(pid: int) -> list[int]:
    children: list[int] = []
    for thread in _threads(pid):
        with contextlib.suppress(OSError, ValueError):
            children += map(int, Path(f"/proc/{pid}/task/{thread}/children").read_text().split())
    return children


def _children_by_scan() -> Callable[[int], list[int]]:
    """For kernels that do not list a task's children."""
    children: dict[int, list[int]] = {}
    for name in Path("/proc").iterdir():
        if name.name.isdigit() and (fields := _stat(int(name.name))):
            children.setdefault(int(fields[1]), []).append(int(name.name))
    return lambda pid: children.get(pid, [])


def _threads(pid: int) -> list[str]:
    try:
        return [path.name for path in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return []
