"""The code of a source line, in every copy that the compiler made of it."""

from __future__ import annotations

from collections.abc import Iterator

from whyperf.debuginfo.slices.function import SlicedInstruction
from whyperf.debuginfo.slices.module import ModuleCode
from whyperf.origin.questions import CodeHere


def instructions_of(module: ModuleCode, file: str, line: int) -> Iterator[tuple[CodeHere, SlicedInstruction]]:
    for address in module.addresses_of_line(file, line):
        slicer = module.slicer_at(address)
        if slicer is None or address not in slicer.function.row:
            continue
        here = CodeHere(module, slicer)
        for instruction in slicer.function.code[slicer.function.row[address] :]:
            if module.line(instruction.address)[1] != line:
                break
            yield here, instruction
