"""Stubs of 64-bit ARM: every replaced instruction is one word, and no register is changed."""

from __future__ import annotations

import struct

from whyperf.debuginfo.control_flow.flow_instructions import FlowInstruction
from whyperf.debuginfo.elf_files.elf import ElfFile
from whyperf.debuginfo.image import Image
from whyperf.debuginfo.latency.stubs import LatencySlot
from whyperf.debuginfo.probes.aarch64 import words
from whyperf.debuginfo.probes.aarch64.first import CHECK_SIGN, SIGN, first_instruction
from whyperf.debuginfo.probes.aarch64.stubs import Stubs
from whyperf.debuginfo.probes.aarch64.survey import SurveyedCode, survey
from whyperf.debuginfo.probes.not_patched import NotPatched
from whyperf.debuginfo.probes.plan_file import PatchKind, PatchPlan, PlanFlags

_NUMBER = struct.Struct("<Q")
_PUSH, _POP = 0xA9BF47F0, 0xA8C147F0  # stp x16, x17, [sp, #-16]!; ldp x16, x17, [sp], #16
_LOAD_NEAR = 0x58000000
_RETURNS = (0xD65F03C0, 0xD65F0BFF, 0xD65F0FFF)  # ret, retaa, retab
_LEAST_BEHIND_SLOT = 24
"""`code_increment_bytes`: what a slot of a plan may take."""


class ArmLatencyStubs(Stubs):
    def __init__(self, elf: ElfFile, image: Image) -> None:
        super().__init__()
        self._code = SurveyedCode(elf, image)
        self._survey = survey(elf, image, self._code)
        self.functions = self._survey.functions
        self._by_start = {one.stretch.low: one for one in self.functions}
        self._lowest = min((segment.address for segment in elf.segments), default=0)
        self._slots: list[tuple[int, int]] = []
        self._replaced: set[int] = set()

    def begin(self, address: int) -> None:
        at, word, is_signed = first_instruction(self._code, self._survey, self._by_start, self._lowest, address)
        self._take(at)
        self._replace(at, word, PatchKind.JUMP)
        if is_signed:
            self._add(CHECK_SIGN)
        self._lead_to_handler(LatencySlot.BEGIN)
        if is_signed:
            self._add(SIGN)
        self._move(at, word)
        self._jump(at + words.BYTES)

    def end(self, instruction: FlowInstruction) -> None:
        at, word = self._code.at(self._code.row(instruction.address))
        is_jump = words.Form.JUMP.holds(word) or words.Form.JUMP_BY_REGISTER.holds(word)
        if word not in _RETURNS and not is_jump:
            raise NotPatched("ends with an instruction that is not understood")
        self._take(at)
        self._replace(at, word, PatchKind.JUMP)
        self._lead_to_handler(LatencySlot.END)
        self._move(at, word)

    def finished(self, build_id: str) -> PatchPlan:
        self._stubs += bytes(_LEAST_BEHIND_SLOT)
        self._increments = sorted(self._slots)
        return self.plan(build_id, PlanFlags.NONE)

    def _take(self, address: int) -> None:
        if address in self._replaced:
            raise NotPatched("is too short")
        self._replaced.add(address)

    def _lead_to_handler(self, handler: LatencySlot) -> None:
        """Which goes on behind the numbers."""
        self._add(_PUSH)
        loads = len(self._stubs)
        at = loads + 3 * words.BYTES
        at += -at % _NUMBER.size
        self._add(_load(16, at - loads))
        self._add(_load(17, at + _NUMBER.size - loads - words.BYTES))
        self._add(words.jump_by_register(17))
        self._stubs += bytes(at - len(self._stubs))
        self._slots += [(at, LatencySlot.STUBS), (at + _NUMBER.size, handler)]
        self._stubs += _NUMBER.pack(at + 2 * _NUMBER.size) + _NUMBER.pack(0)
        self._add(_POP)


def _load(register: int, distance: int) -> int:
    return _LOAD_NEAR | distance // words.BYTES << 5 | register
