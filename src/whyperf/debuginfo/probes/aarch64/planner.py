"""Plans how calls of 64-bit ARM code are counted.

Every patch replaces one instruction by a jump or call to a stub, so that nothing can be entered in between. Only first
instructions of functions move. Counting changes two registers that no call keeps, and no flags.
"""

from __future__ import annotations

import re

from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.image import Image
from whyperf.debuginfo.machines.machine import Row
from whyperf.debuginfo.probes.aarch64 import words
from whyperf.debuginfo.probes.aarch64.stubs import ArmPlanBuilder, StubSite, movable
from whyperf.debuginfo.probes.aarch64.survey import SurveyedCode, iterating, survey
from whyperf.debuginfo.probes.aarch64.words import Form
from whyperf.debuginfo.probes.back_edges import BackEdge
from whyperf.debuginfo.probes.plan_file import PlanFlags, Planned
from whyperf.debuginfo.probes.stretches import bodies_of
from whyperf.debuginfo.probes.survey import Leaving, SurveyedFunction, split_off_parts, tail_jumps
from whyperf.recording.schemas.call_tables import CallKind, NotCounted

_LOOKED_BACK = 16
_COUNTING_REGISTERS = re.compile(r"\b[xw]1[67]\b")


def planned(binary: Binary, image: Image, kinds: frozenset[CallKind], looped: frozenset[int]) -> Planned:
    """`looped`: functions whose iterations are counted whatever `kinds` says."""
    return _Planner(binary, image, kinds, looped).plan()


