"""Instructions of aarch64 with whole addresses.

An instruction of four bytes has no room for an address: code takes a page's and adds the rest, or loads from it with
the rest as displacement. What registers hold is followed here, so that such an `add` reads as `adr x0, [0x11010]`,
such a load as `ldr x1, [0x11010]`, a call of what was loaded as `blr [0x11010]`, and jumps through tables are known.
Addresses from which others are only counted, as gcc does with what lies side by side, read as pages' do.

Code is followed in the order of addresses, again and again until what jumps back bring along is what was assumed. Where
ways meet, what is the same on all of them stays known. A jump through a table leads to its cases where the table can be
read. Code to which no jump is seen to lead is taken for cases of all other jumps through tables; handlers of exceptions
look the same, so that of what calls lose nothing is known there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

import capstone

from whyperf.debuginfo.machines.aarch64.control import direct_target, step
from whyperf.debuginfo.machines.aarch64.held import (
    LOST_IN_CALLS,
    NOTHING,
    SETS_FLAGS,
    Address,
    Known,
    LoadedPointer,
    Made,
    bounded,
    common,
    compared_in,
    first_register,
    made,
    table_jump,
    without_bounds,
    written,
)
from whyperf.debuginfo.machines.machine import DecodedCode, FlowStep, Read, Row, TableJump

_MOST_ROUNDS = 64
_POINTER_BYTES = 8
_CASES = -1
"""In place of an address: where jumps through tables lead."""


def rows(content: bytes, address: int) -> Iterator[Row]:
    found: Iterator[Row] = _decoder().disasm_lite(content, address)
    return found


def decoded(content: bytes, address: int, read: Read | None = None) -> DecodedCode:
    code = _Code.of(list(rows(content, address)))
    if read is not None:
        code = code.with_tables(read)
    brought: dict[int, Known] = {}
    for _ in range(_MOST_ROUNDS):
        follower = _Follower(code, brought)
        follower.follow()
        if not follower.brings_less:
            return DecodedCode(follower.rows, follower.table_jumps)
    unread = replace(code, read=None)  # so that every case is taken for one of all jumps
    follower = _Follower(unread, dict.fromkeys((*code.repeated, _CASES), NOTHING))
    follower.follow()
    return DecodedCode(follower.rows, follower.table_jumps)


@dataclass(frozen=True)
class _Code:
    rows: Sequence[Row]
    targets: frozenset[int]
    """Where direct jumps lead to."""
    repeated: frozenset[int]
    """Where jumps back lead to."""
    calls: bool
    read: Read | None = None
    tables: tuple[int, ...] = ()
    """Through which it jumps, if they can be read."""

    @classmethod
    def of(cls, code: Sequence[Row]) -> _Code:
        jumps = [(row[0], direct_target(row[3])) for row in code if step(row[2]) in (FlowStep.JUMP, FlowStep.BRANCH)]
        targets = frozenset(target for _, target in jumps if target is not None)
        repeated = frozenset(target for start, target in jumps if target is not None and target <= start)
        return cls(code, targets, repeated, any(step(row[2]) is FlowStep.CALL for row in code))

    def with_tables(self, read: Read) -> _Code:
        follower = _Follower(self, {})
        follower.follow()
        tables = {jump.table for jump in follower.table_jumps.values() if jump.table is not None}
        return replace(self, read=read, tables=tuple(sorted(tables))) if tables else self

    @cached_property
    def _starts(self) -> frozenset[int]:
        return frozenset(row[0] for row in self.rows)

    def cases(self, jump: TableJump) -> list[int]:
        """Where a jump leads if its table can be read; else empty."""
        if self.read is None or jump.table is None or jump.entry_bytes == _POINTER_BYTES:
            return []  # pointers are the dynamic linker's
        entries = jump.entries
        if entries is None:
            after = bisect_right(self.tables, jump.table)
            room = self.tables[after] - jump.table if after < len(self.tables) else 0
            entries = room // jump.entry_bytes
        targets = list(jump.targets(jump.table, self.read(jump.table, jump.entry_bytes * entries)))
        return targets if len(targets) == entries and self._starts.issuperset(targets) else []


@dataclass
class _Follower:
    """Goes through a function once."""

    code: _Code
    brought: dict[int, Known]
    """By target: what all jumps bring along that were followed so far, in earlier rounds too; the less the later. A
    target that is missing was not reached yet."""
    brings_less: bool = False
    """Some jump back, or through a table, brings less than was assumed where it leads to."""
    rows: list[Row] = field(default_factory=list)
    table_jumps: dict[int, TableJump] = field(default_factory=dict)
    _known: Known = field(default_factory=dict)
    """Never changed, but replaced: others keep it."""
    _unreached: bool = False
    """No jump that leads here was followed yet: nothing goes on from here."""
    _compared: tuple[int, int] | None = None
    """A register, and the number that it was compared with last."""
    _made: dict[int, int] = field(default_factory=dict)
    """Rows that put together addresses, by address."""

    def follow(self) -> None:
        falls = True
        for start, size, mnemonic, operands in self.code.rows:
            if not falls or start in self.brought or start in self.code.repeated:
                self._arrive(start, falls)
            kind = step(mnemonic)
            if kind is FlowStep.NEXT:
                self.rows.append((start, size, *self._run(mnemonic, operands)))
            else:
                self.rows.append((start, size, mnemonic, self._leave(kind, start, mnemonic, operands)))
            falls = kind not in (FlowStep.JUMP, FlowStep.STOP)

    def _arrive(self, start: int, falls: bool) -> None:
        ways = [self._known] if falls and not self._unreached else []
        if start in self.brought:
            ways.append(self.brought[start])
        elif not ways and start not in self.code.targets:
            ways.append(self.brought.get(_CASES, NOTHING))
        self._unreached = not ways
        known = ways[0] if ways else NOTHING
        for other in ways[1:]:
            known = common(known, other)
        self._known = without_bounds(known) if start in self.code.repeated else known

    def _bring(self, target: int, known: Known, *, back: bool) -> None:
        if back:
            known = without_bounds(known)
        before = self.brought.get(target)
        after = known if before is None else common(before, known)
        if before is None or after != before:
            self.brought[target] = after
            self.brings_less |= back

    def _leave(self, kind: FlowStep, start: int, mnemonic: str, operands: str) -> str:
        """Follows a jump or a call; its operands."""
        if self._unreached:
            return operands
        target = direct_target(operands)
        if target is not None and kind in (FlowStep.JUMP, FlowStep.BRANCH):
            jumping, self._known = bounded(self._known, self._compared, mnemonic)
            self._bring(target, jumping, back=target <= start)
            return operands
        held = self._known.get(first_register(operands))
        if kind is FlowStep.JUMP and (through := table_jump(held)) is not None:
            self.table_jumps[start] = through
            cases = self.code.cases(through)
            for case in cases:
                self._bring(case, self._known, back=case <= start)
            if cases:
                return operands
            kept = ((key, one) for key, one in self._known.items() if not (self.code.calls and key in LOST_IN_CALLS))
            self._bring(_CASES, dict(kept), back=True)
        elif kind is FlowStep.CALL:
            self._forget(LOST_IN_CALLS)
        return f"[{held.slot:#x}]" if isinstance(held, LoadedPointer) else operands

    def _run(self, mnemonic: str, operands: str) -> tuple[str, str]:
        """Follows an instruction; what it reads as."""
        if mnemonic in SETS_FLAGS:
            self._compared = compared_in(mnemonic, operands)
        found = made(self._known, mnemonic, operands)
        if self._known:
            self._forget(written(mnemonic, operands))
        if found is None:
            return mnemonic, operands
        self._note_origin(found)
        if found.held is not None:
            self._known = {**self._known, first_register(operands): found.held}
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


@cache
def _decoder() -> Any:
    """Without operand details, which cost far more than the decoding."""
    decoder = capstone.Cs(capstone.CS_ARCH_ARM64, capstone.CS_MODE_LITTLE_ENDIAN)
    decoder.skipdata = True
    return decoder
