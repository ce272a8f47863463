"""Stubs of 64-bit ARM: every replaced instruction is one word, and no register is changed."""

from __future__ import annotations

import struct

from whyperf.debuginfo.control_flow.flow_instructions import FlowInstruction
from whyperf.debuginfo.elf_files.elf import ElfFile
from whyperf.debuginfo.image import Image
from whyperf.debuginfo.latency.stubs import LatencySlot
from whyperf.debuginfo.probes.aarch64 import words
from whyperf.debuginfo.probes.aarch64.first import CHECK_SIGN, SIGN, ArmFirstInstructions
from whyperf.debuginfo.probes.aarch64.stubs import ArmPlanBuilder
from whyperf.debuginfo.probes.not_patched import NotPatched
from whyperf.debuginfo.probes.plan_file import PatchKind

_NUMBER = struct.Struct("<Q")
_PUSH, _POP = 0xA9BF47F0, 0xA8C147F0  # stp x16, x17, [sp, #-16]!; ldp x16, x17, [sp], #16
_RETURNS = (0xD65F03C0, 0xD65F0BFF, 0xD65F0FFF)  # ret, retaa, retab


class ArmLatencyStubs(ArmPlanBuilder):
    def __init__(self, elf: ElfFile, image: Image) -> None:
        super().__init__()
        self._first = ArmFirstInstructions(elf, image)
        self.functions = self._first.survey.functions

    def begin(self, address: int) -> None:
        at, word, is_signed = self._first.of(address)
        self._lead_away(at, word)
        if is_signed:
            self._add(CHECK_SIGN)
        self._lead_to_handler(LatencySlot.BEGIN)
        if is_signed:
            self._add(SIGN)
        self._move(at, word)
        self._jump(at + words.BYTES)

    def end(self, instruction: FlowInstruction) -> None:
        at, word = self._first.code.at(self._first.code.row(instruction.address))
        is_jump = words.Form.JUMP.holds(word) or words.Form.JUMP_BY_REGISTER.holds(word)
        if word not in _RETURNS and not is_jump:
            raise NotPatched("ends with an instruction that is not understood")
        self._lead_away(at, word)
        self._lead_to_handler(LatencySlot.END)
        self._move(at, word)

    def _lead_away(self, at: int, word: int) -> None:
        if self._is_taken(at, at + words.BYTES):
            raise NotPatched("is too short")
        self._replace(at, word, PatchKind.JUMP)

    def _lead_to_handler(self, handler: LatencySlot) -> None:
        """Which goes on behind the numbers."""
        self._add(_PUSH)
        loads = len(self._stubs)
        at = loads + 3 * words.BYTES
        at += -at % _NUMBER.size
        self._add(words.load_near(16, at - loads))
        self._add(words.load_near(17, at + _NUMBER.size - loads - words.BYTES))
        self._add(words.jump_by_register(17))
        self._stubs += bytes(at - len(self._stubs))
        for slot, value in ((LatencySlot.STUBS, at + 2 * _NUMBER.size), (handler, 0)):
            self._slot(slot)
            self._stubs += _NUMBER.pack(value)
        self._add(_POP)
