"""Stubs of x86-64."""

from __future__ import annotations

import struct

from whyperf.debuginfo.machines import X86_64
from whyperf.debuginfo.probes.plan_builder import PlanBuilder
from whyperf.debuginfo.probes.plan_file import PatchKind
from whyperf.debuginfo.probes.x86_64.moving import MovedInstruction, as_jump
from whyperf.recording.schemas.call_tables import CallKind

_FILL = b"\xcc"  # a trap
_INCREMENT = bytes(9)
_JUMP = b"\xe9"
_SHORT_JUMP = 0xEB
_PUSH_NEAR, _JUMP_NEAR = b"\xff\x35", b"\xff\x25"  # push [rip + distance], jmp [rip + distance]
_NUMBER = struct.Struct("<Q")


class IntelPlanBuilder(PlanBuilder):
    def __init__(self) -> None:
        super().__init__(X86_64, _FILL, len(_INCREMENT))

    def through(self, kind: CallKind, address: int, function: int, target: int, old: bytes) -> None:
        """A call or jump by distance: count, then go to its target."""
        self._patch(address, old, PatchKind.DISTANCE)
        self._count(kind, address, function, target, _INCREMENT)
        self._jump(target)

    def by_pointer(self, kind: CallKind, function: int, run: list[MovedInstruction]) -> None:
        """A call or jump through a pointer, after so many instructions before it that there is room."""
        last = run[-1]
        is_call = kind is CallKind.POINTER
        old = b"".join(one.content for one in run)
        self._patch(run[0].address, old, PatchKind.CALL if is_call else PatchKind.JUMP)
        for one in run[:-1]:
            self._move(one)
        self._count(kind, last.address, function, -1 if last.near is None else last.near, _INCREMENT)
        self._move(as_jump(last) if is_call else last)

    def iteration(self, function: int, run: list[MovedInstruction], jump: int, target: int, old: bytes) -> None:
        """A short jump back at `jump`, its bytes `old`, after so many instructions before it that there is room."""
        content = b"".join(one.content for one in run) + old
        self._patch(run[0].address, content, PatchKind.JUMP)
        for one in run:
            self._move(one)
        if old[0] != _SHORT_JUMP:
            # Where it does not jump back: over the increment and the jump behind it.
            self._stubs += bytes((old[0] ^ 1, len(_INCREMENT) + len(_JUMP) + 4))
        self._count(CallKind.ITERATION, jump, function, target, _INCREMENT)
        self._jump(target)
        if old[0] != _SHORT_JUMP:
            self._jump(run[0].address + len(content))

    def entry(self, function: int, run: list[MovedInstruction]) -> None:
        self._patch(run[0].address, b"".join(one.content for one in run), PatchKind.JUMP)
        self._count(CallKind.ENTRY, run[0].address, function, -1, _INCREMENT)
        self._move_all(run)

    def _jump(self, target: int) -> None:
        self._stubs += _JUMP
        self._fixes.append(len(self._stubs))
        self._stubs += struct.pack("<i", target - len(self._stubs) - 4)

    def _near(self, code: bytes) -> int:
        """Where its distance is, still to be written."""
        self._stubs += code + bytes(4)
        return len(self._stubs) - 4

    def _lead_to(self, distance_at: int, target: int) -> None:
        struct.pack_into("<i", self._stubs, distance_at, target - distance_at - 4)

    def _call_handler(self) -> tuple[int, int]:
        """With a number on the stack. `_handler_numbers` writes what it returns."""
        return self._near(_PUSH_NEAR), self._near(_JUMP_NEAR)

    def _handler_numbers(self, near: tuple[int, int], number: tuple[int, int], handler: int) -> None:
        """`number`: what is pushed, and the slot that it is added to."""
        for at, (value, slot) in zip(near, (number, (0, handler)), strict=True):
            self._lead_to(at, len(self._stubs))
            self._slot(slot)
            self._stubs += _NUMBER.pack(value)

    def _move_all(self, run: list[MovedInstruction]) -> None:
        """And go on behind them."""
        for one in run:
            self._move(one)
        self._jump(run[-1].address + len(run[-1].content))

    def _move(self, one: MovedInstruction) -> None:
        start = len(self._stubs)
        self._stubs += one.placed_at(start)
        if one.near is not None:
            self._fixes.append(start + one.distance_at)
