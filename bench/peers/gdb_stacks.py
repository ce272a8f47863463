"""The poor man's profiler: a debugger attaches now and then and prints all stacks; the most frequent come first."""

from __future__ import annotations

import random
import re
import signal
import subprocess
import time
from collections import Counter
from contextlib import suppress

from bench.peers.peer import PeerError, Ranking, Trial
from bench.peers.runs import installed
from bench.server import wait_for_port

_LONGEST_S = 180.0
_STOPS = 80
_BETWEEN_S = (0.02, 0.08)
_ASK = ("-batch", "-nx", "-ex", "set debuginfod enabled off", "-ex", "thread apply all bt -frame-arguments none")
_Stack = tuple[str, ...]  # innermost first


def ranking(trial: Trial) -> Ranking:
    gdb = installed("gdb", "gdb")
    commands = trial.commands()
    target = _started(commands.bad.command)
    driver: subprocess.Popen[bytes] | None = None
    try:
        if commands.ready:
            wait_for_port(int(commands.ready.removeprefix("tcp:")))
            driver = _started(commands.bad.drive)
        return Ranking(in_reading_order(_stacks(gdb, target, driver or target)))
    finally:
        for process in (driver, target):
            if process is not None:
                with suppress(ProcessLookupError):
                    process.send_signal(signal.SIGKILL)
                process.wait()


def _started(command: list[str]) -> subprocess.Popen[bytes]:
    nothing = subprocess.DEVNULL
    return subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing)


def _stacks(gdb: str, target: subprocess.Popen[bytes], work: subprocess.Popen[bytes]) -> Counter[_Stack]:
    """Of all threads, until the work is done, at most so often and so long."""
    chance = random.Random(1)
    found: Counter[_Stack] = Counter()
    end = time.monotonic() + _LONGEST_S
    for _ in range(_STOPS):
        time.sleep(chance.uniform(*_BETWEEN_S))
        if work.poll() is not None or time.monotonic() > end:
            break
        told = subprocess.run([gdb, "-p", str(target.pid), *_ASK], capture_output=True, text=True, check=False)
        found.update(parse_backtraces(told.stdout))
    if not found:
        raise PeerError("The program ended before it was stopped once.")
    return found


def parse_backtraces(text: str) -> list[_Stack]:
    """One stack a thread."""
    stacks: list[list[str]] = []
    for line in text.splitlines():
        frame = re.match(r"#(\d+)\s+(?:0x[0-9a-f]+ in )?(.+?) \(", line)
        if frame:
            if frame.group(1) == "0":
                stacks.append([])
            if stacks:
                stacks[-1].append(frame.group(2))
    return [tuple(stack) for stack in stacks]


def in_reading_order(stacks: Counter[_Stack]) -> tuple[str, ...]:
    """The functions of the most frequent stack, innermost first, then of the next."""
    ordered = sorted(stacks, key=lambda stack: (-stacks[stack], stack))
    return tuple(dict.fromkeys(name for stack in ordered for name in stack))
