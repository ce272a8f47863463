"""How the recorder waits."""

from __future__ import annotations

import signal
import subprocess
import threading
import time

import pytest

from whyperf.collect.target.signals import SignalWatch

_FOR_EVER_S = 60.0


@pytest.mark.process
def test_the_end_of_a_child_is_heard_where_another_thread_gets_the_signal() -> None:
    # GIVEN a thread that blocks no signals, as libraries start them
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        with SignalWatch() as signals, subprocess.Popen(["sleep", "0.2"]) as child:
            signals.hear_the_end_of(child.pid)
            began = time.monotonic()
            assert signals.wait(_FOR_EVER_S) is None
            # THEN the wait ends with the child
            assert time.monotonic() - began < _FOR_EVER_S / 2
    finally:
        done.set()
        thread.join()
    assert signal.SIGCHLD not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
