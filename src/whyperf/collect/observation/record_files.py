"""The files in which processes record: `native/observation/record_file.h` has the same numbers.

A process may have been killed at any moment, and files come from processes that are not trusted: what does not fit is
passed over.
"""

from __future__ import annotations

import contextlib
import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from whyperf.collect.observation.plans import MOST_SITES
from whyperf.collect.observation.sites import RECORD, Rows

SUFFIX = ".records"
_MAGIC, _VERSION = b"WPRECORD", 2
_HEADER = struct.Struct("<8sIiiIQQQQIIIIII")
_SANDBOXED_AT, _TRACED_AT, _CHILDREN_AT, _ARMING_AT = 64, 68, 72, 76
_HEADER_BYTES, _MODULES = 4096, 256
_MODULE = struct.Struct("<QII1008s")
_Head = tuple[bytes, int, int, int, int, int, int, int, int, int, int, int, int, int, int]
SITE = np.dtype(
    [
        ("hits", "<u8"),
        ("address", "<u8"),
        ("armed_until", "<u8"),
        ("records", "<u4"),
        ("armed", "<u4"),
        ("first", "<u4"),
        ("disarmed", "<u4"),
        ("bytes", "<u4"),
        ("old", "V14"),
        ("is_trap", "u1"),
        ("padding", "V5"),
    ]
)
_SITES_AT = _HEADER_BYTES + _MODULES * _MODULE.size
_RECORDS_AT = _SITES_AT + MOST_SITES * SITE.itemsize


@dataclass(frozen=True, eq=False)
class RecordingProcess:
    """What one process has recorded so far; the sites change as it runs on."""

    pid: int
    forked: bool
    start_ns: int
    mapped_at: int
    sites: Rows
    """`SITE`, shared with the process."""
    content: npt.NDArray[np.uint8]

    def is_left_alone(self) -> bool:
        """From now on, because it sandboxes itself or is traced."""
        return self._word(_SANDBOXED_AT) != 0 or self._word(_TRACED_AT) != 0

    @contextlib.contextmanager
    def arming(self) -> Iterator[None]:
        """Before it is left alone, it waits for the end of this: what is asked for within stays so."""
        self.content[_ARMING_AT] = 1
        try:
            yield
        finally:
            self.content[_ARMING_AT] = 0

    def note_traced(self) -> None:
        self.content[_TRACED_AT] = 1

    def not_observed(self) -> dict[str, int]:
        """Whether it was traced or sandboxed, and of how many of its children nothing is known."""
        return {
            "traced": int(self._word(_TRACED_AT) != 0),
            "sandboxed": int(self._word(_SANDBOXED_AT) != 0),
            "children": self._word(_CHILDREN_AT),
        }

    def _word(self, at: int) -> int:
        return int.from_bytes(self.content[at : at + 4].tobytes(), "little")

    def modules(self) -> Iterator[tuple[str, int, int]]:
        """Path, bias, and why nothing is seen in it."""
        count = int(_head(self.content)[9])
        for row in range(min(count, _MODULES)):
            at = _HEADER_BYTES + row * _MODULE.size
            bias, reason, _, path = _MODULE.unpack(self.content[at : at + _MODULE.size].tobytes())
            yield path.split(b"\0", 1)[0].decode(errors="surrogateescape"), bias, reason

    def records(self) -> tuple[Rows, int]:
        """And how many found no room."""
        head = _head(self.content)
        capacity, used = int(head[7]), int(head[8])
        held = self.content[_RECORDS_AT:]
        whole = min(capacity, used, len(held) // RECORD.itemsize)
        rows = held[: whole * RECORD.itemsize].view(RECORD)
        # Those that were begun and not finished have no time.
        return rows[(rows["order"] != 0) & (rows["site"] < MOST_SITES)].copy(), max(0, used - whole)


def opened(path: Path) -> RecordingProcess | None:
    """None for what says nothing."""
    try:
        with path.open("r+b") as file:
            content = np.frombuffer(mmap.mmap(file.fileno(), 0), np.uint8)
    except (OSError, ValueError):
        return None
    if len(content) < _RECORDS_AT:
        return None
    magic, version, pid, _parent, forked, start, mapped_at, *_ = _head(content)
    if magic != _MAGIC or version != _VERSION:
        return None
    sites = content[_SITES_AT:_RECORDS_AT].view(SITE)
    return RecordingProcess(pid, bool(forked), start, mapped_at, sites, content)


def processes(folder: Path) -> list[RecordingProcess]:
    """In the order in which they started."""
    found = (opened(path) for path in folder.glob(f"*{SUFFIX}"))
    return sorted((one for one in found if one is not None), key=lambda one: (one.start_ns, one.pid))


def _head(content: npt.NDArray[np.uint8]) -> _Head:
    head: _Head = _HEADER.unpack(content[: _HEADER.size].tobytes())
    return head
