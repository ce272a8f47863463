"""References of aarch64 code: jumps and calls by distance, and addresses made of a page and the rest.

What registers hold is followed along all ways through the function, so that each instruction which adds the rest of an
address, or accesses memory with it, is known together with the instruction that took the page. Where compilers count
from one variable to its neighbours, those are known as well.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, replace

from whyperf.debuginfo.machines.aarch64.addresses import rows as disassembled
from whyperf.debuginfo.machines.aarch64.control import step
from whyperf.debuginfo.machines.aarch64.held import LOST_IN_CALLS, written
from whyperf.debuginfo.machines.machine import FlowStep, Row
from whyperf.debuginfo.probes.aarch64 import words
from whyperf.debuginfo.probes.aarch64.words import Form
from whyperf.debuginfo.transplants.aarch64.access import Access, access_by
from whyperf.debuginfo.transplants.aarch64.stack import StackAccess, stack_accesses, stack_written
from whyperf.debuginfo.transplants.references import FunctionCode, Lost, Reference, ReferenceEnd, References, Use
from whyperf.debuginfo.transplants.refused import RefusedError

_GENERAL = re.compile(r"\b[xw](\d+)\b")
_COPY = re.compile(r"x(\d+), x(\d+)$")
_READS_ALL = frozenset({"cmp", "cmn", "tst", "ccmp", "ccmn", "movk", "bfi", "bfxil", "prfm", "msr", "cbz", "cbnz"})
_ARGUMENTS, _RESULTS = range(8), range(2)
_MOST_HELD = 4  # addresses in one register; where a loop counts a pointer on, there would be no end


@dataclass(frozen=True)
class _Held:
    """An address in a register, and how it came there."""

    address: int
    page_at: int
    low_at: int | None
    """None: only the page so far."""
    counted_at: int | None = None
    """Where a distance was added to a whole address."""
    counted_from: int = 0


_OTHER = _Held(0, 0, 0)
"""Anything else. What is not in a state may be anything."""
_State = dict[int, frozenset[_Held]]


def references(code: FunctionCode, lost: Lost) -> References:
    return _Follower(code, lost).references()


class _Follower:
    def __init__(self, code: FunctionCode, lost: Lost) -> None:
        self._code, self._lost = code, lost
        self._rows: dict[int, tuple[Row, int]] = {}
        for part in code.parts:
            if len(part.content) % words.BYTES:
                raise RefusedError("not all of its code was understood")
            for row in disassembled(part.content, part.low):
                at = row[0] - part.low
                self._rows[row[0]] = row, int.from_bytes(part.content[at : at + words.BYTES], "little")
        self._pairs: dict[tuple[int, int], tuple[int, Use, int]] = {}
        self._reached: defaultdict[tuple[int, int], set[ReferenceEnd]] = defaultdict(set)
        self._mixed: set[int] = set()
        self._unclear: set[tuple[int, int]] = set()

    def references(self) -> References:
        self._follow()
        self._check_pages()
        found = list(self._directed())
        for sites, (target, use, size) in self._pairs.items():
            ends = (replace(one, site=None) if one.site in self._mixed else one for one in self._reached[sites])
            found.append(Reference(target, use, sites, size=size, reached=frozenset(ends)))
        thread = any(row[2] == "mrs" and "tpidr_el0" in row[3] for row, _ in self._rows.values())
        return References(found, thread)

    def _check_pages(self) -> None:
        used = {page for page, _ in self._pairs}
        for address, (_, word) in self._rows.items():
            if self._page(address, word) is not None and address not in used:
                raise RefusedError(f"what it takes the address of at {address:#x} is not known")
        for address, page in self._unclear:
            if page in used:
                raise RefusedError(f"what it does at {address:#x} with an address is not known")

    def _directed(self) -> Iterator[Reference]:
        for address, (_, word) in self._rows.items():
            if Form.CALL.holds(word) or Form.JUMP.holds(word):
                target = address + words.jump_distance(word)
                if Form.CALL.holds(word) or not self._code.holds(target):
                    yield Reference(target, Use.CALL if Form.CALL.holds(word) else Use.JUMP, (address,))
            elif words.is_conditional(word):
                target = words.conditional_target(address, word)
                if not self._code.holds(target):
                    yield Reference(target, Use.JUMP, (address,), is_short=True)
            elif Form.NEAR_ADDRESS.holds(word) and self._page(address, word) is None:
                yield Reference(words.address_named(address, word), Use.ADDRESS, (address,), is_short=True)
            elif Form.NEAR_LOAD.holds(word):
                yield Reference(words.literal_named(address, word), Use.ACCESS, (address,), is_short=True)

    def _follow(self) -> None:
        """Until nothing new arrives anywhere."""
        arriving: dict[int, _State] = {part.low: {} for part in self._code.parts}
        arriving |= {address: {} for address in self._code.landings}
        work = list(arriving)
        while work:
            address = work.pop()
            state = dict(arriving[address])
            while address in self._rows:
                row, word = self._rows[address]
                kind = step(row[2])
                if kind is FlowStep.NEXT:
                    state = self._run(row, word, state)
                elif kind is FlowStep.CALL:
                    self._pass_on(state, _ARGUMENTS)
                    lost = self._lost_at(address, word)
                    state = {key: held for key, held in state.items() if key not in lost}
                    work += self._bring(arriving, list(self._code.landings), state)
                    if address + words.jump_distance(word) in self._code.never_return and Form.CALL.holds(word):
                        break
                else:
                    targets = self._targets(address, word)
                    self._pass_on(state, () if targets else _RESULTS if kind is FlowStep.STOP else _ARGUMENTS)
                    work += self._bring(arriving, targets, state)
                    if kind is not FlowStep.BRANCH:
                        break
                address += words.BYTES
                if address in arriving:
                    work += self._bring(arriving, [address], state)
                    break

    def _lost_at(self, address: int, word: int) -> Set[int]:
        return self._lost(address + words.jump_distance(word)) if Form.CALL.holds(word) else LOST_IN_CALLS

    def _pass_on(self, state: _State, registers: Iterable[int]) -> None:
        """To another function, or to whoever called this one."""
        for register in registers:
            for one in state.get(register, ()):
                self._use(one)

    def _use(self, one: _Held) -> None:
        if one.low_at is not None and one is not _OTHER:
            end = ReferenceEnd(one.address, Use.ADDRESS, counted_from=one.counted_from, site=one.counted_at)
            self._reached[one.page_at, one.low_at].add(end)

    @staticmethod
    def _bring(arriving: dict[int, _State], targets: list[int], state: _State) -> list[int]:
        """Those targets at which more is known to arrive than before."""
        changed = []
        for target in targets:
            if target not in arriving:
                arriving[target] = dict(state)
                changed.append(target)
                continue
            old, other = arriving[target], frozenset({_OTHER})
            new = {key: old.get(key, other) | state.get(key, other) for key in (*old, *state)}
            if any(new[key] != old.get(key) for key in new):
                arriving[target] = new
                changed.append(target)
        return changed

    def _targets(self, address: int, word: int) -> list[int]:
        if Form.JUMP.holds(word):
            target = address + words.jump_distance(word)
        elif words.is_conditional(word):
            target = words.conditional_target(address, word)
        else:
            return list(self._code.tables.get(address, ()))
        return [target] if self._code.holds(target) else []

    def _run(self, row: Row, word: int, state: _State) -> _State:
        address, _, mnemonic, operands = row
        results: _State = {}
        understood: set[int] = set()
        base = words.second_register(word)
        if (page := self._page(address, word)) is not None:
            results = {words.first_register(word): frozenset({_Held(page, address, None)})}
        elif Form.ADD.holds(word) and state.get(base):
            understood.add(base)
            if len(found := _feasible(state[base])) > 1:
                self._mixed.add(address)
            held = frozenset(self._added(one, words.number_added(word), address) for one in found)
            results = {words.first_register(word): held if len(held) <= _MOST_HELD else frozenset()}
        elif (copied := _COPY.match(operands)) and mnemonic == "mov" and int(copied[2]) in state:
            understood.add(int(copied[2]))
            results = {int(copied[1]): state[int(copied[2])]}
        elif kept := stack_accesses(word):
            understood |= {base, *(one.register for one in kept)}
            results = _spilled(kept, state)
        elif "[" in operands and state.get(base) and (access := access_by(word)) is not None:
            understood.add(base)
            if _OTHER in (found := _feasible(state[base])):
                self._mixed.add(address)
            for one in found - {_OTHER}:
                self._accessed(one, access, address)
        for register in _read(mnemonic, operands) - understood:
            for one in state.get(register, ()):
                self._use(one)
                if one.low_at is None:
                    self._unclear.add((address, one.page_at))
        if state.keys() & (lost := {*written(mnemonic, operands), *stack_written(mnemonic, operands, word, state)}):
            state = {key: held for key, held in state.items() if key not in lost}
        return {**state, **results} if results else state

    def _page(self, address: int, word: int) -> int | None:
        """What an instruction takes for later ones to add the rest of an address; linkers write `adr` for some."""
        if Form.PAGE.holds(word):
            return words.page_named(address, word)
        if Form.NEAR_ADDRESS.holds(word):
            named = words.address_named(address, word)
            return named if named % (1 << words.PAGE_BITS) == 0 and not self._code.holds(named) else None
        return None

    def _added(self, one: _Held, number: int, at: int) -> _Held:
        if one is _OTHER:
            return one
        address = one.address + number
        if one.low_at is None:
            self._pairs[one.page_at, at] = address, Use.ADDRESS, 1
            return _Held(address, one.page_at, at)
        self._count_on(one)
        return _Held(address, one.page_at, one.low_at, at, one.address)

    def _count_on(self, one: _Held) -> None:
        """What is counted from there would move with it."""
        if one.counted_at is not None:
            self._mixed.add(one.counted_at)

    def _accessed(self, one: _Held, access: Access, at: int) -> None:
        target = one.address + access.distance
        if one.low_at is not None:
            self._count_on(one)
            site = at if access.is_changeable else None
            end = ReferenceEnd(target, Use.ACCESS, access.size, one.address, site)
            self._reached[one.page_at, one.low_at].add(end)
        elif access.is_plain:
            self._pairs[one.page_at, at] = target, Use.ACCESS, access.size
        else:
            self._unclear.add((at, one.page_at))


def _spilled(accesses: Iterable[StackAccess], state: _State) -> _State:
    """What registers get that was kept on the stack, and places on the stack that registers are kept in."""
    pairs = ((one.place, one.register) if one.is_load else (one.register, one.place) for one in accesses)
    return {target: state[source] for source, target in pairs if source in state}


def _feasible(held: frozenset[_Held]) -> frozenset[_Held]:
    """Where the page of an address may arrive, nothing but pages does: other ways are never taken, such as those behind
    calls that do not return."""
    return frozenset(one for one in held if one.low_at is None) or held


def _read(mnemonic: str, operands: str) -> set[int]:
    """General registers that an instruction may read."""
    values, bracket, place = operands.partition("[")
    registers = [int(number) for number in _GENERAL.findall(values)]
    in_place = {int(number) for number in _GENERAL.findall(place)}
    if mnemonic in _READS_ALL or mnemonic.startswith("st"):
        return in_place.union(registers)
    if bracket:
        return in_place
    return in_place.union(registers[1:])
