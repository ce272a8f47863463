"""The first instructions of functions, where they can be replaced by a jump."""

from __future__ import annotations

import bisect

from whyperf.debuginfo.elf_files.elf import ElfFile
from whyperf.debuginfo.image import Image
from whyperf.debuginfo.probes.not_patched import NotPatched
from whyperf.debuginfo.probes.x86_64.entries import entry_run
from whyperf.debuginfo.probes.x86_64.moving import MovedInstruction
from whyperf.debuginfo.probes.x86_64.survey import survey
from whyperf.recording.schemas.call_tables import NotCounted


class IntelFirstInstructions:
    def __init__(self, elf: ElfFile, image: Image) -> None:
        self.survey = survey(elf, image, with_loops=False)
        self._functions = {one.stretch.low: one for one in self.survey.functions}
        self._entered = self.survey.entered.tolist()

    def of(self, address: int) -> list[MovedInstruction]:
        """Of the function that begins there. NotPatched where they cannot be replaced."""
        function = self._functions.get(address)
        if function is None:
            raise NotPatched("has code that is not understood")
        run = entry_run(function)
        if isinstance(run, NotCounted):
            raise NotPatched("begins with instructions that cannot be replaced")
        low, high = run[0].address, run[-1].address + len(run[-1].content)
        entered = any(low < at < high for at in self._entered)
        if entered or self.survey.jumped_to.intersection((address, low)):
            raise NotPatched("begins with instructions that cannot be replaced")
        return run

    def is_entered(self, address: int) -> bool:
        """Whether something else may lead there."""
        row = bisect.bisect_left(self._entered, address)
        return (row < len(self._entered) and self._entered[row] == address) or address in self._functions
