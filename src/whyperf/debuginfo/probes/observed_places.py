"""What is asked of a place in a binary's code, and what every machine's stubs for it can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from whyperf.debuginfo.probes.plan_file import PatchKind, PatchPlan


@dataclass(frozen=True)
class LoadedNumber:
    """A number that a stub puts into a register, by DWARF's number."""

    register: int
    size: int
    value: int | None
    """None: the register's own value, once more."""


@dataclass(frozen=True)
class SpreadNumber:
    """A register's own number, which a stub spreads evenly: equal ones stay equal. Floating-point numbers become
    whole ones."""

    register: int
    size: int
    bits: int | None
    """That are left of it. None: it is written back as it is."""


@dataclass(frozen=True)
class DecidedJump:
    """A conditional jump that is always or never taken; nothing else is there, so that it costs nothing."""

    taken: bool | None
    """None: it is written again as it is."""

    @property
    def patch(self) -> PatchKind:
        return PatchKind.AS_IS if self.taken is None else PatchKind.ALWAYS if self.taken else PatchKind.NEVER


@dataclass(frozen=True)
class Wanted:
    address: int
    after: bool
    """Behind the instruction: a second trap, or what a stub does."""
    loaded: LoadedNumber | SpreadNumber | DecidedJump | None = None
    """By a jump instead of a trap."""


class NotPlaced(Exception):  # noqa: N818 (an answer, and no mistake)
    """Why a place cannot be observed, in words."""


class ObservingStubs(Protocol):
    def put(self, wanted: Wanted) -> int | None:
        """Where in the stubs its second trap is. `NotPlaced` if it cannot be."""

    def finished(self, build_id: str, multiple: int) -> PatchPlan:
        """With so many stubs that their bytes are a multiple of that."""
