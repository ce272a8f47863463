"""Arms sites again that have stopped a process too often, from outside: it has no thread for that itself.

A site that is said to be armed always has its trap: here the trap is written first, in the process the flag goes first.
"""

from __future__ import annotations

import contextlib
import os
import re
import struct
from pathlib import Path

import numpy as np

from whyperf.collect.observation.record_files import SUFFIX, RecordingProcess, opened, processes
from whyperf.collect.observation.sites import Rows
from whyperf.collect.observation.tally import Tally

_LOOK_EVERY = 10  # rounds
_AT_A_TIME = 4  # sites of a process
_TRAPS = {"x86-64": b"\xcc", "64-bit ARM": struct.pack("<I", 0xD4200000 | 0x575 << 5)}
_START_AT = 24  # of `start_ns` in the header
_TRACER = re.compile(rb"^TracerPid:\t([1-9])", re.MULTILINE)


class Arming:
    """Processes that have ended go into the tally, and their files away."""

    def __init__(self, folder: Path, sites: int, machine: str, hits: int, tally: Tally) -> None:
        self._folder, self._sites, self._hits, self._tally = folder, sites, hits, tally
        self._trap = _TRAPS[machine]
        self._known: dict[Path, _Memory | None] = {}
        self._rounds = 0

    def look(self) -> None:
        """One round."""
        if self._rounds % _LOOK_EVERY == 0:
            self._find_new()
            for path, memory in list(self._known.items()):
                if memory is not None:
                    self._look_after(path, memory)
        self._rounds += 1
        for memory in self._known.values():
            if memory is not None:
                self._arm(memory)

    def close(self) -> None:
        """What still runs is seen no longer."""
        for memory in self._known.values():
            if memory is not None:
                memory.close()
        self._known.clear()
        for process in processes(self._folder):
            self._tally.add(process)

    def _find_new(self) -> None:
        with contextlib.suppress(OSError):
            for path in self._folder.glob(f"*{SUFFIX}"):
                if path not in self._known:
                    process = opened(path)
                    if process is not None:
                        self._known[path] = _memory_of(process)

    def _look_after(self, path: Path, memory: _Memory) -> None:
        if memory.has_ended():
            self._tally.add(memory.process)
            memory.close()
            del self._known[path]  # another process may get the name
            path.unlink(missing_ok=True)
        elif not memory.process.is_left_alone() and _is_traced(memory.process.pid):
            self._disarm(memory)

    def _arm(self, memory: _Memory) -> None:
        rows = memory.process.sites[: self._sites]
        waiting = np.flatnonzero((rows["armed"] == 0) & _traps_of(rows))
        # In turn, so that many sites cost no more than a few.
        behind = np.searchsorted(waiting, memory.armed_last, side="right")
        for row in np.roll(waiting, -behind)[:_AT_A_TIME].tolist():
            site = rows[row]
            memory.armed_last = row
            old = site["old"].tobytes()[: int(site["bytes"])]
            with memory.process.arming():
                is_as_it_was = memory.read(int(site["address"]), len(old)) == old
                if is_as_it_was and not site["armed"] and not memory.process.is_left_alone():
                    site["armed_until"] = site["hits"] + self._hits
                    memory.write(int(site["address"]), self._trap)
                    site["armed"] = 1

    def _disarm(self, memory: _Memory) -> None:
        """The traps would go to whoever traces the process."""
        memory.process.note_traced()
        rows = memory.process.sites[: self._sites]
        for row in np.flatnonzero((rows["armed"] == 1) & _traps_of(rows)).tolist():
            site = rows[row]
            site["armed"], site["disarmed"] = 0, 1
            if memory.read(int(site["address"]), len(self._trap)) == self._trap:
                memory.write(int(site["address"]), site["old"].tobytes()[: len(self._trap)])


class _Memory:
    """A process' memory. The descriptor stays that memory's when the process starts another program."""

    def __init__(self, process: RecordingProcess, descriptor: int | None) -> None:
        self.process, self._descriptor = process, descriptor
        self.armed_last = -1

    def has_ended(self) -> bool:
        """Where the first thread of several has ended, its number says nothing."""
        there = self.read(self.process.mapped_at + _START_AT, 8) == struct.pack("<Q", self.process.start_ns)
        return not there and _threads(self.process.pid) <= 1

    def read(self, at: int, size: int) -> bytes:
        try:
            return os.pread(self._descriptor, size, at) if self._descriptor is not None else b""
        except OSError:
            return b""

    def write(self, at: int, content: bytes) -> None:
        with contextlib.suppress(OSError):
            if self._descriptor is not None:
                os.pwrite(self._descriptor, content, at)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)


def _traps_of(rows: Rows) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Sites by which an instruction is armed."""
    found: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = (
        (rows["address"] != 0) & (rows["is_trap"] == 1) & (rows["first"] == np.arange(len(rows)))
    )
    return found


def _threads(pid: int) -> int:
    try:
        return sum(1 for _ in Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return 0


def _is_traced(pid: int) -> bool:
    try:
        return _TRACER.search(Path(f"/proc/{pid}/status").read_bytes()) is not None
    except OSError:
        return False


def _memory_of(process: RecordingProcess) -> _Memory | None:
    """None where the system does not let us: then sites that were left alone stay so."""
    try:
        return _Memory(process, os.open(f"/proc/{process.pid}/mem", os.O_RDWR | os.O_CLOEXEC))
    except (FileNotFoundError, ProcessLookupError):
        return _Memory(process, None)  # it has ended
    except OSError:
        return None
