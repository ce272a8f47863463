"""The machines that whyperf records on: what it must know of each, and which one this is."""

from __future__ import annotations

import platform
from dataclasses import dataclass

from whyperf.errors import WhyperfError


@dataclass(frozen=True)
class Architecture:
    name: str
    elf_machine: int
    """What programs of this machine say in their ELF header."""
    perf_event_open: int
    """The system call's number."""
    perf_registers: int
    """The user registers that samples hold, as perf's mask: all general ones, stack pointer and program counter."""
    dwarf_order: tuple[int, ...]
    """Where DWARF's registers are among those, in DWARF's order; the program counter is the last one."""
    stack_pointer: int
    """The same in perf's order."""


X86_64 = Architecture(
    "x86-64",
    elf_machine=62,
    perf_event_open=298,
    # ax bx cx dx si di bp sp ip, r8 to r15; DWARF has rax rdx rcx rbx rsi rdi rbp rsp r8..r15 rip.
    perf_registers=0xFF01FF,
    dwarf_order=(0, 3, 2, 1, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 8),
    stack_pointer=7,
)
ARM_64 = Architecture(
    "64-bit ARM",
    elf_machine=183,
    perf_event_open=241,
    # x0 to x30, sp, pc: as DWARF has them.
    perf_registers=(1 << 33) - 1,
    dwarf_order=tuple(range(33)),
    stack_pointer=31,
)
_KNOWN = {"x86_64": X86_64, "aarch64": ARM_64}


def this_architecture() -> Architecture:
    machine = platform.machine()
    found = _KNOWN.get(machine)
    if found is None:
        known = " and ".join(architecture.name for architecture in _KNOWN.values())
        raise WhyperfError(f"whyperf records on {known} only; this machine is {machine}.", "uname -m")
    return found
