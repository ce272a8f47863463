"""Run a command of whyperf in a child that can take neither much memory nor much time, and say how it ended."""

from __future__ import annotations

import contextlib
import io
import math
import os
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

THEN = "then"  # between commands
_CRASHED = 99
_RESULTS = (0, 3, 4)  # what a whole input can lead to
_MEMORY = 2 << 30  # beyond what the parent has mapped
_PATIENCE = 15  # seconds for a second of CPU time: a load of 8, and more
_KEPT_FRAMES = 3


@dataclass(frozen=True)
class Outcome:
    problem: str  # empty: exit 0 or another status that the command documents, or a sentence
    detail: str
    seconds: float  # of CPU


def run_here(arguments: Sequence[str]) -> None:
    """Without a child. An exception is the caller's."""
    text = io.TextIOWrapper(io.BytesIO())
    debugging = mock.patch.dict(os.environ, WHYPERF_DEBUG="1")
    with debugging, contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        status = _status(arguments)
        text.flush()
    if status not in _RESULTS:
        raise ValueError(f"{arguments} ended with {status}: {text.buffer.getvalue().decode()}")


def _status(arguments: Sequence[str]) -> int:
    """Of the last command; after one that fails there is none."""
    from whyperf.cli.main import main

    words = list(arguments)
    while THEN in words:
        at = words.index(THEN)
        if status := main(words[:at]):
            return status
        words = words[at + 1 :]
    return main(words)


def run(arguments: Sequence[str], limit_s: float) -> Outcome:
    """Forked, so that what a command loads and compiles is there already. The limit is of CPU time, so that a busy
    machine is not taken for a hang; of time it may take many times that."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _in_child(arguments, writing, limit_s)
    os.close(writing)
    try:
        said, timed_out = _hear(reading, child, _PATIENCE * limit_s)
    finally:
        os.close(reading)
    _, status, usage = os.wait4(child, 0)
    seconds = usage.ru_utime + usage.ru_stime
    code = os.waitstatus_to_exitcode(status)
    if timed_out or code == -signal.SIGXCPU:
        return Outcome(f"hang: more than {limit_s:g} s", said, seconds)
    if code < 0:
        return Outcome(_death(-code, said), said, seconds)
    if code == _CRASHED:
        return Outcome(_signature(said), said, seconds)
    return Outcome("", said, seconds)


def _hear(reading: int, child: int, limit_s: float) -> tuple[str, bool]:
    end, heard = time.monotonic() + limit_s, b""
    while (left := end - time.monotonic()) > 0:
        if select.select([reading], [], [], left)[0]:
            piece = os.read(reading, 1 << 16)
            if not piece:
                return heard.decode(errors="replace"), False
            heard += piece
    os.kill(child, signal.SIGKILL)
    return heard.decode(errors="replace"), True


def _in_child(arguments: Sequence[str], writing: int, limit_s: float) -> None:
    status = _CRASHED
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream, file in enumerate((nothing, nothing, writing)):  # sanitizers report on standard error
            os.dup2(file, stream)
        mapped = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (mapped + _MEMORY, mapped + _MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit_s), math.ceil(limit_s) + 1))
        os.environ["WHYPERF_DEBUG"] = "1"
        status = _status(arguments)
    except BaseException:
        os.write(writing, traceback.format_exc().encode(errors="replace")[-8000:])
    finally:
        os._exit(status)


def _death(number: int, said: str) -> str:
    """With what a sanitizer found, without the addresses."""
    found = next((line for line in said.splitlines() if line.startswith("SUMMARY:") or "runtime error:" in line), "")
    return f"killed by {signal.Signals(number).name}{f': {found}' if found else ''}"


def _signature(said: str) -> str:
    """The error and the last places of our own that it went through: one bug, one line."""
    lines = said.strip().splitlines()
    places = [line.split("whyperf/", 1)[1] for line in lines if line.startswith('  File "') and "/src/whyperf/" in line]
    where = " < ".join(place.replace('", line ', ":").split(",")[0] for place in reversed(places[-_KEPT_FRAMES:]))
    error = lines[-1].partition(":")[0] if lines else "no traceback"
    return f"{error} at {where.replace('src/whyperf/', '')}"
