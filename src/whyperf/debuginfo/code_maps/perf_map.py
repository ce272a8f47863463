"""Code made at run time: just-in-time compilers name it in /tmp/perf-PID.map, one `start size name` a line, in hex."""

from __future__ import annotations

import contextlib
import os
import re
from bisect import bisect_left
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from whyperf.debuginfo.code_maps.code_map import Addresses
from whyperf.debuginfo.code_maps.places import last_at_or_before
from whyperf.debuginfo.code_maps.string_table import Texts
from whyperf.errors import WhyperfError
from whyperf.recording.safe_files.regular_files import opened_regular

_BYTES_MAX = 128 << 20  # about two million functions
_ADDRESS_MAX = 1 << 64
# V8 marks which of its compilers made the code (JS:*parse): the function is the same one in all of them.
_COMPILER = re.compile(r"^([A-Za-z]+:)[~^+*]")


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
    """The map that process `pid` wrote; None when there is none, or only one that another user may have planted."""
    owners = _owners(pid)
    for path in _candidates(pid):
        text = _read(path, owners)
        if text is not None:
            return parse_perf_map(text)
    return None


def parse_perf_map(text: str) -> PerfMap:
    """Lines that make no sense, such as the last one of a process that was killed, are passed over."""
    code = _Written()
    for line in text.splitlines():
        parts = line.split(None, 2)
        try:
            start, size, name = int(parts[0], 16), int(parts[1], 16), parts[2].strip()
        except (IndexError, ValueError):
            continue
        if size > 0 and start >= 0 and start + size < _ADDRESS_MAX and name:
            code.write(start, start + size, _COMPILER.sub(r"\1", name))
    return PerfMap(np.array(code.starts, np.uint64), np.array(code.ends, np.uint64), Texts.of(code.names))


@dataclass(frozen=True)
class _Written:
    """Disjoint regions sorted by address; writing over older ones leaves of them what lies around."""

    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def write(self, start: int, end: int, name: str) -> None:
        first, last = bisect_left(self.starts, start), bisect_left(self.starts, end)
        if first and self.ends[first - 1] > start:
            first -= 1
        pieces = [(start, end, name)]
        if first < last:
            if self.starts[first] < start:
                pieces.insert(0, (self.starts[first], start, self.names[first]))
            if self.ends[last - 1] > end:
                pieces.append((end, self.ends[last - 1], self.names[last - 1]))
        self.starts[first:last], self.ends[first:last], self.names[first:last] = map(list, zip(*pieces, strict=True))


def _candidates(pid: int) -> list[Path]:
    """Within the process's own view of /tmp and of its number first: it may live in a container."""
    inner = pid
    try:
        for line in Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines():
            if line.startswith("NSpid:"):
                inner = int(line.split()[-1])
    except (OSError, ValueError):
        pass
    seen_by_process = Path("/proc", str(pid), "root")
    return [seen_by_process / "tmp" / f"perf-{inner}.map", Path(f"/tmp/perf-{pid}.map")]


def _owners(pid: int) -> set[int]:
    """Whose map is believed: root's, this user's, and while the process lives that of the user it runs as."""
    owners = {0, os.geteuid()}
    with contextlib.suppress(OSError):
        owners.add(os.stat(f"/proc/{pid}").st_uid)  # noqa: PTH116
    return owners


def _read(path: Path, owners: set[int]) -> str | None:
    try:
        with opened_regular(path) as descriptor:
            if os.fstat(descriptor).st_uid not in owners:
                return None
            with open(descriptor, "rb", closefd=False) as file:
                return file.read(_BYTES_MAX).decode("utf-8", "replace")
    except (OSError, WhyperfError):
        return None
