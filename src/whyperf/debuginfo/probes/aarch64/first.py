"""The first instruction of functions, where it can be replaced."""

from __future__ import annotations

from whyperf.debuginfo.elf_files.elf import ElfFile
from whyperf.debuginfo.image import Image
from whyperf.debuginfo.probes.aarch64 import words
from whyperf.debuginfo.probes.aarch64.stubs import movable
from whyperf.debuginfo.probes.aarch64.survey import SurveyedCode, survey
from whyperf.debuginfo.probes.not_patched import NotPatched

SIGN, CHECK_SIGN = 0xD503233F, 0xD50323BF  # paciasp, autiasp
_OTHER_SIGN = 0xD503237F  # pacibsp


class ArmFirstInstructions:
    def __init__(self, elf: ElfFile, image: Image) -> None:
        self.code = SurveyedCode(elf, image)
        self.survey = survey(elf, image, self.code)
        self._functions = {one.stretch.low: one for one in self.survey.functions}
        self._lowest = min((segment.address for segment in elf.segments), default=0)

    def of(self, address: int) -> tuple[int, int, bool]:
        """Of the function that begins there: the address, the instruction, and whether the return address is signed by
        then. NotPatched where it cannot be replaced."""
        function = self._functions.get(address)
        if function is None:
            raise NotPatched("has code that is not understood")
        _, word = self.code.at(self.code.row(address))
        if word == _OTHER_SIGN:
            raise NotPatched("signs its return address with the second key")
        at = address + words.BYTES if word in words.LANDING_MARKS else address
        is_signed = word == SIGN
        _, word = self.code.at(self.code.row(at))
        if at >= function.stretch.high or movable(word) or self.survey.jumped_to.intersection((address, at)):
            raise NotPatched("begins with an instruction that cannot be replaced")
        if words.Form.JUMP.holds(word):
            raise NotPatched("only leads to another function")
        named = words.page_named(at, word) if words.Form.PAGE.holds(word) else self._lowest
        if named < self._lowest:
            raise NotPatched("begins with an instruction that cannot be replaced")
        return at, word, is_signed
