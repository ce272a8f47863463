"""Building the test programs and the C programs that drive the unwinder."""

from __future__ import annotations

import subprocess
from pathlib import Path

HERE = Path(__file__).parent
NATIVE = HERE.parents[1] / "native"
PROGRAMS = HERE / "programs"

UNWINDER = sorted(str(path) for path in (NATIVE / "unwind").glob("*.c"))
READERS = [str(NATIVE / "stacks" / f"{name}.c") for name in ("calls", "process", "remote", "tables", "walk")]
SANITIZERS = ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def compile_program(target: Path, source: Path, compiler: str, *flags: str) -> Path:
    subprocess.run([compiler, "-w", *flags, source, "-o", target], check=True)
    return target


def compile_driver(target: Path, name: str, *flags: str, sources: list[str] = READERS) -> Path:
    """One of this folder's C programs, with the unwinder linked in."""
    command = ["gcc", "-std=gnu11", "-O2", "-g", f"-I{NATIVE}", HERE / f"{name}.c", *sources, *UNWINDER, *flags]
    subprocess.run([*command, "-o", target], check=True)
    return target
