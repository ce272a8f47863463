"""Stubs of 64-bit ARM: every replaced instruction is one word."""

from __future__ import annotations

import struct
from typing import NamedTuple

from whyperf.debuginfo.machines import AARCH64
from whyperf.debuginfo.probes.aarch64 import words
from whyperf.debuginfo.probes.aarch64.words import Form
from whyperf.debuginfo.probes.plan_builder import PlanBuilder
from whyperf.debuginfo.probes.plan_file import PatchKind
from whyperf.recording.schemas.call_tables import CallKind, NotCounted

_WORD = struct.Struct("<I")
_FILL = bytes(words.BYTES)  # undefined: a trap
_INCREMENT_BYTES = 24
# Registers that calls may change: linkers' code uses the first two on the way to any function. Where these hold the
# callee's address, those that no unknown callee leaves alone.
_COUNTING, _OTHER_COUNTING = 16, 9


class StubSite(NamedTuple):
    kind: CallKind
    address: int
    function: int
    target: int
    """-1 when unknown."""
    word: int


class ArmPlanBuilder(PlanBuilder):
    """`entered`: the instruction is also the one at which entries of its function are counted."""

    def __init__(self) -> None:
        super().__init__(AARCH64, _FILL, _INCREMENT_BYTES)

    def by_distance(self, site: StubSite, *, entered: bool) -> None:
        """A call or jump: count, then go to its target."""
        self._begin(site, PatchKind.DISTANCE, entered, _COUNTING)
        self._jump(site.target)

    def by_register(self, site: StubSite, *, entered: bool) -> None:
        register = words.second_register(site.word)
        kind = PatchKind.CALL if Form.CALL_BY_REGISTER.holds(site.word) else PatchKind.JUMP
        is_taken = register in (_COUNTING, _COUNTING + 1)
        self._begin(site, kind, entered, _OTHER_COUNTING if is_taken else _COUNTING)
        self._add(words.jump_by_register(register))

    def by_condition(self, site: StubSite, *, entered: bool) -> None:
        """A conditional jump: count only if it is taken."""
        self._replace(site.address, site.word, PatchKind.JUMP)
        if entered:
            self._count_with(_COUNTING, CallKind.ENTRY, site.address, site.function, -1)
        self._add(words.inverted(site.word, 2 * words.BYTES + _INCREMENT_BYTES))
        self._count_with(_COUNTING, site.kind, site.address, site.function, site.target)
        self._jump(site.target)
        self._jump(site.address + words.BYTES)

    def entry(self, address: int, function: int, word: int) -> None:
        """The instruction must be movable."""
        self._replace(address, word, PatchKind.JUMP)
        self._count_with(_COUNTING, CallKind.ENTRY, address, function, -1)
        self._move(address, word)
        self._jump(address + words.BYTES)

    def _begin(self, site: StubSite, kind: PatchKind, entered: bool, register: int) -> None:
        self._replace(site.address, site.word, kind)
        if entered:
            self._count_with(register, CallKind.ENTRY, site.address, site.function, -1)
        self._count_with(register, site.kind, site.address, site.function, site.target)

    def _move(self, address: int, word: int) -> None:
        if Form.JUMP.holds(word):
            self._jump(address + words.jump_distance(word))
        elif words.is_conditional(word):
            self._add(words.inverted(word, 2 * words.BYTES))
            self._jump(words.conditional_target(address, word))
        elif Form.PAGE.holds(word):
            self._page(words.first_register(word), words.page_named(address, word))
        elif Form.NEAR_ADDRESS.holds(word):
            register, named = words.first_register(word), words.address_named(address, word)
            self._page(register, named)
            self._add(words.add(register, named & (1 << words.PAGE_BITS) - 1))
        else:
            self._add(word)

    def _replace(self, address: int, word: int, kind: PatchKind) -> None:
        self._patch(address, _WORD.pack(word), kind)

    def _count_with(self, register: int, kind: CallKind, address: int, function: int, target: int) -> None:
        """By that register and the one after it: the target reads from the first word which they are."""
        self._count(kind, address, function, target, _WORD.pack(register).ljust(_INCREMENT_BYTES, b"\0"))

    def _add(self, word: int) -> None:
        self._stubs += _WORD.pack(word)

    def _jump(self, target: int) -> None:
        self._fixes.append(len(self._stubs))
        self._add(words.jump(target - len(self._stubs)))

    def _page(self, register: int, named: int) -> None:
        self._fixes.append(len(self._stubs))
        self._add(words.page(register, (named >> words.PAGE_BITS) - (len(self._stubs) >> words.PAGE_BITS)))


def movable(word: int) -> NotCounted:
    """Whether the first instruction of a function may run elsewhere: `COUNTED` if it may."""
    returns_there = Form.CALL.holds(word) or Form.CALL_BY_REGISTER.holds(word) or Form.SIGNED_CALL.holds(word)
    if returns_there or Form.NEAR_LOAD.holds(word) or Form.EXCEPTION.holds(word):
        return NotCounted.NOT_MOVABLE
    return NotCounted.COUNTED
