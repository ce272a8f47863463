"""What a look at all code with unwind rows tells: where it calls and jumps, and what may be entered.

Hand-written code without unwind rows is never changed.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.code_maps.places import out_of_line_scopes
from whyperf.debuginfo.probes.stretches import Stretch


@dataclass(frozen=True)
class Leaving:
    """A call, or a jump out of a stretch."""

    address: int
    size: int
    target: int | None
    """None: through a pointer."""
    is_call: bool


@dataclass(frozen=True)
class SurveyedFunction:
    """A stretch that was understood."""

    stretch: Stretch
    leaving: Sequence[Leaving]


def split_off_parts(functions: Sequence[SurveyedFunction], pointed: frozenset[int]) -> Iterator[int]:
    """Starts of stretches that were split off a function. With something on the stack at their start, or jumping into
    the midst of other functions, never called."""
    starts = {function.stretch.low for function in functions}
    lows = sorted(starts)
    entered = pointed.union(
        one.target for function in functions for one in function.leaving if one.is_call and one.target
    )

    def is_inside(address: int) -> bool:
        row = bisect.bisect_right(lows, address) - 1
        return row >= 0 and address < functions[row].stretch.high

    for function in functions:
        jumps = [one.target for one in function.leaving if not one.is_call and one.target is not None]
        jumps_back = any(target not in starts and is_inside(target) for target in jumps)
        if function.stretch.is_part or (jumps_back and function.stretch.low not in entered):
            yield function.stretch.low


def tail_jumps(binary: Binary, functions: Sequence[SurveyedFunction], parts: frozenset[int]) -> set[tuple[int, int]]:
    """Jumps into other functions, as pairs of addresses: not those between the parts of one function."""
    jumps = [
        (leaving.address, leaving.target)
        for function in functions
        for leaving in function.leaving
        if not leaving.is_call and leaving.target is not None
    ]
    if not jumps:
        return set()
    source, target = (_functions_at(binary, addresses) for addresses in zip(*jumps, strict=True))
    entries = {function.stretch.low for function in functions} - parts
    return {
        jump
        for jump, own, other in zip(jumps, source, target, strict=True)
        if (own != other or own < 0) and (jump[1] in entries or _is_linkage(binary, jump[1]))
    }


def _functions_at(binary: Binary, addresses: Sequence[int]) -> list[int]:
    code = binary.code
    scope = out_of_line_scopes(code, np.array(addresses, np.uint64))
    found: list[int] = np.where(scope >= 0, code.scope_function[scope] if len(code.scope_function) else -1, -1).tolist()
    return found


def _is_linkage(binary: Binary, address: int) -> bool:
    return binary.elf is not None and binary.elf.is_linkage(address)
