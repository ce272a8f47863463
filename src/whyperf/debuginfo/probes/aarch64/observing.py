"""Places in 64-bit ARM code: every patch is one word."""

from __future__ import annotations

import struct

from whyperf.debuginfo.elf_files.elf import ElfFile
from whyperf.debuginfo.image import Image
from whyperf.debuginfo.probes.aarch64 import words
from whyperf.debuginfo.probes.aarch64.spreading import spread_in_place
from whyperf.debuginfo.probes.aarch64.stubs import ArmPlanBuilder
from whyperf.debuginfo.probes.aarch64.words import Form
from whyperf.debuginfo.probes.observed_places import DecidedJump, LoadedNumber, NotPlaced, SpreadNumber, Wanted
from whyperf.debuginfo.probes.plan_file import PatchKind, PatchPlan, PlanFlags

_WORD = struct.Struct("<I")
_LINK, _STACK_POINTER = 30, 31
_SCRATCH = 16  # which linkers' code may change on the way to any function
_EXCLUSIVE_WORDS = 32
"""As far back as a pair of exclusive accesses may begin: the kernel looks as far."""
_HALF_BITS = 16


class ArmObservingStubs(ArmPlanBuilder):
    def __init__(self, elf: ElfFile, image: Image) -> None:
        super().__init__()
        self._image = image
        self._low = min((segment.address for segment in elf.segments), default=0)

    def put(self, wanted: Wanted) -> int | None:
        word = self._word(wanted.address)
        if wanted.after and _leaves(word):
            raise NotPlaced("a call or jump has no result to be seen behind it")
        self._check(wanted, word)
        if isinstance(wanted.loaded, DecidedJump):
            if not words.is_conditional(word):
                raise NotPlaced("it is no conditional jump that can be rewritten")
            self._replace(wanted.address, word, wanted.loaded.patch)
            self._add(words.TRAP)  # nobody goes there
            return None
        if wanted.loaded is not None:
            load = _code_for(wanted.loaded)
            self._replace(wanted.address, word, PatchKind.JUMP)
            self._add_all([] if wanted.after else load)
            self._move_any(wanted.address, word)
            self._add_all(load if wanted.after else [])
            self._go_back(wanted.address, word)
            return None
        self._replace(wanted.address, word, PatchKind.TRAP)
        self._move_any(wanted.address, word)
        after = len(self._stubs) if wanted.after else None
        if wanted.after:
            self._add(words.TRAP)
        self._go_back(wanted.address, word)
        return after

    def finished(self, build_id: str, multiple: int) -> PatchPlan:
        self._stubs += bytes(-len(self._stubs) % multiple)
        return self.plan(build_id, PlanFlags.HAS_TRAPS)

    def _word(self, address: int) -> int:
        content = self._image.read(address, words.BYTES)
        if address % words.BYTES or len(content) < words.BYTES or not self._image.holds_code(address):
            raise NotPlaced("there is no instruction")
        word: int = _WORD.unpack(content)[0]
        return word

    def _check(self, wanted: Wanted, word: int) -> None:
        if Form.EXCEPTION.holds(word):
            raise NotPlaced("it is a system call or a trap itself")
        if Form.SIGNED_CALL.holds(word) or (Form.NEAR_LOAD.holds(word) and not _loads_general(word)):
            raise NotPlaced("the instruction cannot run elsewhere")
        if (Form.PAGE.holds(word) or Form.NEAR_ADDRESS.holds(word)) and self._named(wanted.address, word) < self._low:
            raise NotPlaced("the instruction cannot run elsewhere")
        if self._is_between_exclusives(wanted.address) or (wanted.after and words.is_exclusive_load(word)):
            raise NotPlaced("it lies between an exclusive load and its store, where a trap would make the store fail")

    def _named(self, address: int, word: int) -> int:
        page = Form.PAGE.holds(word)
        return words.page_named(address, word) if page else words.address_named(address, word)

    def _is_between_exclusives(self, address: int) -> bool:
        for back in range(1, _EXCLUSIVE_WORDS + 1):
            content = self._image.read(address - back * words.BYTES, words.BYTES)
            if len(content) < words.BYTES:
                return False
            word = _WORD.unpack(content)[0]
            if words.is_exclusive_load(word):
                return True
            if words.is_exclusive_store(word) or Form.RETURN.holds(word) or Form.JUMP.holds(word):
                return False
        return False

    def _move_any(self, address: int, word: int) -> None:
        if Form.CALL.holds(word):
            self._link(address)
            self._jump(address + words.jump_distance(word))
        elif Form.CALL_BY_REGISTER.holds(word):
            register = words.second_register(word)
            if register == _LINK:
                self._add(words.copy(_SCRATCH, register))
                register = _SCRATCH
            self._link(address)
            self._add(words.jump_by_register(register))
        elif Form.NEAR_LOAD.holds(word):
            register, named = words.first_register(word), words.literal_named(address, word)
            self._page(register, named)
            self._add(words.add(register, named & (1 << words.PAGE_BITS) - 1))
            self._add(words.load_like(word, register))
        else:
            self._move(address, word)

    def _link(self, address: int) -> None:
        """The call returns to where it would have."""
        back = address + words.BYTES
        self._page(_LINK, back)
        self._add(words.add(_LINK, back & (1 << words.PAGE_BITS) - 1))

    def _go_back(self, address: int, word: int) -> None:
        if not (Form.CALL.holds(word) or Form.CALL_BY_REGISTER.holds(word)):
            self._jump(address + words.BYTES)

    def _add_all(self, added: list[int]) -> None:
        for word in added:
            self._add(word)


def _leaves(word: int) -> bool:
    forms = (Form.CALL, Form.JUMP, Form.CALL_BY_REGISTER, Form.JUMP_BY_REGISTER, Form.SIGNED_CALL, Form.RETURN)
    return words.is_conditional(word) or any(form.holds(word) for form in forms)


def _loads_general(word: int) -> bool:
    """A literal into a general register; prefetches and vectors are others."""
    return not word >> 26 & 1 and word >> 30 != 3 and words.first_register(word) != _STACK_POINTER


def _code_for(loaded: LoadedNumber | SpreadNumber) -> list[int]:
    return spread_in_place(loaded) if isinstance(loaded, SpreadNumber) else _load(loaded)


def _load(loaded: LoadedNumber) -> list[int]:
    if not 0 <= loaded.register < _STACK_POINTER:
        raise NotPlaced("that register cannot be forced")
    if loaded.value is None:
        return [words.copy(loaded.register, loaded.register)]
    value = loaded.value & (1 << 8 * loaded.size) - 1
    if loaded.size == 1:
        raise NotPlaced("a single byte of a register cannot be loaded")
    if loaded.size == 2:
        return [words.move_half(loaded.register, value, 0, keeps=True)]
    halves = [(number, value >> number * _HALF_BITS & 0xFFFF) for number in range(4)]
    rest = [words.move_half(loaded.register, half, number, keeps=True) for number, half in halves[1:] if half]
    return [words.move_half(loaded.register, halves[0][1], 0, keeps=False), *rest]
