"""Instructions of 64-bit ARM as numbers of 32 bits: what they are and where they lead.

All of it works on single numbers and on columns of signed 64-bit numbers alike.
"""

from __future__ import annotations

from enum import Enum
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]
_Number = TypeVar("_Number", int, Words)

BYTES = 4
PAGE_BITS = 12
TRAP = 0xD4200000 | 0x575 << 5
"""As native/probes/aarch64/words.h has it."""
_JUMP, _CALL = 0x14000000, 0x94000000
ADD_SHIFTED, XOR_SHIFTED = 0x0B000000, 0x4A400000
"""Of 32 bits: a register shifted to the left is added, one shifted to the right combined by exclusive or."""


class Form(Enum):
    """Bits that tell, and what they are."""

    CALL = 0xFC000000, _CALL
    JUMP = 0xFC000000, _JUMP
    CONDITIONAL = 0xFF000000, 0x54000000
    COMPARE_AND_JUMP = 0x7E000000, 0x34000000
    TEST_AND_JUMP = 0x7E000000, 0x36000000
    CALL_BY_REGISTER = 0xFFFFFC1F, 0xD63F0000
    JUMP_BY_REGISTER = 0xFFFFFC1F, 0xD61F0000
    RETURN = 0xFFFFFC1F, 0xD65F0000
    SIGNED_CALL = 0xFEFFF800, 0xD63F0800
    PAGE = 0x9F000000, 0x90000000
    """adrp"""
    NEAR_ADDRESS = 0x9F000000, 0x10000000
    """adr"""
    ADD = 0xFF800000, 0x91000000
    """Of a number, to all 64 bits."""
    LOAD = 0xFFC00000, 0xF9400000
    """Of 64 bits, at a distance from a register."""
    NEAR_LOAD = 0x3B000000, 0x18000000
    """Of what lies among the code."""
    SET_THREAD_POINTER = 0xFFFFFFE0, 0xD51BD040
    EXCEPTION = 0xFF000000, 0xD4000000
    """System calls and traps."""

    def holds(self, word: int) -> bool:
        """Whether it is one."""
        mask, value = self.value
        return bool(word & mask == value)

    def among(self, words: Words) -> Truths:
        mask, value = self.value
        found: Truths = words & mask == value
        return found


LANDING_MARKS = frozenset({0xD503245F, 0xD50324DF, 0xD503233F, 0xD503237F})
"""bti c, bti jc, paciasp, pacibsp: where calls by pointers must land, if the system checks that."""


def is_conditional(word: int) -> bool:
    """One of three forms."""
    return word & 0xFF000000 == 0x54000000 or word & 0x7C000000 == 0x34000000


def is_allocated(words: Words) -> Truths:
    """False for what no processor executes: data, as far as that can be seen."""
    group = words >> 25 & 15
    found: Truths = (group != 0) & (group != 1) & (group != 3)
    return found


def first_register(word: _Number) -> _Number:
    return word & 31


def second_register(word: _Number) -> _Number:
    return word >> 5 & 31


def may_write(word: int, register: int) -> bool:
    """Whether an instruction that neither jumps nor calls may write to a register; pairs are loaded, bases moved."""
    accesses_memory = (word & 0x0A000000) == 0x08000000
    others = (second_register(word), word >> 10 & 31) if accesses_memory and not Form.LOAD.holds(word) else ()
    return register in (first_register(word), *others)


def _signed(value: _Number, bits: int) -> _Number:
    sign = 1 << (bits - 1)
    return (value & (2 * sign - 1) ^ sign) - sign


def jump_distance(word: _Number) -> _Number:
    """Of `JUMP` and `CALL`."""
    return _signed(word, 26) * BYTES


def condition_distance(word: _Number) -> _Number:
    """Of `CONDITIONAL` and `COMPARE_AND_JUMP`."""
    return _signed(word >> 5, 19) * BYTES


def test_distance(word: _Number) -> _Number:
    return _signed(word >> 5, 14) * BYTES


def conditional_target(address: int, word: int) -> int:
    return address + (test_distance(word) if Form.TEST_AND_JUMP.holds(word) else condition_distance(word))


def _near_distance(word: _Number) -> _Number:
    return _signed((word >> 5 & 0x7FFFF) << 2 | word >> 29 & 3, 21)


def page_named(address: _Number, word: _Number) -> _Number:
    """By `PAGE`."""
    return ((address >> PAGE_BITS) + _near_distance(word)) << PAGE_BITS


def address_named(address: _Number, word: _Number) -> _Number:
    """By `NEAR_ADDRESS`."""
    return address + _near_distance(word)


def literal_named(address: _Number, word: _Number) -> _Number:
    """By `NEAR_LOAD`."""
    return address + condition_distance(word)


def number_added(word: _Number) -> _Number:
    return (word >> 10 & 0xFFF) << (word >> 22 & 1) * 12


def load_distance(word: _Number) -> _Number:
    return (word >> 10 & 0xFFF) * 8


def jump(distance: int) -> int:
    return _JUMP | (distance // BYTES & 0x3FFFFFF)


def jump_by_register(register: int) -> int:
    return Form.JUMP_BY_REGISTER.value[1] | register << 5


def page(register: int, pages: int) -> int:
    return Form.PAGE.value[1] | (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5 | register


def add(register: int, number: int) -> int:
    return Form.ADD.value[1] | number << 10 | register << 5 | register


def copy(to: int, register: int) -> int:
    """All 64 bits."""
    return 0xAA0003E0 | register << 16 | to


def move_half(register: int, half: int, number: int, *, keeps: bool) -> int:
    """16 bits of a register; the others are kept or become 0."""
    return (0xF2800000 if keeps else 0xD2800000) | number << 21 | half << 5 | register


def low_bits(register: int, bits: int) -> int:
    """All others become 0."""
    return 0x92400000 | bits - 1 << 10 | register << 5 | register


def load_near(register: int, distance: int) -> int:
    """64 bits that lie so far behind it."""
    return 0x58000000 | distance // BYTES << 5 | register


def load_like(word: int, register: int) -> int:
    """What a `NEAR_LOAD` into a general register loads, from where a register points to."""
    kind = word >> 30
    return (0xB9400000, 0xF9400000, 0xB9800000)[kind] | register << 5 | register


def is_exclusive_load(word: int) -> bool:
    return _is_exclusive(word) and bool(word >> 22 & 1)


def is_exclusive_store(word: int) -> bool:
    return _is_exclusive(word) and not word >> 22 & 1


def _is_exclusive(word: int) -> bool:
    """Single registers or pairs; comparing and swapping is another form."""
    return word & 0x3F800000 == 0x08000000 and (not word >> 21 & 1 or bool(word >> 31))


def inverted(word: int, distance: int) -> int:
    """A conditional jump so far on the opposite condition."""
    words = distance // BYTES
    if Form.CONDITIONAL.holds(word):
        return (word & 0xFF00001F ^ 1) | words << 5
    kept = 0xFFF8001F if Form.TEST_AND_JUMP.holds(word) else 0xFF00001F
    return (word & kept ^ 1 << 24) | words << 5
