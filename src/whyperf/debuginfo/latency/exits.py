"""Where calls of a function end: its returns, those of parts that were split off it, and those of the functions that it
jumps to at its end, which return to its caller."""

from __future__ import annotations

import bisect
from collections.abc import Sequence

from whyperf.debuginfo.control_flow.flow_instructions import FlowInstruction, FlowStep, decode
from whyperf.debuginfo.control_flow.jump_tables import table_targets
from whyperf.debuginfo.elf_files.elf import ElfFile
from whyperf.debuginfo.image import Image
from whyperf.debuginfo.machines import Machine
from whyperf.debuginfo.probes.not_patched import NotPatched
from whyperf.debuginfo.probes.stretches import Stretch
from whyperf.debuginfo.probes.survey import SurveyedFunction

_MOST_STRETCHES = 64
_LONGEST_BYTES = 1 << 20


class Exits:
    """Of the function that begins at `address`. NotPatched where they cannot be found."""

    def __init__(
        self, machine: Machine, elf: ElfFile, image: Image, functions: Sequence[SurveyedFunction], address: int
    ) -> None:
        self._machine, self._image, self._elf, self._address = machine, image, elf, address
        self._stretches = [one.stretch for one in functions]
        self._lows = [one.low for one in self._stretches]
        self.returns: dict[int, FlowInstruction] = {}
        self.onward: dict[int, FlowInstruction] = {}
        """Jumps to functions whose own exits are not known: calls are taken to end there."""
        first = self._stretch_of(address)
        if first is None or first.low != address:
            raise NotPatched("has code that is not understood")
        self._waiting, self._seen = [first], {address}
        while self._waiting:
            self._look(self._waiting.pop())
        if not self.instructions:
            raise NotPatched("never returns")

    @property
    def instructions(self) -> list[FlowInstruction]:
        return [one for _, one in sorted({**self.returns, **self.onward}.items())]

    def _look(self, stretch: Stretch) -> None:
        size = stretch.high - stretch.low
        if size > _LONGEST_BYTES:
            raise NotPatched("is too long")
        code = list(decode(self._machine, self._image.read(stretch.low, size), stretch.low))
        tables = table_targets(code, self._image)
        for one in code:
            if one.step is FlowStep.STOP and not one.trap:
                self.returns[one.address] = one
            elif one.step in (FlowStep.JUMP, FlowStep.BRANCH) and one.target is not None:
                self._directed(one, one.target)
            elif one.step is FlowStep.JUMP and one.address not in tables:
                self.onward[one.address] = one
            elif one.step is FlowStep.JUMP and not tables[one.address]:
                raise NotPatched("jumps through a table that is not understood")

    def _directed(self, one: FlowInstruction, target: int) -> None:
        if target == self._address:
            raise NotPatched("jumps back to its own beginning, which looks like another call of it")
        stretch = self._stretch_of(target)
        if stretch is not None and stretch.low not in self._seen and len(self._seen) < _MOST_STRETCHES:
            self._seen.add(stretch.low)
            self._waiting.append(stretch)
        if stretch is not None and stretch.low in self._seen:
            return
        if one.step is FlowStep.BRANCH:
            raise NotPatched("ends with a conditional jump into another function")
        self.onward[one.address] = one

    def _stretch_of(self, address: int) -> Stretch | None:
        """None for what leads to other files' functions."""
        row = bisect.bisect_right(self._lows, address) - 1
        if row < 0 or address >= self._stretches[row].high:
            return None
        return None if self._elf.is_linkage(address) else self._stretches[row]
