"""The first instruction of a function, where it can be replaced."""

from __future__ import annotations

from collections.abc import Mapping

from whyperf.debuginfo.probes.aarch64 import words
from whyperf.debuginfo.probes.aarch64.stubs import movable
from whyperf.debuginfo.probes.aarch64.survey import Survey, SurveyedCode
from whyperf.debuginfo.probes.not_patched import NotPatched
from whyperf.debuginfo.probes.survey import SurveyedFunction

SIGN, CHECK_SIGN = 0xD503233F, 0xD50323BF  # paciasp, autiasp
_OTHER_SIGN = 0xD503237F  # pacibsp


def first_instruction(
    code: SurveyedCode, survey: Survey, functions: Mapping[int, SurveyedFunction], lowest: int, address: int
) -> tuple[int, int, bool]:
    """Its address, itself, and whether the return address is signed by then. `lowest`: of the file's addresses."""
    function = functions.get(address)
    if function is None:
        raise NotPatched("has code that is not understood")
    _, word = code.at(code.row(address))
    if word == _OTHER_SIGN:
        raise NotPatched("signs its return address with the second key")
    at = address + words.BYTES if word in words.LANDING_MARKS else address
    is_signed = word == SIGN
    _, word = code.at(code.row(at))
    if at >= function.stretch.high or movable(word) or survey.jumped_to.intersection((address, at)):
        raise NotPatched("begins with an instruction that cannot be replaced")
    if words.Form.JUMP.holds(word):
        raise NotPatched("only leads to another function")
    named = words.page_named(at, word) if words.Form.PAGE.holds(word) else lowest
    if named < lowest:
        raise NotPatched("begins with an instruction that cannot be replaced")
    return at, word, is_signed
