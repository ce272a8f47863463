"""Stubs of x86-64. A jump takes five bytes: those of instructions before an exit, or of what fills up behind it."""

from __future__ import annotations

import bisect
import struct

from whyperf.debuginfo.control_flow.flow_instructions import FlowInstruction
from whyperf.debuginfo.elf_files.elf import ElfFile
from whyperf.debuginfo.image import Image
from whyperf.debuginfo.latency.stubs import LatencySlot
from whyperf.debuginfo.machines.machine import Row
from whyperf.debuginfo.machines.x86_64.control import instructions
from whyperf.debuginfo.probes.not_patched import NotPatched
from whyperf.debuginfo.probes.plan_file import OLD_BYTES, PatchKind, PatchPlan, PlanFlags
from whyperf.debuginfo.probes.x86_64.first import first_instructions
from whyperf.debuginfo.probes.x86_64.moving import MovedInstruction, copied, pointer_jump
from whyperf.debuginfo.probes.x86_64.stubs import Stubs
from whyperf.debuginfo.probes.x86_64.survey import X86Function, survey
from whyperf.recording.schemas.call_tables import NotCounted

_NUMBER = struct.Struct("<Q")
_PUSH_NEAR, _JUMP_NEAR = b"\xff\x35", b"\xff\x25"  # push [rip + distance], jmp [rip + distance]
_JUMP_BYTES = 5
_FILLING = frozenset({"nop", "int3", "data16 nop", "data16 cs nop"})
_LONGEST_FILLING = 16
_RETURNS = frozenset({"ret", "repz ret", "rep ret", "bnd ret"})
_LEAST_BEHIND_SLOT = 16


class IntelLatencyStubs(Stubs):
    def __init__(self, elf: ElfFile, image: Image) -> None:
        super().__init__()
        self._image = image
        self._survey = survey(elf, image, with_loops=False)
        self.functions = self._survey.functions
        self._by_start = {one.stretch.low: one for one in self.functions}
        self._lows = [one.stretch.low for one in self.functions]
        self._entered = self._survey.entered.tolist()
        self._slots: list[tuple[int, int]] = []
        self._taken: list[tuple[int, int]] = []

    def begin(self, address: int) -> None:
        run = first_instructions(self._survey, self._by_start, address)
        end = run[-1].address + len(run[-1].content)
        self._take(run[0].address, end)
        self._patch(run[0].address, b"".join(one.content for one in run), PatchKind.JUMP)
        self._lead_to_handler(LatencySlot.BEGIN)
        for one in run:
            self._move(one)
        self._jump(end)

    def end(self, instruction: FlowInstruction) -> None:
        function = self.functions[bisect.bisect_right(self._lows, instruction.address) - 1]
        before, last, filling = self._window(function, instruction)
        start = before[0].address if before else last[0]
        content = b"".join(one.content for one in before) + function.bytes_of(last[0], last[1]) + filling
        self._take(start, start + len(content))
        self._patch(start, content, PatchKind.JUMP)
        for one in before:
            self._move(one)
        self._lead_to_handler(LatencySlot.END)
        self._leave(instruction, function.bytes_of(last[0], last[1]), last[2])

    def finished(self, build_id: str) -> PatchPlan:
        self._stubs += bytes(_LEAST_BEHIND_SLOT)
        self._increments = sorted(self._slots)
        return self.plan(build_id, PlanFlags.NONE)

    def _take(self, low: int, high: int) -> None:
        if any(start < high and low < end for start, end in self._taken):
            raise NotPatched("is too short")
        self._taken.append((low, high))

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
            if one is None or not function.movable or self._is_entered(inside):
                raise NotPatched("has an exit with no room for a jump: something else may lead into it")
            before.insert(0, one)
            size += len(one.content)
        if size > OLD_BYTES:
            raise NotPatched("has an exit with no room for a jump")
        return before, last, filling

    def _filling(self, address: int, wanted: int) -> bytes:
        """So many bytes of instructions that nobody executes; none where there are fewer."""
        content = self._image.read(address, _LONGEST_FILLING)
        size = 0
        for start, bytes_, mnemonic, _ in instructions(content, address):
            if size >= wanted or mnemonic not in _FILLING or self._is_entered(start):
                break
            size += bytes_
        return content[:size] if 0 < wanted <= size else b""

    def _is_entered(self, address: int) -> bool:
        row = bisect.bisect_left(self._entered, address)
        return (row < len(self._entered) and self._entered[row] == address) or address in self._by_start

    def _lead_to_handler(self, handler: LatencySlot) -> None:
        """Which goes on behind the numbers."""
        distances = []
        for code in (_PUSH_NEAR, _JUMP_NEAR):
            self._stubs += code + bytes(4)
            distances.append(len(self._stubs) - 4)
        self._align()
        for at, slot in zip(distances, (LatencySlot.STUBS, handler), strict=True):
            struct.pack_into("<i", self._stubs, at, len(self._stubs) - at - 4)
            self._slots.append((len(self._stubs), slot))
            self._stubs += bytes(_NUMBER.size)
        goes_on, number_at = len(self._stubs), len(self._stubs) - 2 * _NUMBER.size
        _NUMBER.pack_into(self._stubs, number_at, goes_on)

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
