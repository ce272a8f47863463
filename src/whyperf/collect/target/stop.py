"""Stopping a target that would not end by itself."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable

from whyperf.collect.target.spawn import Child
from whyperf.collect.usage.totals import Identity, is_running, process_tree

_TICK_S = 0.02


def stop_target(target: Child, number: int, timeout_s: float, wait: Callable[[float], None]) -> None:
    """Sends the signal, and SIGKILL to what is still there in the end. `wait` passes time, heeding signals.

    The target goes first, as it may stop its descendants in good order. Descendants that outlive it follow: they
    would hold its ports in the next run.
    """
    descendants = process_tree(target.pid)[1:]
    deadline = time.monotonic() + timeout_s
    _send(target.pid, number)
    while not target.poll():
        if time.monotonic() >= deadline:
            _send(target.pid, signal.SIGKILL)
        wait(_TICK_S)
    for last_word in (number, signal.SIGKILL):
        left = [process for process in descendants if is_running(process)]
        for process in left:
            _send(process.pid, last_word)
        _wait_for(left, deadline, wait)


def _wait_for(processes: list[Identity], deadline: float, wait: Callable[[float], None]) -> None:
    while any(map(is_running, processes)) and time.monotonic() < deadline:
        wait(_TICK_S)


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
