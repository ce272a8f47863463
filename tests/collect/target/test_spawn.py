"""A started program and its end."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from pathlib import Path

from tests.patience import PATIENCE_S
from whyperf.collect.target.spawn import Child


def test_a_program_that_its_parent_traces_has_not_ended_when_a_signal_stops_it() -> None:
    # GIVEN a program that asks to be traced, and gets a signal
    pid = os.fork()
    if pid == 0:
        ctypes.CDLL(None).ptrace(0, 0, None, None)
        os.kill(os.getpid(), signal.SIGUSR1)
        os._exit(3)
    child = Child(pid)
    # WHEN the signal has stopped it
    deadline = time.monotonic() + PATIENCE_S
    while " t " not in Path(f"/proc/{pid}/stat").read_text() and time.monotonic() < deadline:
        time.sleep(0.01)
    # THEN it still runs, until it is killed
    assert not child.has_ended() and not child.poll()
    child.send(signal.SIGKILL)
    while not child.poll() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert child.status == -signal.SIGKILL
