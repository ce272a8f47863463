"""Runs inside gdb: who wrote, at last, what some loads read. Called as `gdb -batch -x gdb_watch.py PROGRAM`.

WATCH_SETTINGS names a JSON file: the program's arguments, and samples of (address in the file, which execution, and the
expression of the address that is read, in gdb's words). WATCH_RESULTS is written: for each sample the addresses after
the instructions that touched the memory between the execution before and this one, in order.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import gdb

settings = json.loads(Path(os.environ["WATCH_SETTINGS"]).read_text())


def silently(command: str) -> None:
    gdb.execute(command, to_string=True)


def base() -> int:
    maps = Path(f"/proc/{gdb.selected_inferior().pid}/maps").read_text().splitlines()
    program = os.path.realpath(gdb.current_progspace().filename)
    return next(int(line.split("-")[0], 16) for line in maps if line.endswith(program))


def pc() -> int:
    return int(gdb.parse_and_eval("(unsigned long)$pc"))


def stop_at(address: int, execution: int) -> gdb.Breakpoint:
    breakpoint = gdb.Breakpoint(f"*{address:#x}", internal=True)
    breakpoint.ignore_count = execution - 1
    return breakpoint


def run_to(address: int, execution: int) -> gdb.Breakpoint:
    silently("starti")
    breakpoint = stop_at(base() + address, execution)
    silently("continue")
    assert pc() == base() + address
    return breakpoint


def watched(sample: dict[str, object]) -> list[int]:
    address, execution, expression = int(sample["address"]), int(sample["execution"]), sample["expression"]
    # First: where is the memory. Nothing moves between two runs: gdb switches address randomisation off.
    breakpoint = run_to(address, execution)
    memory = int(gdb.parse_and_eval(f"(unsigned long)({expression})"))
    breakpoint.delete()
    # Then: who touches it between the execution before and this one.
    breakpoint = run_to(address, execution - 1)
    breakpoint.delete()
    breakpoint = stop_at(base() + address, 1)
    watch = gdb.Breakpoint(f"*(char[{sample['size']}] *){memory:#x}", gdb.BP_WATCHPOINT, gdb.WP_ACCESS, internal=True)
    silently("continue")
    touched = []
    while pc() != base() + address:
        touched.append(pc() - base())
        silently("continue")
    watch.delete()
    breakpoint.delete()
    return touched


silently("set confirm off")
silently("set pagination off")
silently("set can-use-hw-watchpoints 1")
silently("set args " + settings["arguments"] + " > /dev/null")
Path(os.environ["WATCH_RESULTS"]).write_text(json.dumps([watched(sample) for sample in settings["samples"]]))
silently("kill")
