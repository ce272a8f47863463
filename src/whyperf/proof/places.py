"""An instruction at which a value is forced, and what it is to be there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from whyperf.collect.observation.sites import Forced, Observed, ObservedSite, Rows
from whyperf.proof.trial import TrialKind

_NEARLY_ALWAYS = 0.9
_ADDRESSES = range(1 << 36, 1 << 48)


@dataclass(frozen=True)
class ForcedPlace:
    """An instruction that defines the value, and what it is to be."""

    module: Path
    address: int
    after: bool
    register: int
    size: int
    good: tuple[int, ...]
    """One; with `in_order` the n-th for the n-th time, empty as long as they are not known."""
    bad: tuple[int, ...]
    in_good: tuple[Path, int] | None = None
    """The same instruction in the good run's build; None: it is the same file."""
    has_reverse: bool = True
    """False: the good run's build has other code there."""
    in_order: bool = False
    """Its values change from call to call."""

    def watched(self, kind: TrialKind) -> ObservedSite:
        """What it holds in a run of that kind."""
        module, address = self._where(kind)
        return ObservedSite(module, address, after=self.after, register=self.register)

    def forced(self, kind: TrialKind, *, by_jump: bool) -> ObservedSite:
        values = {TrialKind.FORCED: self.good, TrialKind.REVERSE: self.bad}.get(kind)
        module, address = self._where(kind)
        return ObservedSite(
            module, address, after=self.after, forced=Forced(self.register, self.size, values, by_jump=by_jump)
        )

    def values_in(self, records: Rows) -> tuple[int, ...]:
        held = records["after"] if self.after else records["registers"][:, self.register]
        return tuple((held & np.uint64((1 << 8 * self.size) - 1)).tolist())

    def holds(self, kind: TrialKind, seen: Observed, site: int) -> bool:
        """Whether it has the good or the bad run's value, nearly always. A place that does not run holds no other one;
        nothing is known of one that runs, and has no records."""
        values = self.values_in(seen.of(site))
        expected = (self.good if kind is TrialKind.GOOD else self.bad)[0] & ((1 << 8 * self.size) - 1)
        return values.count(expected) >= _NEARLY_ALWAYS * len(values) if values else not seen.hits[site]

    def _where(self, kind: TrialKind) -> tuple[Path, int]:
        if kind in (TrialKind.GOOD, TrialKind.REVERSE) and self.in_good is not None:
            return self.in_good
        return self.module, self.address


Places = tuple[ForcedPlace, ...]
"""A place, and copies of it that make the same value."""


def why_not_forced(places: Iterable[ForcedPlace]) -> str:
    """Why values like these cannot be tried; empty: they can."""
    known = [place for place in places if place.good and place.bad]
    if any(place.good == place.bad for place in known):
        return "the value is the same in both runs"
    if any(value in _ADDRESSES for place in known for value in (*place.good, *place.bad)):
        return "it is an address, which means something else in every run"
    return ""
