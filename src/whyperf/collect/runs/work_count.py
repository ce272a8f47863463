"""Counting calls of a function as units of work, by kernel uprobes.

Events are opened for every CPU, not for the target: an inherited uprobe event loses counts when the scheduler
swaps the event contexts of parent and child. The price: calls in any other process that runs the same file count too.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import shlex
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

from whyperf.collect.latency.plans import file_and_name
from whyperf.collect.perf_events import open_event
from whyperf.collect.target.program import Program
from whyperf.errors import WhyperfError

_TYPE_FILE = Path("/sys/bus/event_source/devices/uprobe/type")


class CallCounter:
    """Counts entries into the code at given offsets of a file."""

    def __init__(self, path: str, offsets: tuple[int, ...]) -> None:
        self._events: list[int] = []
        try:
            kind = int(_TYPE_FILE.read_text())
        except (OSError, ValueError):
            raise WhyperfError(
                "This kernel has no uprobe events, so calls cannot be counted; let the driver print work=N."
            ) from None
        name = ctypes.create_string_buffer(os.fsencode(os.path.realpath(path)))
        try:
            for offset in offsets:
                for cpu in sorted(os.sched_getaffinity(0)):
                    event = open_event(
                        kind, 0, pid=-1, cpu=cpu, flags=0, config1=ctypes.addressof(name), config2=offset
                    )
                    self._events.append(event)
        except OSError as error:
            self.close()
            raise _not_counted(error) from None

    def count(self) -> int:
        return sum(struct.unpack("<Q", os.read(event, 8))[0] for event in self._events)

    def close(self) -> None:
        for event in self._events:
            with contextlib.suppress(OSError):
                os.close(event)
        self._events.clear()


def counter_for(function: str, program: str) -> CallCounter:
    """Counts calls of `FUNCTION` in the program, or of `FILE:FUNCTION` in another file, such as a library."""
    file, name = file_and_name(function)
    return _counter([file or program], name)


def counter_again(
    function: str, program: Program, environment: Mapping[str, str], folder: Path | None = None
) -> CallCounter:
    """Counts what an earlier run counted or timed: a function of the program, or of what is loaded with it. `folder`:
    where that run was started."""
    from whyperf.collect.target.loaded_files import paths_of

    file, name = file_and_name(function)
    return _counter([str((folder or Path()) / file)] if file else paths_of(program, environment), name)


def _counter(files: Sequence[str], name: str) -> CallCounter:
    from whyperf.debuginfo.describe import describe

    for file in files:
        binary = describe(file)
        entries = [address for row in binary.function_at(name) for address in binary.entry_addresses(row)]
        offsets = tuple(offset for address in entries if (offset := binary.file_offset(address)) >= 0)
        if offsets:
            return CallCounter(file, offsets)
    raise WhyperfError(
        f"{files[0]} has no function `{name}` whose calls could be counted.",
        f"nm -C --defined-only {shlex.quote(files[0])} | grep -i {shlex.quote(name)}",
    )


def _not_counted(error: OSError) -> WhyperfError:
    if error.errno in (errno.EACCES, errno.EPERM):
        return WhyperfError(
            "Counting calls needs the privilege to place uprobes; without it let the driver print lines work=N.",
            "sudo whyperf record --work-count FUNCTION -- ...",
        )
    return WhyperfError(f"The kernel places no uprobe, which would count calls: {error.strerror}.")
