"""What the time of real threads goes into."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S
from whyperf.collect.usage import thread_times
from whyperf.collect.usage.thread_times import QuotaWatch, ThreadAccounts
from whyperf.recording.sealed.manifest import ThreadTimes

_PROGRAM = """
import os, sys, threading, time
def sleep():
    time.sleep(60)
threading.Thread(target=sleep, daemon=True).start()
threading.Thread(target=lambda: os.read(0, 1), daemon=True).start()
print("ready", flush=True)
while True:
    sum(range(10000))
"""


def test_threads_are_told_apart_by_what_they_do():
    # GIVEN a process with a thread that computes, one that sleeps and one that reads a pipe
    with subprocess.Popen([sys.executable, "-c", _PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        try:
            assert program.stdout is not None and program.stdout.readline()
            threads = [(program.pid, int(one)) for one in os.listdir(f"/proc/{program.pid}/task")]  # noqa: PTH208
            accounts = ThreadAccounts(program.pid)
            accounts.open_window(threads, time.monotonic())
            deadline = time.monotonic() + PATIENCE_S
            # WHEN it is looked at until the first has had a CPU for a while
            while time.monotonic() < deadline:
                time.sleep(0.05)
                accounts.look(threads, time.monotonic())
                if max(one.run_s for one in accounts.times()) > 0.2:
                    break
        finally:
            program.kill()
    times = accounts.times()
    (main,) = (one for one in times if one.main)
    others = [one for one in times if not one.main]
    # THEN that one ran, and the others waited, each in its own call
    assert main.run_s > 0.2 > max(one.run_s for one in others)
    assert {call for one in others for call in one.blocked_s} >= {"read:pipe"}
    assert any("nanosleep" in call or call == "futex" for one in others for call in one.blocked_s)
    for one in times:
        assert one.run_s + one.runnable_s + sum(one.blocked_s.values()) == pytest.approx(one.lived_s, rel=0.2, abs=0.1)


def test_a_look_stands_for_the_time_since_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    # GIVEN a thread that is looked at more often when the program is young
    monkeypatch.setattr(thread_times, "_text", lambda _path: "0 0 1")
    seen = {0.01: "read:socket", 0.02: "read:socket", 0.03: "read:socket", 0.1: "nanosleep", 0.2: "nanosleep"}
    accounts = ThreadAccounts(1)
    accounts.open_window([(1, 1)], 0.0)
    for now, call in seen.items():
        monkeypatch.setattr(accounts, "_call", lambda *_thread, call=call: call)
        accounts.look([(1, 1)], now)
    (times,) = accounts.times()
    assert times.blocked_s == {"read:socket": pytest.approx(0.03), "nanosleep": pytest.approx(0.17)}


def test_a_look_at_new_threads_waits_until_the_times_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    # GIVEN two threads, and a third that another thread looks at while the times of the first are told
    monkeypatch.setattr(thread_times, "_text", lambda path: "1 1 1" if path.endswith("schedstat") else "running")
    accounts = ThreadAccounts(1)
    accounts.open_window([(1, 1), (1, 2)], 0.0)
    looking = threading.Thread(target=accounts.look, args=([(1, 3)], 1.0))
    times = thread_times._Account.times

    def slowly(account: thread_times._Account, *, main: bool) -> ThreadTimes:
        if looking.ident is None:
            looking.start()
            looking.join(0.2)
        return times(account, main=main)

    monkeypatch.setattr(thread_times._Account, "times", slowly)
    # THEN they are told, and the look comes after
    assert len(accounts.times()) == 2
    looking.join(PATIENCE_S)
    assert len(accounts.times()) == 3


def test_a_group_without_a_quota_is_never_stopped():
    watch = QuotaWatch(os.getpid())
    watch.look()
    watch.look()
    assert watch.throttled_s >= 0.0
    if not watch.throttled_s:
        assert watch.cpus == 0.0


@pytest.mark.parametrize(("version", "text", "expected"), [
    (2, "nr_throttled 3\nthrottled_usec 1500000\n", 1.5),
    (1, "nr_throttled 3\nthrottled_time 1500000000\n", 1.5),
])  # fmt: skip
def test_both_versions_of_control_groups_are_read(tmp_path: Path, monkeypatch, version, text, expected):
    group = tmp_path / "group"
    group.mkdir()
    (group / "cpu.stat").write_text(text.replace("1500000", "0", 1) if version == 2 else text.replace("15", "00", 1))
    if version == 2:
        (group / "cpu.max").write_text("25000 100000\n")
    else:
        (group / "cpu.cfs_quota_us").write_text("25000\n")
        (group / "cpu.cfs_period_us").write_text("100000\n")
    monkeypatch.setattr("whyperf.collect.usage.thread_times._cpu_statistics", lambda _pid: [group / "cpu.stat"])
    watch = QuotaWatch(1)
    watch.look()
    (group / "cpu.stat").write_text(text)
    watch.look()
    assert (watch.throttled_s, watch.cpus) == (pytest.approx(expected), 0.25)