class _Planner:
    def __init__(self, binary: Binary, image: Image, kinds: frozenset[CallKind], looped: frozenset[int]) -> None:
        assert binary.elf is not None
        self._elf, self._imports, self._kinds = binary.elf, image.imports, kinds
        self._looped = looped
        self._code = SurveyedCode(binary.elf, image, bodies_of(binary))
        self._survey = survey(binary.elf, image, self._code)
        self._parts = frozenset(split_off_parts(self._survey.functions, self._survey.pointed))
        self._tails = tail_jumps(binary, self._survey.functions, self._parts)
        self._stubs = ArmPlanBuilder()
        self._entries = {} if CallKind.ENTRY not in kinds else self._entries_found()
        """Instructions at which entries are counted that have no stub yet, and the functions' starts."""

    def plan(self) -> Planned:
        for function in self._survey.functions:
            for leaving in function.leaving:
                self._leaving(function.stretch.low, leaving)
            if CallKind.ITERATION in self._kinds or function.stretch.low in self._looped:
                self._loops(function)
        for address, low in sorted(self._entries.items()):
            self._entry(address, low)
        flags = PlanFlags.TAKES_REGISTER if self._survey.sets_thread_pointer else PlanFlags.NONE
        made = self._stubs.plan(self._elf.build_id, flags)
        return Planned(made, len(self._survey.functions), self._survey.not_understood)

    def _entries_found(self) -> dict[int, int]:
        found = {}
        pointed = self._survey.pointed - self._parts
        for function in self._survey.functions:
            low = function.stretch.low
            if low not in pointed:
                continue
            _, word = self._code.at(self._code.row(low))
            # Calls by pointers must land on a mark.
            address = low + words.BYTES if word in words.LANDING_MARKS else low
            if self._survey.jumped_to.intersection((low, address)):
                self._stubs.left_alone(CallKind.ENTRY, low, low, -1, NotCounted.REPEATED)
            elif address >= function.stretch.high:
                self._stubs.left_alone(CallKind.ENTRY, low, low, -1, NotCounted.TOO_SHORT)
            else:
                found[address] = low
        return found

    def _entry(self, address: int, function: int) -> None:
        _, word = self._code.at(self._code.row(address))
        reason = movable(word) if self._is_found_within(address, word) else NotCounted.NOT_MOVABLE
        if reason:
            self._stubs.left_alone(CallKind.ENTRY, function, function, -1, reason)
        else:
            self._stubs.entry(address, function, word)

    def _is_found_within(self, address: int, word: int) -> bool:
        """False for the address of a symbol that nobody defines: it is 0, also where the file is not."""
        if not Form.PAGE.holds(word) and not Form.NEAR_ADDRESS.holds(word):
            return True
        named = words.page_named(address, word) if Form.PAGE.holds(word) else words.address_named(address, word)
        return named >= min(segment.address for segment in self._elf.segments)

    def _is_entered(self, address: int) -> bool:
        return self._entries.pop(address, None) is not None

    def _leaving(self, low: int, leaving: Leaving) -> None:
        row = self._code.row(leaving.address)
        address, word = self._code.at(row)
        if leaving.target is None:
            self._by_pointer(low, leaving, row)
            return
        kind = CallKind.CALL if leaving.is_call else CallKind.TAIL
        if kind not in self._kinds or (not leaving.is_call and (address, leaving.target) not in self._tails):
            return
        site = StubSite(kind, address, low, leaving.target, word)
        if words.is_conditional(word):
            self._stubs.by_condition(site, entered=self._is_entered(address))
        else:
            self._stubs.by_distance(site, entered=self._is_entered(address))

    def _by_pointer(self, low: int, leaving: Leaving, row: int) -> None:
        address, word = self._code.at(row)
        slot = self._slot(low, row)
        imported = slot in self._imports
        kind = CallKind.POINTER if leaving.is_call else CallKind.POINTER_TAIL
        if kind not in self._kinds or (not leaving.is_call and not imported):
            return  # perhaps a jump within the function, and if not, the entry counts
        if Form.SIGNED_CALL.holds(word):
            self._stubs.left_alone(kind, address, low, -1, NotCounted.NOT_MOVABLE)
        elif self._finds_thread_variable(low, row):
            self._stubs.left_alone(kind, address, low, -1, NotCounted.REGISTERS)
        else:
            site = StubSite(kind, address, low, slot if imported else -1, word)
            self._stubs.by_register(site, entered=self._is_entered(address))

    def _slot(self, low: int, row: int) -> int:
        """From where a call or jump has its target, if the instructions right before it say so; -1: unknown."""
        wanted = words.second_register(self._code.at(row)[1])
        distance: int | None = None
        for before in range(row - 1, max(row - _LOOKED_BACK, -1), -1):
            address, word = self._code.at(before)
            if address < low or _ends_block(word):
                return -1
            if not words.may_write(word, wanted):
                continue
            if words.first_register(word) != wanted:
                return -1
            if distance is None and Form.LOAD.holds(word):
                distance, wanted = words.load_distance(word), words.second_register(word)
            elif distance is not None and Form.PAGE.holds(word):
                return words.page_named(address, word) + distance
            else:
                return -1
        return -1

    def _finds_thread_variable(self, low: int, row: int) -> bool:
        """Such calls keep all registers. Compilers write them as linkers expect: adrp x0, ldr xN, add x0, blr xN."""
        if self._code.at(row)[0] - 3 * words.BYTES < low:
            return False
        page, load, add = (self._code.at(row - back)[1] for back in (3, 2, 1))
        return bool(
            Form.PAGE.holds(page)
            and Form.LOAD.holds(load)
            and Form.ADD.holds(add)
            and words.first_register(page) == words.second_register(load) == 0
            and words.first_register(add) == words.second_register(add) == 0
            and words.first_register(load) == words.second_register(self._code.at(row)[1])
            and words.load_distance(load) == words.number_added(add)
        )

    def _loops(self, function: SurveyedFunction) -> None:
        edges, rows = iterating(self._code, function.stretch)
        if not edges:
            return
        is_in_use = any(_COUNTING_REGISTERS.search(row[3]) for row in rows)
        for header in dict.fromkeys(edge.header for edge in edges):
            self._loop(function.stretch.low, [edge for edge in edges if edge.header == header], rows, is_in_use)

    def _loop(self, low: int, edges: list[BackEdge], rows: list[Row], is_in_use: bool) -> None:
        """All jumps back to the beginning of a loop, or none."""
        whole = all(edge.is_whole for edge in edges)
        for edge in edges:
            address, target = rows[edge.row][0], rows[edge.header][0]
            site = StubSite(CallKind.ITERATION, address, low, target, self._code.at(self._code.row(address))[1])
            if is_in_use or not whole:
                other = NotCounted.OTHER_EDGE if edge.is_whole else NotCounted.NO_JUMP
                reason = NotCounted.REGISTERS if is_in_use else other
                self._stubs.left_alone(CallKind.ITERATION, address, low, target, reason)
            elif words.is_conditional(site.word):
                self._stubs.by_condition(site, entered=False)
            else:
                self._stubs.by_distance(site, entered=False)


def _ends_block(word: int) -> bool:
    """Calls and jumps of all kinds, and returns."""
    return (word & 0x7C000000) == 0x14000000 or words.is_conditional(word) or (word & 0xFE000000) == 0xD6000000
