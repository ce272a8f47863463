"""The first instructions of a function, where they can be replaced by a jump."""

from __future__ import annotations

from collections.abc import Mapping

from whyperf.debuginfo.probes.not_patched import NotPatched
from whyperf.debuginfo.probes.x86_64.entries import entry_run
from whyperf.debuginfo.probes.x86_64.moving import MovedInstruction
from whyperf.debuginfo.probes.x86_64.survey import Survey, X86Function
from whyperf.recording.schemas.call_tables import NotCounted


def first_instructions(survey: Survey, functions: Mapping[int, X86Function], address: int) -> list[MovedInstruction]:
    function = functions.get(address)
    if function is None:
        raise NotPatched("has code that is not understood")
    run = entry_run(function)
    if isinstance(run, NotCounted):
        raise NotPatched("begins with instructions that cannot be replaced")
    low, high = run[0].address, run[-1].address + len(run[-1].content)
    entered = any(low < at < high for at in survey.entered.tolist())
    if entered or survey.jumped_to.intersection((address, low)):
        raise NotPatched("begins with instructions that cannot be replaced")
    return run
