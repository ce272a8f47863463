"""Instructions of aarch64 with whole addresses.

An instruction of four bytes has no room for an address: code takes a page's and adds the rest, or loads from it with
the rest as displacement. What registers hold is followed here, so that such an `add` reads as `adr x0, [0x11010]`,
such a load as `ldr x1, [0x11010]`, a call of what was loaded as `blr [0x11010]`, and jumps through tables are known.
Addresses from which others are only counted, as gcc does with what lies side by side, read as pages' do.

Code is followed in the order of addresses. Where ways meet, what is the same on all of them stays known; in a loop,
what it does not write. Code to which no way leads is taken for a case of the last jump through a table.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import capstone

from whyperf.debuginfo.machines.aarch64.control import direct_target, step
from whyperf.debuginfo.machines.aarch64.held import (
    BOUND,
    LOST_IN_CALLS,
    SETS_FLAGS,
    Address,
    Entry,
    Known,
    Loaded,
    Made,
    bounded,
    compared_in,
    first_register,
    made,
    table_jump,
    written,
)
from whyperf.debuginfo.machines.machine import Decoded, Row, Step, TableJump

_INSTRUCTION_BYTES = 4


def rows(content: bytes, address: int) -> Iterator[Row]:
    found: Iterator[Row] = _decoder().disasm_lite(content, address)
    return found


def decoded(content: bytes, address: int) -> Decoded:
    follower = _Follower(list(rows(content, address)), address)
    follower.follow()
    return Decoded(follower.rows, follower.table_jumps)


@dataclass
class _Follower:
    code: Sequence[Row]
    low: int
    rows: list[Row] = field(default_factory=list)
    table_jumps: dict[int, TableJump] = field(default_factory=dict)
    _known: Known = field(default_factory=dict)
    """Never changed, but replaced: what is ahead keeps it."""
    _ahead: dict[int, Known] = field(default_factory=dict)
    """By target of jumps met so far."""
    _in_cases: Known = field(default_factory=dict)
    _compared: tuple[int, int] | None = None
    """A register, and the number that it was compared with last."""
    _made: dict[int, int] = field(default_factory=dict)
    """Rows that put together addresses, by address."""
    _latest: Known = field(default_factory=dict)
    """Of tables: what the last row that writes to a register leaves in it, on whatever way that is."""

    def follow(self) -> None:
        loops = self._loops()
        falls = True
        for start, size, mnemonic, operands in self.code:
            if not falls or start in loops or start in self._ahead:
                self._arrive(start, falls, loops)
            kind = step(mnemonic)
            if kind is Step.NEXT:
                self.rows.append((start, size, *self._run(mnemonic, operands)))
            else:
                self.rows.append((start, size, mnemonic, self._leave(kind, start, mnemonic, operands)))
            falls = kind not in (Step.JUMP, Step.STOP)

    def _arrive(self, start: int, falls: bool, loops: dict[int, int]) -> None:
        if not falls:
            self._known = self._ahead.pop(start, self._in_cases)
        elif start in self._ahead:
            self._known = _common(self._known, self._ahead.pop(start))
        if self._known and start in loops:
            end = loops[start]
            self._known = {
                key: held for key, held in self._known.items() if not self._is_written_between(key, start, end)
            }

    def _loops(self) -> dict[int, int]:
        """Ends of what jumps back repeat, by start."""
        found: dict[int, int] = {}
        for start, size, mnemonic, operands in self.code:
            if step(mnemonic) in (Step.JUMP, Step.BRANCH):
                target = direct_target(operands)
                if target is not None and self.low <= target <= start:
                    found[target] = start + size
        return found

    def _is_written_between(self, register: int, low: int, high: int) -> bool:
        rows = self._written_at.get(register, ())
        first, last = ((address - self.low) // _INSTRUCTION_BYTES for address in (low, high))
        return register == BOUND or bisect_left(rows, first) < bisect_left(rows, last)

    @cached_property
    def _written_at(self) -> dict[int, list[int]]:
        """Rows, by register."""
        found: defaultdict[int, list[int]] = defaultdict(list)
        for row, (_, _, mnemonic, operands) in enumerate(self.code):
            for register in LOST_IN_CALLS if step(mnemonic) is Step.CALL else written(mnemonic, operands):
                found[register].append(row)
        return found

    def _leave(self, kind: Step, start: int, mnemonic: str, operands: str) -> str:
        """Follows a jump or a call; its operands."""
        target = direct_target(operands)
        if target is not None and kind in (Step.JUMP, Step.BRANCH):
            jumping, falling = bounded(self._known, self._compared, mnemonic)
            known = self._ahead.get(target)
            self._ahead[target] = jumping if known is None else _common(known, jumping)
            self._known = falling
            return operands
        register = first_register(operands)
        held = self._known.get(register)
        if kind is Step.JUMP and (through := table_jump(held or self._latest.get(register))) is not None:
            self.table_jumps[start] = through
            self._in_cases = {key: one for key, one in self._known.items() if key != register}
        elif kind is Step.CALL:
            self._forget(LOST_IN_CALLS)
        return f"[{held.slot:#x}]" if isinstance(held, Loaded) else operands

    def _run(self, mnemonic: str, operands: str) -> tuple[str, str]:
        """Follows an instruction; what it reads as."""
        if mnemonic in SETS_FLAGS:
            self._compared = compared_in(mnemonic, operands)
        found = made(self._known, mnemonic, operands)
        if self._known or self._latest:
            self._forget(written(mnemonic, operands))
        if found is None:
            return mnemonic, operands
        self._note_origin(found)
        if found.held is not None:
            register = first_register(operands)
            self._known = {**self._known, register: found.held}
            if isinstance(found.held, Entry | TableJump):
                self._latest = {**self._latest, register: found.held}
        return found.mnemonic, found.operands

    def _note_origin(self, found: Made) -> None:
        """Lets an address from which this one is counted read as a page's."""
        if found.by_way_of in self._made and not found.operands.endswith(f"[{found.by_way_of:#x}]"):
            row = self._made.pop(found.by_way_of)
            start, size, _, operands = self.rows[row]
            self.rows[row] = start, size, "adrp", operands.replace("[", "#").replace("]", "")
        if found.mnemonic == "adr" and isinstance(found.held, Address):
            self._made[found.held.value] = len(self.rows)

    def _forget(self, registers: Set[int]) -> None:
        if not registers.isdisjoint(self._known):
            self._known = {key: held for key, held in self._known.items() if key not in registers}
        if not registers.isdisjoint(self._latest):
            self._latest = {key: held for key, held in self._latest.items() if key not in registers}


def _common(one: Known, other: Known) -> Known:
    if one is other:
        return one
    return {key: held for key, held in one.items() if other.get(key) == held}


@cache
def _decoder() -> Any:
    """Without operand details, which cost far more than the decoding."""
    decoder = capstone.Cs(capstone.CS_ARCH_ARM64, capstone.CS_MODE_LITTLE_ENDIAN)
    decoder.skipdata = True
    return decoder
