"""Linkage stubs: pieces of code through which other files' functions are called."""

from __future__ import annotations

from whyperf.debuginfo.control_flow.flow_instructions import decode
from whyperf.debuginfo.elf_files.elf import ElfFile
from whyperf.debuginfo.image import Image
from whyperf.debuginfo.machines.machine import Machine


def imported_by_stub(elf: ElfFile, machine: Machine, image: Image, address: int) -> str | None:
    """The symbol of the function that a stub stands for, empty where it is not known; None where no stub is."""
    if not elf.is_linkage(address):
        return None
    stub = decode(machine, image.read(address, machine.stub_bytes), address)
    names = (image.imports.get(one.slot, "") for one in stub if one.slot is not None)
    return next(filter(None, names), "")
