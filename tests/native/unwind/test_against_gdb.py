"""Frames and registers are gdb's, on processes that stand still."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.native.unwind.building import MACHINE, PROGRAMS, compile_program
from tests.patience import PATIENCE_S

REGISTERS = {
    "x86_64": (
        ["rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", *(f"r{number}" for number in range(8, 16)), "rip"],
        ["rip", "rsp", "rbx", "rbp", "r12", "r13", "r14", "r15"],
    ),
    "aarch64": (
        [*(f"x{number}" for number in range(31)), "sp", "pc"],
        ["pc", "sp", *(f"x{number}" for number in range(19, 30))],
    ),
}
"""All in DWARF's order, and those that are compared."""

ASK_BOTH = """
import gdb, json, subprocess
for setting in ("backtrace past-main on", "backtrace past-entry on", "debuginfod enabled off"):
    gdb.execute("set " + setting)

def value(frame, name):
    return int(frame.read_register(name)) & (1 << 64) - 1

frame = gdb.newest_frame()
command = ORACLE + [str(value(frame, name)) for name in dwarf]
ours = json.loads(subprocess.check_output(command))
theirs = []
while frame is not None:
    # With debug information gdb adds frames that are not on the stack.
    if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
        theirs.append({name: value(frame, name) for name in names})
    frame = frame.older()
print("FRAMES " + json.dumps([ours, theirs]))
"""


def ask_both(pid: int, oracle: Path, tables: Path, script: Path) -> tuple[dict[str, Any], list[dict[str, int]]]:
    """Our frames and gdb's, of the same moment: gdb holds the process, we only read its memory."""
    known = f"ORACLE = {[str(oracle), '--frames', str(pid), str(tables)]}\ndwarf, names = {REGISTERS[MACHINE]}\n"
    script.write_text(known + ASK_BOTH)
    command = ["gdb", "-nx", "-batch", "-p", str(pid), "-x", script]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=PATIENCE_S)
    line = next((line for line in done.stdout.splitlines() if line.startswith("FRAMES ")), None)
    assert line is not None, done.stderr
    ours, theirs = json.loads(line[7:])
    return ours, theirs


BUILDS = ["gcc -O2", "clang -O0", "gcc -O3 -no-pie"]
if MACHINE == "aarch64":  # signed return addresses, which the libunwind of today's systems does not know
    BUILDS.append("gcc -O2 -mbranch-protection=standard")


@pytest.mark.parametrize("build", BUILDS)
def test_same_frames(build: str, oracle: Path, tables: Path, tmp_path: Path) -> None:
    program = compile_program(tmp_path / "stacks", PROGRAMS / "stacks.c", *build.split())
    process = subprocess.Popen([program])
    try:
        compared = whole = 0
        for round in range(4):
            time.sleep(0.02 + 0.013 * round)
            # WHEN gdb has stopped the process, and we look at it too
            ours, theirs = ask_both(process.pid, oracle, tables, tmp_path / "ask.py")
            # THEN all frames and their callee-saved registers are the same
            assert ours["frames"] == theirs[: len(ours["frames"])]
            assert ours["cut"] or len(ours["frames"]) == len(theirs)
            compared += len(ours["frames"])
            whole += not ours["cut"]
        assert compared > 20
        assert whole >= 2  # a signal in a library's _init or _fini, which have no unwind information, cuts a stack
    finally:
        process.kill()
        process.wait()
