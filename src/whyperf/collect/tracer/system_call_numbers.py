"""Records of the running kernel with the numbers of system calls that recordings hold."""

from __future__ import annotations

import os

import numpy as np
import numpy.typing as npt

from whyperf.collect.tracer.traced import RECORD, Records
from whyperf.recording.names.call_numbering import recorded_number
from whyperf.recording.names.system_calls import NEWER_FROM
from whyperf.recording.schemas.events import EventKind

# Kinds whose `detail` is the number of a system call.
_IN_CALLS = (
    EventKind.SWITCH,
    EventKind.WAKING,
    EventKind.WAKEUP_NEW,
    EventKind.SYSCALL,
    EventKind.SYSCALL_ENTER,
    EventKind.SAMPLE,
)


_FROM_AARCH64 = np.array([recorded_number(number, "aarch64") for number in range(NEWER_FROM)], np.int32)


def recorded_numbers(numbers: npt.NDArray[np.int32], machine: str) -> npt.NDArray[np.int32]:
    """What a recording holds for system calls of a machine."""
    if machine != "aarch64":
        return numbers
    translated = (numbers >= 0) & (numbers < NEWER_FROM)
    return np.where(translated, _FROM_AARCH64[np.where(translated, numbers, 0)], numbers)


def number_calls(records: Records, machine: str) -> None:
    """Changes `records` of a machine, which is named as `uname -m` does."""
    rows = np.flatnonzero(np.isin(records["kind"], _IN_CALLS))
    records["detail"][rows] = recorded_numbers(records["detail"][rows], machine)


def with_recorded_numbers(events: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    """What the tracer's rings gave, by CPU."""
    machine = os.uname().machine
    if machine == "x86_64":
        return events
    return [(cpu, _renumbered(part, machine)) for cpu, part in events]


def _renumbered(part: bytes, machine: str) -> bytes:
    records = np.frombuffer(bytearray(part), RECORD)
    number_calls(records, machine)
    return records.tobytes()
