"""One look at all x86-64 code with unwind rows.

A stretch is not understood, and left alone as a whole, unless
its instructions end exactly where it does and every jump and call anywhere in the file that leads into it meets the
start of one.
"""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from whyperf.debuginfo.code_maps.code_map import Addresses
from whyperf.debuginfo.control_flow.flow_instructions import decode
from whyperf.debuginfo.control_flow.jump_tables import table_targets
from whyperf.debuginfo.elf_files.elf import ElfFile
from whyperf.debuginfo.image import Image
from whyperf.debuginfo.machines import X86_64
from whyperf.debuginfo.machines.machine import Row
from whyperf.debuginfo.machines.x86_64.control import direct_target, instructions, is_call, is_jump, relative_target
from whyperf.debuginfo.probes.back_edges import back_edges
from whyperf.debuginfo.probes.pointers import pointed_at
from whyperf.debuginfo.probes.stretches import Stretch, stretches
from whyperf.debuginfo.probes.survey import Leaving, SurveyedFunction
from whyperf.debuginfo.probes.x86_64.flags import flags_are_used

_NOT_AN_INSTRUCTION = ".byte"
_FIRST_ROWS = 8
_BEFORE_ROWS = 5
"""As many as may have to be moved: five bytes need no more."""
_JUMPS_FOLLOWED = 4
_LEAVING_LETTERS = "cjl"  # calls, jumps and loops begin with
_IMMEDIATE = re.compile(r", (0x[0-9a-f]+)$")


@dataclass(frozen=True)
class X86Leaving(Leaving):
    flags_used: bool
    """Behind it."""
    before: tuple[Row, ...] = ()
    """What comes right before it, if it goes through a pointer."""


@dataclass(frozen=True)
class Iterating:
    """A jump back to the beginning of a loop."""

    address: int
    size: int
    target: int
    flags_used: bool
    """At its target."""
    is_whole: bool
    """Only such jumps lead there from within the loop."""
    before: tuple[Row, ...]


@dataclass(frozen=True)
class X86Function(SurveyedFunction):
    leaving: tuple[X86Leaving, ...]
    content: bytes
    first: tuple[Row, ...]
    iterating: tuple[Iterating, ...]
    movable: bool
    """All that may be entered in it is known."""

    def bytes_of(self, address: int, size: int) -> bytes:
        return self.content[address - self.stretch.low : address - self.stretch.low + size]


@dataclass(eq=False)
class X86Survey:
    functions: list[X86Function] = field(default_factory=list)
    not_understood: list[Stretch] = field(default_factory=list)
    entered: Addresses = field(default_factory=lambda: np.zeros(0, np.uint64))
    """Every place that a jump, a call, an exception or a pointer may lead to; sorted."""
    jumped_to: frozenset[int] = frozenset()
    """Of those, what a jump within its own stretch leads to."""
    pointed: frozenset[int] = frozenset()
    """Places whose address is taken."""
    uses_gs: bool = False


def survey(
    elf: ElfFile,
    image: Image,
    bodies: Iterable[Stretch] = (),
    *,
    with_loops: bool,
    looped: frozenset[int] = frozenset(),
) -> X86Survey:
    """With the loops of all functions, or of those that begin where `looped` says."""
    return _Surveyor(elf, image, with_loops, looped).survey(bodies)


