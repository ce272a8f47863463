"""Memory that no instruction wrote to before it was read."""

from __future__ import annotations

from pathlib import Path

from whyperf.diagnose.origin import ChainEnd
from whyperf.origin.command_line import is_start_text, options_that_differ
from whyperf.origin.copies import copied_into
from whyperf.origin.evidence import Targets
from whyperf.origin.program_code import BuildSide
from whyperf.origin.questions import Next, Read, Stop
from whyperf.origin.trail import Trail

_SURELY_ADDED = 8192
"""Bytes of the environment at most: what nobody wrote to is hardly the frame of a function."""


def never_written(trail: Trail, read: Read, targets: Targets) -> Next:
    if _in_a_file(trail, read):
        return Stop(ChainEnd.CONSTANT, "It is the value with which the program is built.")
    address = read.addresses[BuildSide.BAD]
    if address is not None and is_start_text(targets, address, _SURELY_ADDED):
        return Stop(
            ChainEnd.OUTSIDE, options_that_differ(targets) or "It is an argument or the environment of the program."
        )
    found = copied_into(trail, read)
    if isinstance(found, Stop) and found.end is ChainEnd.NOT_FOLLOWED:
        return Stop(
            ChainEnd.NOT_FOLLOWED,
            "No instruction wrote to it before it was read: it is zeroed memory, or the kernel's.",
        )
    return found


def _in_a_file(trail: Trail, read: Read) -> bool:
    """Whether the address belongs to the data of one of the program's binaries."""
    address = read.addresses[BuildSide.BAD]
    if address is None:
        return False
    for path, bias in trail.evidence.modules[BuildSide.BAD]:
        module = trail.code.module(Path(path)) if path.startswith("/") else None
        if module is None or module.binary.elf is None:
            continue
        if any(one.address <= address - bias < one.address + one.file_size for one in module.binary.elf.segments):
            return True
    return False
