"""Where the values of a hop could be spread evenly, for those who want to prove that they are too few."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from whyperf.debuginfo.slices.definitions import DefinitionKind
from whyperf.diagnose.origin import HopKind
from whyperf.origin.instruction_copies import InstructionCopy, copies_of, lines_alike
from whyperf.origin.program_code import ProgramCode
from whyperf.origin.trail import TrailStep

_MADE = (HopKind.COMPUTED, HopKind.LOADED, HopKind.CHOSEN)
_SIZES = (4, 8)
_MADE_BY = (DefinitionKind.COMPUTE, DefinitionKind.LOAD, DefinitionKind.SELECT)


@dataclass(frozen=True)
class SpreadableSite:
    """What one place of the source makes, with all copies that the compiler made of it: what is spread in one must be
    spread in all, since the same must stay the same."""

    copies: tuple[InstructionCopy, ...]
    size: int
    gathers: bool
    """The bad run's values are the same few, again and again."""
    bad_bits: int
    """So many bits would tell the bad run's values apart."""


def spreadable_sites(steps: Iterable[TrailStep], code: ProgramCode) -> tuple[SpreadableSite, ...]:
    """The nearest to where time is paid first."""
    found = (_site(step, code) for step in steps if _can_be(step))
    return tuple(dict.fromkeys(one for one in found if one is not None))


def _can_be(step: TrailStep) -> bool:
    compared = step.compared
    is_number = not compared.only_addresses and compared.is_on_both_sides and compared.size in _SIZES
    return step.kind in _MADE and step.after and not step.counts and is_number


def _site(step: TrailStep, code: ProgramCode) -> SpreadableSite | None:
    copies = copies_of(step.at, code, _MADE_BY, lines_alike)
    if not copies:
        return None
    compared = step.compared
    return SpreadableSite(copies, compared.size, compared.gathers, compared.bad_bits)
