"""Stubs of x86-64. A jump takes five bytes: those of instructions before an exit, or of what fills up behind it."""

from __future__ import annotations

import bisect

from whyperf.debuginfo.control_flow.flow_instructions import FlowInstruction
from whyperf.debuginfo.elf_files.elf import ElfFile
from whyperf.debuginfo.image import Image
from whyperf.debuginfo.latency.stubs import LatencySlot
from whyperf.debuginfo.machines.machine import Row
from whyperf.debuginfo.machines.x86_64.control import instructions
from whyperf.debuginfo.probes.not_patched import NotPatched
from whyperf.debuginfo.probes.plan_file import OLD_BYTES, PatchKind
from whyperf.debuginfo.probes.x86_64.first import IntelFirstInstructions
from whyperf.debuginfo.probes.x86_64.moving import MovedInstruction, copied, pointer_jump
from whyperf.debuginfo.probes.x86_64.stubs import IntelPlanBuilder
from whyperf.debuginfo.probes.x86_64.survey import X86Function
from whyperf.recording.schemas.call_tables import NotCounted

_NUMBERS_BYTES = 16
_JUMP_BYTES = 5
_FILLING = frozenset({"nop", "int3", "data16 nop", "data16 cs nop"})
_LONGEST_FILLING = 16
_RETURNS = frozenset({"ret", "repz ret", "rep ret", "bnd ret"})


class IntelLatencyStubs(IntelPlanBuilder):
    def __init__(self, elf: ElfFile, image: Image) -> None:
        super().__init__()
        self._image = image
        self._first = IntelFirstInstructions(elf, image)
        self.functions = self._first.survey.functions
        self._lows = [one.stretch.low for one in self.functions]

    def begin(self, address: int) -> None:
        run = self._first.of(address)
        self._lead_away(run[0].address, b"".join(one.content for one in run))
        self._lead_to_handler(LatencySlot.BEGIN)
        self._move_all(run)

    def end(self, instruction: FlowInstruction) -> None:
        function = self.functions[bisect.bisect_right(self._lows, instruction.address) - 1]
        before, last, filling = self._window(function, instruction)
        start = before[0].address if before else last[0]
        content = b"".join(one.content for one in before) + function.bytes_of(last[0], last[1]) + filling
        self._lead_away(start, content)
        for one in before:
            self._move(one)
        self._lead_to_handler(LatencySlot.END)
        self._leave(instruction, function.bytes_of(last[0], last[1]), last[2])

    def _lead_away(self, address: int, content: bytes) -> None:
        if self._is_taken(address, address + len(content)):
            raise NotPatched("is too short")
        self._patch(address, content, PatchKind.JUMP)

    def _window(self, function: X86Function, exit_: FlowInstruction) -> tuple[list[MovedInstruction], Row, bytes]:
        """Instructions before an exit, itself, and what fills up behind it: together so long that a jump fits."""
        rows = list(instructions(function.content, function.stretch.low))
        number = bisect.bisect_left(rows, (exit_.address,))
        last = rows[number]
        filling = self._filling(last[0] + last[1], _JUMP_BYTES - last[1])
        before: list[MovedInstruction] = []
        size = last[1] + len(filling)
        while size < _JUMP_BYTES:
            number -= 1
            inside = before[0].address if before else last[0]
            one = _moved(function, rows[number]) if number >= 0 else None
            if one is None or not function.movable or self._first.is_entered(inside):
                raise NotPatched("has an exit with no room for a jump: something else may lead into it")
            before.insert(0, one)
            size += len(one.content)
        if size > OLD_BYTES:
            raise NotPatched("has an exit with no room for a jump")
        return before, last, filling

    def _filling(self, address: int, wanted: int) -> bytes:
        """Instructions that nobody executes, with so many bytes or, where there are fewer, all."""
        content = self._image.read(address, _LONGEST_FILLING)
        size = 0
        for start, bytes_, mnemonic, _ in instructions(content, address):
            if size >= wanted or mnemonic not in _FILLING or self._first.is_entered(start):
                break
            size += bytes_
        return content[:size]

    def _lead_to_handler(self, handler: LatencySlot) -> None:
        """Which goes on behind the numbers."""
        near = self._call_handler()
        self._align()
        self._handler_numbers(near, (len(self._stubs) + _NUMBERS_BYTES, LatencySlot.STUBS), handler)

    def _leave(self, instruction: FlowInstruction, content: bytes, mnemonic: str) -> None:
        if mnemonic in _RETURNS:
            self._stubs += content
        elif instruction.target is not None:
            self._jump(instruction.target)
        else:
            jump = pointer_jump(instruction.address, content, is_call=False)
            if isinstance(jump, NotCounted):
                raise NotPatched("ends with an instruction that is not understood")
            self._move(jump)


def _moved(function: X86Function, row: Row) -> MovedInstruction | None:
    one = copied(row[0], function.bytes_of(row[0], row[1]))
    return None if isinstance(one, NotCounted) else one
