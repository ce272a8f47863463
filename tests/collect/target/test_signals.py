"""How the recorder waits."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

import pytest

from tests.patience import PATIENCE_S
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


_WAITS = """
import os, signal
from whyperf.collect.target.signals import SignalWatch
with SignalWatch() as signals:
    os.kill(os.getpid(), signal.SIGUSR1)
    print(signals.wait(60.0).number, flush=True)
    print(signals.wait(1.0), flush=True)
"""


@pytest.mark.process
def test_who_is_stopped_while_waiting_gets_no_signal_twice() -> None:
    # GIVEN a recorder that has passed a signal on, and waits for the next
    with subprocess.Popen([sys.executable, "-c", _WAITS], stdout=subprocess.PIPE, text=True) as waiting:
        assert waiting.stdout is not None and int(waiting.stdout.readline()) == signal.SIGUSR1
        # WHEN it is stopped until the time is over
        waiting.send_signal(signal.SIGSTOP)
        time.sleep(1.5)
        waiting.send_signal(signal.SIGCONT)
        # THEN nothing has arrived
        assert waiting.communicate(timeout=PATIENCE_S)[0] == "None\n"


_ENDS = """
import os, signal, threading
from whyperf.collect.target.signals import SignalWatch
with SignalWatch() as signals:
    os.kill(os.getpid(), signal.SIGINT)
    signal.pthread_kill(threading.get_ident(), signal.SIGCHLD)
    print(signals.wait(0.0).number)
"""


@pytest.mark.process
def test_ctrl_c_is_heard_with_the_end_of_a_child() -> None:
    # GIVEN a Ctrl-C that has ended the child, too, whose end is told to the waiting thread alone
    # (in a process without other threads, which could take the Ctrl-C)
    done = subprocess.run(
        [sys.executable, "-c", _ENDS], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert (done.stdout, done.stderr) == (f"{signal.SIGINT:d}\n", "")
