"""Instructions of aarch64 with whole addresses.

An instruction of four bytes has no room for an address: code takes a page's and adds the rest, or loads from it with
the rest as displacement. What registers hold is followed here, so that such an `add` reads as `adr x0, [0x11010]`,
such a load as `ldr x1, [0x11010]`, a call of what was loaded as `blr [0x11010]`, and jumps through tables are known.
Addresses from which others are only counted, as gcc does with what lies side by side, read as pages' do.

Code is followed in the order of addresses, again and again until what jumps back bring along is what was assumed. Where
ways meet, what is the same on all of them stays known. Code to which no jump leads directly is taken for cases of all
jumps through tables; handlers of exceptions look the same, so that of what calls lose nothing is known there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cache
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
from whyperf.debuginfo.machines.machine import DecodedCode, FlowStep, Row, TableJump

_MOST_ROUNDS = 8
_CASES = -1
"""In place of an address: where jumps through tables lead."""


def rows(content: bytes, address: int) -> Iterator[Row]:
    found: Iterator[Row] = _decoder().disasm_lite(content, address)
    return found


def decoded(content: bytes, address: int) -> DecodedCode:
    code = _Code.of(list(rows(content, address)))
    entered: dict[int, Known] = {}
    for _ in range(_MOST_ROUNDS):
        follower = _Follower(code, entered)
        follower.follow()
        otherwise = follower.entered_otherwise()
        if not otherwise:
            return DecodedCode(follower.rows, follower.table_jumps)
        entered |= otherwise
    follower = _Follower(code, dict.fromkeys((*code.repeated, _CASES), NOTHING))
    follower.follow()
    return DecodedCode(follower.rows, follower.table_jumps)


@dataclass(frozen=True)
class _Code:
    rows: Sequence[Row]
    repeated: frozenset[int]
    """Where jumps back lead to."""
    calls: bool

    @classmethod
    def of(cls, code: Sequence[Row]) -> _Code:
        jumps = ((row[0], direct_target(row[3])) for row in code if step(row[2]) in (FlowStep.JUMP, FlowStep.BRANCH))
        repeated = frozenset(target for start, target in jumps if target is not None and target <= start)
        return cls(code, repeated, any(step(row[2]) is FlowStep.CALL for row in code))


@dataclass
class _Follower:
    """Goes through a function once."""

    code: _Code
    entered: Mapping[int, Known]
    """What jumps back bring along to their targets, and jumps through tables to cases, as earlier rounds found."""
    rows: list[Row] = field(default_factory=list)
    table_jumps: dict[int, TableJump] = field(default_factory=dict)
    _known: Known = field(default_factory=dict)
    """Never changed, but replaced: others keep it."""
    _ahead: dict[int, Known] = field(default_factory=dict)
    """What jumps bring along to targets further on."""
    _back: dict[int, Known] = field(default_factory=dict)
    """What jumps back bring along in this round."""
    _assumed: dict[int, Known] = field(default_factory=dict)
    """What was taken to be known where they lead to."""
    _assumed_in_cases: list[Known] = field(default_factory=list)
    _by_jumps_back: set[int] = field(default_factory=set)
    """Where nothing else leads to."""
    _unreached: bool = False
    """Only by jumps back of which no round has told yet what they bring along: nothing goes on from there."""
    _compared: tuple[int, int] | None = None
    """A register, and the number that it was compared with last."""
    _made: dict[int, int] = field(default_factory=dict)
    """Rows that put together addresses, by address."""

    def follow(self) -> None:
        falls = True
        for start, size, mnemonic, operands in self.code.rows:
            if not falls or start in self._ahead or start in self.code.repeated:
                self._arrive(start, falls)
            kind = step(mnemonic)
            if kind is FlowStep.NEXT:
                self.rows.append((start, size, *self._run(mnemonic, operands)))
            else:
                self.rows.append((start, size, mnemonic, self._leave(kind, start, mnemonic, operands)))
            falls = kind not in (FlowStep.JUMP, FlowStep.STOP)

    def entered_otherwise(self) -> dict[int, Known]:
        """What the next round is to assume; empty if this one assumed what it found."""
        found: dict[int, Known] = {}
        for target, assumed in self._assumed.items():
            known = self._back.get(target, NOTHING)
            agreed = known if target in self._by_jumps_back else common(assumed, known)
            if agreed != assumed:
                found[target] = agreed
        cases = self._back.get(_CASES, NOTHING)
        if any(common(assumed, cases) != assumed for assumed in self._assumed_in_cases):
            found[_CASES] = common(self.entered.get(_CASES, cases), cases)
        return found

    def _arrive(self, start: int, falls: bool) -> None:
        ways = [self._known] if falls and not self._unreached else []
        if start in self._ahead:
            ways.append(self._ahead.pop(start))
        if start in self.code.repeated:
            if not ways:
                self._by_jumps_back.add(start)
            if start in self.entered:
                ways.append(self.entered[start])
        elif not ways:
            ways.append(self._in_cases())
        self._unreached = not ways
        known = ways[0] if ways else NOTHING
        for other in ways[1:]:
            known = common(known, other)
        if start in self.code.repeated:
            self._assumed[start] = known = without_bounds(known)
        self._known = known

    def _in_cases(self) -> Known:
        known = self.entered.get(_CASES, self._back.get(_CASES, NOTHING))
        self._assumed_in_cases.append(known)
        return known

    def _bring_back(self, target: int, known: Known) -> None:
        known = without_bounds(known)
        self._back[target] = common(self._back[target], known) if target in self._back else known

    def _leave(self, kind: FlowStep, start: int, mnemonic: str, operands: str) -> str:
        """Follows a jump or a call; its operands."""
        if self._unreached:
            return operands
        target = direct_target(operands)
        if target is not None and kind in (FlowStep.JUMP, FlowStep.BRANCH):
            jumping, self._known = bounded(self._known, self._compared, mnemonic)
            if target <= start:
                self._bring_back(target, jumping)
            else:
                self._ahead[target] = common(self._ahead[target], jumping) if target in self._ahead else jumping
            return operands
        held = self._known.get(first_register(operands))
        if kind is FlowStep.JUMP and (through := table_jump(held)) is not None:
            self.table_jumps[start] = through
            kept = ((key, one) for key, one in self._known.items() if not (self.code.calls and key in LOST_IN_CALLS))
            self._bring_back(_CASES, dict(kept))
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
