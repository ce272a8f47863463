"""Runs a program under the Valgrind tool with a plan of its own functions."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.patience import PATIENCE_S
from whyperf.collect.dependences.stream import Stream, read_stream
from whyperf.collect.dependences.valgrind import TOOL_OPTIONS, find_valgrind


@cache
def tools() -> Path:
    """What VALGRIND_LIB must name."""
    valgrind = find_valgrind(os.environ)
    valgrind.prepare()
    return valgrind.tools


@dataclass(frozen=True)
class Function:
    entry: int
    size: int


def functions_of(program: Path) -> dict[str, Function]:
    """The functions of a binary by name, by nm."""
    listed = subprocess.run(["nm", "-S", "--defined-only", program], capture_output=True, text=True, check=True).stdout
    found = {}
    for line in listed.splitlines():
        words = line.split()
        if len(words) == 4 and words[2] in "tT":
            found[words[3]] = Function(int(words[0], 16), int(words[1], 16))
    return found


def plan_text(program: Path, modes: dict[str, str], *settings: str, extra: str = "") -> str:
    """`modes`: of each function by name."""
    functions = functions_of(program)
    lines = ["whyperf-plan 1", *settings, f"module {program.name} -"]
    for name, mode in modes.items():
        function = functions[name]
        lines += [f"function {function.entry:x} {mode}", f"range {function.entry:x} {function.entry + function.size:x}"]
    return "\n".join([*lines, extra, ""])


def record(
    program: Path, plan: str, *arguments: str, check: bool = True, valgrind_options: tuple[str, ...] = ()
) -> Stream:
    stream, plan_file = program.with_suffix(".stream"), program.with_suffix(".plan")
    stream.unlink(missing_ok=True)
    plan_file.write_text(plan)
    done = subprocess.run(
        ["valgrind", *TOOL_OPTIONS, *valgrind_options, f"--plan={plan_file}", f"--stream={stream}",
         str(program), *arguments],
        env={**os.environ, "VALGRIND_LIB": str(tools())},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )  # fmt: skip
    if check and (done.returncode < 0 or done.returncode > 125):
        raise AssertionError(done.stderr)
    return read_stream(stream)
