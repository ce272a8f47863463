"""Building the test programs and the C programs that drive the unwinder."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
NATIVE = HERE.parents[2] / "native"
PROGRAMS = HERE / "programs"

MACHINE = platform.machine()
READERS = [str(NATIVE / "stacks" / f"{name}.c") for name in (f"{MACHINE}_calls", "process", "remote", "tables", "walk")]
SANITIZERS = ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
NO_SEARCH_FOR_LEAKS = {"ASAN_OPTIONS": "detect_leaks=0"}
"""It takes seconds on some machines, too long for programs that are run hundreds of times."""


def compile_program(target: Path, source: Path, compiler: str, *flags: str) -> Path:
    subprocess.run([compiler, "-w", *flags, source, "-o", target], check=True)
    return target


def compile_driver(target: Path, name: str, *flags: str, sources: list[str] = READERS, machine: str = MACHINE) -> Path:
    """One of this folder's C programs, with the unwinder linked in, which may be for another machine's stacks."""
    unwinder = sorted(str(path) for folder in (".", machine) for path in (NATIVE / "unwind" / folder).glob("*.c"))
    options = ["-std=gnu11", "-O2", "-g", f"-I{NATIVE}", f"-DUNWIND_FOR_{machine.upper()}"]
    command = ["gcc", *options, HERE / f"{name}.c", *sources, *unwinder, *flags]
    subprocess.run([*command, "-o", target], check=True)
    return target
