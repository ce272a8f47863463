"""Code made at run time: just-in-time compilers name it in /tmp/perf-PID.map, one `start size name` a line, in hex."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from whyperf.debuginfo.code_map import Addresses
from whyperf.debuginfo.places import last_at_or_before
from whyperf.debuginfo.texts import Texts

_BYTES_MAX = 1 << 30
_ADDRESS_MAX = 1 << 64


@dataclass(frozen=True, eq=False)
class PerfMap:
    """Functions by address. Memory is used again: where entries overlap the one written last holds."""

    start: Addresses
    end: Addresses
    names: Texts

    def resolve(self, addresses: npt.ArrayLike) -> list[str | None]:
        wanted = np.asarray(addresses, np.uint64)
        row = last_at_or_before(self.start, wanted)
        return [
            self.names[r] if r >= 0 and address < self.end[r] else None for r, address in zip(row, wanted, strict=True)
        ]


def read_perf_map(pid: int) -> PerfMap | None:
    """The map that process `pid` wrote; None when there is none."""
    for path in _candidates(pid):
        text = _read(path)
        if text is not None:
            return parse_perf_map(text)
    return None


def parse_perf_map(text: str) -> PerfMap:
    """Lines that make no sense, such as the last one of a process that was killed, are passed over."""
    entries: dict[int, tuple[int, str]] = {}
    for line in text.splitlines():
        parts = line.split(None, 2)
        try:
            start, size, name = int(parts[0], 16), int(parts[1], 16), parts[2].strip()
        except (IndexError, ValueError):
            continue
        if size > 0 and start >= 0 and start + size < _ADDRESS_MAX and name:
            entries.pop(start, None)
            entries[start] = (size, name)
    return _without_overlaps(entries)


def _without_overlaps(entries: dict[int, tuple[int, str]]) -> PerfMap:
    """`entries` in the order they were written. Of older code only what lies before newer code is left."""
    written = {start: i for i, start in enumerate(entries)}
    kept: list[tuple[int, int, str]] = []
    for start in sorted(entries):
        size, name = entries[start]
        if kept and kept[-1][1] > start:
            before, _, name_before = kept[-1]
            if written[before] > written[start]:
                continue
            kept[-1] = (before, start, name_before)
        kept.append((start, start + size, name))
    starts, ends, names = zip(*kept, strict=True) if kept else ((), (), ())
    return PerfMap(np.array(starts, np.uint64), np.array(ends, np.uint64), Texts.of(names))


def _candidates(pid: int) -> list[Path]:
    """Within the process's own view of /tmp and of its number first: it may live in a container."""
    inner = pid
    try:
        for line in Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines():
            if line.startswith("NSpid:"):
                inner = int(line.split()[-1])
    except (OSError, ValueError):
        pass
    return [Path(f"/proc/{pid}/root/tmp/perf-{inner}.map"), Path(f"/tmp/perf-{pid}.map")]


def _read(path: Path) -> str | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        return file.read(_BYTES_MAX).decode("utf-8", "replace")
