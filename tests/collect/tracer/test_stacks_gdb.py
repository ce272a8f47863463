"""User stacks that the kernel side took, against gdb's on the same stopped process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.collect.tracer.tracing import PROGRAMS, Seen, Tracing, compiled, needs_bpf
from tests.patience import PATIENCE_S
from whyperf.recording.schemas.events import EventKind

pytestmark = needs_bpf

_GDB_SCRIPT = """
import gdb, json
gdb.execute("set backtrace past-main on")
gdb.execute("set backtrace past-entry on")
gdb.execute("set backtrace limit 126")
stacks = {}
for thread in gdb.selected_inferior().threads():
    thread.switch()
    frame, pcs = gdb.newest_frame(), []
    while frame is not None:
        # Inlined calls and calls in tail position have no frame; gdb makes some up from debug information.
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME) and frame.pc():
            pcs.append(frame.pc())
        try:
            frame = frame.older()
        except gdb.error:
            break
    stacks[thread.ptid[1]] = pcs
print("STACKS " + json.dumps(stacks))
"""

_PYTHON = """
import json, sys, time
class Slow:
    def __lt__(self, other): time.sleep(0.003); return False
def deep(n): return deep(n - 1) if n else sorted([Slow(), Slow(), Slow()])
print("ready", flush=True)
while True: deep(5); json.dumps([1], default=str); time.sleep(0.001)
"""


@dataclass
class Agreement:
    frames: int = 0
    equal: int = 0
    stacks: int = 0
    differing: tuple[object, ...] = ()

    def add(self, ours: tuple[int, ...], theirs: list[int], what: object) -> None:
        self.stacks += 1
        self.frames += max(len(ours), len(theirs))
        same = sum(a == b for a, b in zip(ours, theirs, strict=False))
        self.equal += same
        if list(ours) != theirs:
            self.differing += ((what, [hex(pc) for pc in ours], [hex(pc) for pc in theirs]),)


def _gdb_stacks(pid: int, folder: Path) -> dict[int, list[int]]:
    script = folder / "stacks.py"
    script.write_text(_GDB_SCRIPT)
    done = subprocess.run(
        ["gdb", "-nx", "-batch", "-p", str(pid), "-x", str(script)],
        capture_output=True,
        text=True,
        env={**os.environ, "DEBUGINFOD_URLS": ""},
        check=False,
    )
    line = next(line for line in done.stdout.splitlines() if line.startswith("STACKS "))
    return {int(tid): pcs for tid, pcs in json.loads(line.removeprefix("STACKS ")).items()}


def _all_stopped(pid: int) -> bool:
    stats = [status.read_text() for status in Path(f"/proc/{pid}/task").glob("*/stat")]
    return {stat.rpartition(")")[2].split()[0] for stat in stats} <= {"T"}


def _last_stack(seen: Seen, tid: int) -> tuple[int, ...] | None:
    switches = seen.of(EventKind.SWITCH, tid=tid)
    number = int(switches["stack"][-1]) if len(switches) else 0
    return seen.stacks[number].addresses if number in seen.stacks else None


def _compare(tracing: Tracing, pid: int, folder: Path, agreement: Agreement) -> None:
    os.kill(pid, signal.SIGSTOP)
    end = time.monotonic() + PATIENCE_S
    while not _all_stopped(pid) and time.monotonic() < end:
        time.sleep(0.005)
    time.sleep(0.01)
    seen = tracing.seen()
    for tid, theirs in _gdb_stacks(pid, folder).items():
        ours = _last_stack(seen, tid)
        if ours is not None:
            agreement.add(ours, theirs, tid)
    os.kill(pid, signal.SIGCONT)


@pytest.fixture
def tracing(tmp_path: Path) -> Iterator[Tracing]:
    kinds = [EventKind.SWITCH, EventKind.SYSCALL, EventKind.SAMPLE]
    with Tracing(tmp_path / "tables", kinds=kinds, sample_hz=199) as tracing:
        yield tracing


def _check(tracing: Tracing, command: list[str], folder: Path, stops: int, least: int) -> None:
    process = tracing.spawn(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE)
    agreement = Agreement()
    try:
        assert process.stdout and process.stdout.readline() == b"ready\n"
        time.sleep(0.3)
        for _ in range(stops):
            _compare(tracing, process.pid, folder, agreement)
            time.sleep(0.02)
    finally:
        process.kill()
        process.wait()
    print(f"{Path(command[0]).name}: {agreement.stacks} stacks, {agreement.equal} of {agreement.frames} frames equal")
    assert agreement.frames >= least
    assert agreement.equal >= 0.99 * agreement.frames, agreement.differing[:3]


def test_c_with_recursion_realigned_frames_callbacks_signals_and_a_plugin(tracing: Tracing, tmp_path: Path) -> None:
    plugin = tmp_path / "plugin.so"
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", plugin, PROGRAMS / "plugin.c"], check=True)
    program = compiled("frames.c", tmp_path, "-pthread")
    _check(tracing, [str(program), str(plugin)], tmp_path, stops=4, least=250)


def test_without_frame_pointers_and_stripped(tracing: Tracing, tmp_path: Path) -> None:
    program = compiled("frames.c", tmp_path, "-pthread", "-fomit-frame-pointer", "-s")
    _check(tracing, [str(program)], tmp_path, stops=2, least=100)


def test_exceptions(tracing: Tracing, tmp_path: Path) -> None:
    program = compiled("exceptions.cpp", tmp_path, compiler="g++")
    _check(tracing, [str(program)], tmp_path, stops=5, least=40)


def test_a_python_interpreter_without_symbols(tracing: Tracing, tmp_path: Path) -> None:
    system = Path("/usr/bin/python3")
    interpreter = str(system) if system.exists() else sys.executable
    _check(tracing, [interpreter, "-c", _PYTHON], tmp_path, stops=4, least=50)


def test_a_shell_that_becomes_another_program(tracing: Tracing, tmp_path: Path) -> None:
    command = ["sh", "-c", 'echo ready; exec perl -e "while (1) { select(undef, undef, undef, 0.003) }"']
    _check(tracing, command, tmp_path, stops=3, least=15)
