"""The machines whose code is understood: one description each, chosen by what the ELF file says."""

from __future__ import annotations

from whyperf.debuginfo.elf_files.elf import ElfFile
from whyperf.debuginfo.machines.aarch64 import AARCH64
from whyperf.debuginfo.machines.machine import Machine
from whyperf.debuginfo.machines.x86_64 import X86_64

__all__ = ["AARCH64", "X86_64", "Machine", "machine_of"]

_BY_NUMBER = {machine.elf_number: machine for machine in (X86_64, AARCH64)}


def machine_of(elf: ElfFile) -> Machine | None:
    """None where code is of another machine."""
    return _BY_NUMBER.get(elf.machine)
