"""Where the value of a hop could be forced, for those who want to prove that it is the cause."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

from whyperf.debuginfo.machines.operations import VECTOR
from whyperf.debuginfo.slices.definitions import DefinitionKind
from whyperf.diagnose.origin import HopKind
from whyperf.origin.hops import texts_of
from whyperf.origin.instruction_copies import InstructionCopy, copies_of, own_line
from whyperf.origin.program_code import ProgramCode
from whyperf.origin.trail import TrailStep
from whyperf.origin.values import POINTER, Sample

_MOST_VALUES = 4096
_MADE_BY = (DefinitionKind.CONSTANT, DefinitionKind.COMPUTE, DefinitionKind.LOAD, DefinitionKind.SELECT)


@dataclass(frozen=True)
class ForcibleSite:
    module: Path
    address: int
    after: bool
    """The register holds the value after the instruction, else before it."""
    register: int
    size: int
    name: str
    """Of what it holds; empty: unknown."""
    texts: tuple[str, str]
    """The good and the bad run's values as people write them."""
    good: tuple[tuple[int, int], ...]
    """Values and how often each was seen, the most common first."""
    bad: tuple[tuple[int, int], ...]
    hits_agree: bool
    """Both runs pass the place as often."""
    is_address: bool
    in_good: tuple[Path, int] | None
    """File and address of the same instruction in the good build; None: that has other code there."""
    is_reached_in_good: bool = True
    find_copies: Callable[[], tuple[InstructionCopy, ...]] = field(default=tuple, compare=False)

    @cached_property
    def copies(self) -> tuple[InstructionCopy, ...]:
        """Others of the same instruction, which may make the same value elsewhere. It takes time to find them."""
        return self.find_copies()


def forcible_sites(steps: Iterable[TrailStep], code: ProgramCode) -> tuple[ForcibleSite, ...]:
    found = []
    for step in steps:
        compared = step.compared
        if step.counts or step.register is None or not 0 <= step.register < VECTOR:
            continue
        if not (compared.differs or compared.only_addresses):
            continue
        address = step.at.address
        after = step.after
        if step.kind is HopKind.RETURNED and not step.is_at_entry:
            behind = step.at.slicer.function.at(address) if step.at.slicer is not None else None
            if behind is None:
                continue
            address, after = behind.end, False
        found.append(
            ForcibleSite(
                step.at.module.path,
                address,
                after,
                step.register,
                compared.size,
                step.name,
                texts_of(compared, step.counts),
                _counted(compared.good),
                _counted(compared.bad),
                compared.are_complete and compared.good.total == compared.bad.total,
                POINTER in compared.good.histogram or POINTER in compared.bad.histogram,
                code.in_good(code.at(step.at.module.path, address)),
                step.is_reached_in_good,
                partial(_other_copies, step, code) if after and step.after else tuple,
            )
        )
    return tuple(found)


def _other_copies(step: TrailStep, code: ProgramCode) -> tuple[InstructionCopy, ...]:
    """Where the compiler put what the line makes into a general register, besides the step's own instruction."""
    return tuple(
        one
        for one in copies_of(step.at, code, _MADE_BY, own_line)
        if one.address != step.at.address and one.register < VECTOR
    )


def _counted(sample: Sample) -> tuple[tuple[int, int], ...]:
    return tuple(sample.histogram.most_common(_MOST_VALUES))
