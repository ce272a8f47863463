"""Arms sites again that have stopped a process too often, from outside: it has no thread for that itself."""

from __future__ import annotations

import contextlib
import os
import struct
from pathlib import Path

import numpy as np

from whyperf.collect.observation.record_files import SUFFIX, RecordingProcess, opened

_LOOK_EVERY = 10  # rounds
_AT_A_TIME = 4  # sites of a process
_TRAPS = {"x86-64": b"\xcc", "64-bit ARM": struct.pack("<I", 0xD4200000 | 0x575 << 5)}
_START_AT = 24  # of `start_ns` in the header


class Arming:
    def __init__(self, folder: Path, sites: int, machine: str, hits: int) -> None:
        self._folder, self._sites, self._hits = folder, sites, hits
        self._trap = _TRAPS[machine]
        self._known: dict[str, _Memory | None] = {}
        self._rounds = 0

    def look(self) -> None:
        """One round."""
        if self._rounds % _LOOK_EVERY == 0:
            self._find_new()
        self._rounds += 1
        for name, memory in self._known.items():
            if memory is not None and not self._arm(memory):
                memory.close()
                self._known[name] = None

    def close(self) -> None:
        for memory in self._known.values():
            if memory is not None:
                memory.close()
        self._known.clear()

    def _find_new(self) -> None:
        with contextlib.suppress(OSError):
            for path in self._folder.glob(f"*{SUFFIX}"):
                if path.name not in self._known:
                    process = opened(path)
                    if process is not None:
                        self._known[path.name] = _memory_of(process)

    def _arm(self, memory: _Memory) -> bool:
        """False when the process is gone."""
        rows = memory.process.sites[: self._sites]
        left_alone = (rows["armed"] == 0) & (rows["address"] != 0) & (rows["is_trap"] == 1)
        waiting = np.flatnonzero(left_alone & (rows["first"] == np.arange(len(rows))))
        if not len(waiting):
            return True
        if not memory.is_still_there():
            return False
        # In turn, so that many sites cost no more than a few.
        behind = np.searchsorted(waiting, memory.armed_last, side="right")
        for row in np.roll(waiting, -behind)[:_AT_A_TIME].tolist():
            site = rows[row]
            memory.armed_last = row
            old = site["old"].tobytes()[: int(site["bytes"])]
            if memory.read(int(site["address"]), len(old)) == old:
                site["armed_until"] = site["hits"] + self._hits
                site["armed"] = 1
                memory.write(int(site["address"]), self._trap)
        return True


class _Memory:
    """A process' memory. The descriptor stays that memory's when the process starts another program."""

    def __init__(self, process: RecordingProcess, descriptor: int) -> None:
        self.process, self._descriptor = process, descriptor
        self.armed_last = -1

    def is_still_there(self) -> bool:
        said = self.read(self.process.mapped_at + _START_AT, 8)
        return said == struct.pack("<Q", self.process.start_ns) and not _is_sandboxed(self.process)

    def read(self, at: int, size: int) -> bytes:
        try:
            return os.pread(self._descriptor, size, at)
        except OSError:
            return b""

    def write(self, at: int, content: bytes) -> None:
        with contextlib.suppress(OSError):
            os.pwrite(self._descriptor, content, at)

    def close(self) -> None:
        os.close(self._descriptor)


def _is_sandboxed(process: RecordingProcess) -> bool:
    """By now."""
    return bool(struct.unpack_from("<I", process.content[:80].tobytes(), 64)[0])


def _memory_of(process: RecordingProcess) -> _Memory | None:
    """None where the system does not let us: then sites that were left alone stay so."""
    try:
        descriptor = os.open(f"/proc/{process.pid}/mem", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    return _Memory(process, descriptor)
