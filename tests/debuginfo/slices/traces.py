"""What really happened: every instruction that a program ran, with the registers before it, as an emulator saw them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..building import run

_X86 = ("RAX", "RDX", "RCX", "RBX", "RSI", "RDI", "RBP", "RSP", *(f"R{n}" for n in range(8, 16)))
_ARM = (*(f"X{n:02}" for n in range(31)), "SP")
_NAMED = re.compile(r"\b(R[A-Z0-9]{1,2}|X\d\d|SP|PC|RIP)\s*=([0-9a-f]{16})")


@dataclass(frozen=True)
class Moment:
    address: int
    registers: tuple[int, ...]
    """By DWARF number, before the instruction."""


def trace(program: Path, machine: str, *words: str) -> list[Moment]:
    log = program.with_suffix(".trace")
    run(f"qemu-{machine}-static", "-singlestep", "-d", "cpu,nochain", "-D", log, program, *words)
    names = _X86 if machine == "x86_64" else _ARM
    return list(_moments(log, names))


def _moments(log: Path, names: tuple[str, ...]) -> Iterator[Moment]:
    seen: dict[str, int] = {}
    with log.open() as lines:
        for line in lines:
            for name, value in _NAMED.findall(line):
                seen[name] = int(value, 16)
            if line.startswith(("PSTATE", "RIP")):
                yield Moment(seen.get("RIP", seen.get("PC", 0)), tuple(seen[name] for name in names))