class _Surveyor:
    def __init__(self, elf: ElfFile, image: Image, with_loops: bool, looped: frozenset[int]) -> None:
        self._elf, self._image, self._with_loops, self._looped = elf, image, with_loops, looped
        # Of programs at a fixed address, numbers in the code may be addresses.
        self._numbers_are_addresses = min((s.address for s in elf.segments), default=0) > 0
        self._found = X86Survey()
        self._starts: list[Addresses] = []
        self._targets: set[int] = set()
        self._entered: set[int] = set()
        self._jumped: set[int] = set()
        self._named: set[int] = set()

    def survey(self, bodies: Iterable[Stretch]) -> X86Survey:
        for stretch in stretches(self._elf, self._image, bodies):
            function = self._function(stretch)
            if function is None:
                self._found.not_understood.append(stretch)
            else:
                self._found.functions.append(function)
        self._drop_wrongly_decoded()
        pointers = pointed_at(self._elf, self._image)
        places = np.array(sorted(self._targets | self._entered | self._named), np.uint64)
        self._found.entered = np.unique(np.concatenate([places, pointers]))
        self._found.pointed = frozenset(self._named).union(pointers.tolist())
        self._found.jumped_to = frozenset(self._jumped)
        return self._found

    def _function(self, stretch: Stretch) -> X86Function | None:
        size = stretch.high - stretch.low
        content = self._image.read(stretch.low, size)
        rows = list(instructions(content, stretch.low))
        if len(content) < size or not rows or rows[-1][0] + rows[-1][1] != stretch.high:
            return None
        if any(row[2] == _NOT_AN_INSTRUCTION for row in rows):
            return None
        starts = np.array([row[0] for row in rows], np.uint64)
        self._starts.append(starts)
        leaving, by_pointer_inside = self._leaving(stretch, rows)
        return X86Function(
            stretch,
            tuple(leaving),
            content,
            tuple(rows[:_FIRST_ROWS]),
            tuple(_iterating(stretch, rows)) if self._with_loops or stretch.low in self._looped else (),
            stretch.landings is not None and self._note_tables(stretch, content, by_pointer_inside),
        )

    def _leaving(self, stretch: Stretch, rows: list[Row]) -> tuple[list[X86Leaving], bool]:
        """And whether there are jumps through pointers, which may stay inside."""
        found: list[X86Leaving] = []
        by_pointer = False
        low, high = stretch.low, stretch.high
        for number, (address, size, mnemonic, operands) in enumerate(rows):
            if mnemonic[0] in _LEAVING_LETTERS and (is_call(mnemonic) or is_jump(mnemonic)):
                target, call = direct_target(operands), is_call(mnemonic)
                if target is None:
                    before = tuple(rows[max(0, number - _BEFORE_ROWS) : number])
                    by_pointer = by_pointer or not call
                else:
                    before = ()
                    self._targets.add(target)
                if not call and target is not None and low <= target < high:
                    self._jumped.add(target)
                    continue
                used = call and flags_are_used(_ahead(rows, number + 1))
                found.append(X86Leaving(address, size, target, call, used, before))
            elif mnemonic == "lea":
                named = relative_target(operands, address + size)
                if named is not None:
                    self._named.add(named)
            elif self._numbers_are_addresses and (immediate := _IMMEDIATE.search(operands)):
                self._named.add(int(immediate[1], 16))
            if "gs:" in operands or mnemonic.endswith("gsbase"):
                self._found.uses_gs = True
        if stretch.landings:
            self._entered |= stretch.landings
        return found, by_pointer

    def _note_tables(self, stretch: Stretch, content: bytes, by_pointer: bool) -> bool:
        """Where jumps through tables lead; False if a table was not found."""
        if not by_pointer:
            return True
        tables = table_targets(list(decode(X86_64, content, stretch.low)), self._image)
        for targets in tables.values():
            self._entered.update(targets)
            self._jumped.update(targets)
        return all(tables.values())

    def _drop_wrongly_decoded(self) -> None:
        """What is entered where no instruction was found to start was not decoded as it runs."""
        if not self._found.functions:
            return
        starts = np.sort(np.concatenate(self._starts))
        targets = np.array(sorted(self._targets | self._entered), np.uint64)
        lows = [function.stretch.low for function in self._found.functions]
        wrong = set()
        for target in targets[~np.isin(targets, starts)].tolist():
            row = bisect.bisect_right(lows, target) - 1
            if row >= 0 and target < self._found.functions[row].stretch.high:
                wrong.add(row)
        if wrong:
            self._found.not_understood += [self._found.functions[row].stretch for row in sorted(wrong)]
            self._found.functions = [one for row, one in enumerate(self._found.functions) if row not in wrong]


def _iterating(stretch: Stretch, rows: list[Row]) -> Iterator[Iterating]:
    for edge in back_edges(X86_64, rows, stretch.low, stretch.high):
        address, size, _, _ = rows[edge.row]
        before = tuple(rows[max(0, edge.row - _BEFORE_ROWS) : edge.row])
        used = flags_are_used(_ahead(rows, edge.header))
        yield Iterating(address, size, rows[edge.header][0], used, edge.is_whole, before)


def _ahead(rows: list[Row], number: int) -> Iterator[str]:
    """Mnemonics of what is executed next, jumps followed."""
    for _ in range(_JUMPS_FOLLOWED):
        for _, _, mnemonic, operands in itertools.islice(rows, number, None):
            yield mnemonic
            if mnemonic == "jmp":
                target = direct_target(operands)
                break
        else:
            return
        number = -1 if target is None else bisect.bisect_left(rows, (target,))
        if not 0 <= number < len(rows) or rows[number][0] != target:
            return
