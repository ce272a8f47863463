"""Compiles programs, finds instructions in them, and observes them."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whyperf.collect.observation.run import observe
from whyperf.collect.observation.sites import Observed, ObservedSite
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.program import find_program
from whyperf.debuginfo.elf_files.elf import read_elf
from whyperf.debuginfo.machines import machine_of

IS_ARM = platform.machine() == "aarch64"
RESULT = 0
"""The register that holds what a function returns."""
ARGUMENT = 0 if IS_ARM else 5


@dataclass(frozen=True)
class Instruction:
    address: int
    size: int
    mnemonic: str
    operands: str

    @property
    def leaves(self) -> bool:
        arm = r"(b|bl|br|blr|ret|cbn?z|tbn?z|b\..*)"
        return bool(re.fullmatch(arm if IS_ARM else r"(call|ret|j.*)", self.mnemonic))


def compiled(folder: Path, source: str, *flags: str, name: str = "program", compiler: str = "gcc") -> Path:
    file, binary = folder / f"{name}.c", folder / name
    file.write_text(source)
    command = [compiler, "-O2", "-g", "-Wl,--build-id", str(file), *flags, "-o", str(binary), "-lpthread", "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return binary


def functions(binary: Path) -> dict[str, tuple[int, int]]:
    """Address and size."""
    listed = subprocess.run(["nm", "-S", str(binary)], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listed.splitlines()]
    return {row[3]: (int(row[0], 16), int(row[1], 16)) for row in rows if len(row) == 4 and row[2] in "tT"}


def instructions(binary: Path, function: str) -> list[Instruction]:
    low, size = functions(binary)[function]
    elf = read_elf(binary)
    assert elf is not None
    machine = machine_of(elf)
    assert machine is not None
    return [Instruction(*row) for row in machine.rows(elf.code(low, low + size), low)]


def first(binary: Path, function: str) -> int:
    return functions(binary)[function][0]


def last_before_return(binary: Path, function: str) -> Instruction:
    """Which makes the result."""
    rows = instructions(binary, function)
    at = next(number for number, row in enumerate(rows) if row.mnemonic == "ret")
    return rows[at - 1]


def observed(command: Sequence[str | Path], sites: Sequence[ObservedSite] = (), **wishes: Any) -> Observed:
    environment = wishes.pop("environment", dict(os.environ))
    program = find_program([str(word) for word in command], environment)
    lifecycle = wishes.pop("lifecycle", Lifecycle())
    return observe(program, sites, lifecycle=lifecycle, environment=environment, **wishes)
