"""What a system call was passed, without what the program's registers held beyond that: its own data."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from whyperf.collect.tracer.traced import Records
from whyperf.recording.names.system_calls import FEW_ARGUMENTS, NUMBERS
from whyperf.recording.schemas.events import EventKind

_OF_CALLS = (EventKind.SWITCH, EventKind.WAKING, EventKind.SYSCALL, EventKind.SYSCALL_ENTER)
_ARGUMENTS = 3
_RETURN_FROM_SIGNAL = NUMBERS["rt_sigreturn"]  # its result is a register of what the signal interrupted

_taken = np.full(max(NUMBERS.values()) + 1, _ARGUMENTS, np.int8)
for _name, _count in FEW_ARGUMENTS.items():
    _taken[NUMBERS[_name]] = _count


def call_arguments(records: Records) -> list[npt.NDArray[np.uint64]]:
    """The three columns, with 0 where the event's system call takes no such argument, or there is no call."""
    detail = records["detail"]
    known = _taken[np.clip(detail, 0, len(_taken) - 1)]
    taken = np.where(detail < 0, 0, np.where(detail < len(_taken), known, _ARGUMENTS))
    taken[~np.isin(records["kind"], _OF_CALLS)] = _ARGUMENTS
    return [np.where(taken > number, records["argument"][:, number], 0) for number in range(_ARGUMENTS)]


def call_results(records: Records) -> npt.NDArray[np.int64]:
    """The column, with 0 for returns from signal handlers: to some machines these are calls without a number."""
    detail = records["detail"]
    returns = (records["kind"] == EventKind.SYSCALL) & ((detail < 0) | (detail == _RETURN_FROM_SIGNAL))
    return np.where(returns, 0, records["result"])
