"""Values that change from call to call: the n-th of one run stands for the n-th of the other only where their order
agrees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from whyperf.collect.observation.sites import MOST_IN_ORDER, ObservationLimits, Observed, ObservedSite
from whyperf.proof.places import ForcedPlace
from whyperf.proof.trial import TrialKind

_LOOKS = 2  # at each side: what differs between runs of one side has no order

Look = Callable[[TrialKind, ObservedSite, ObservationLimits], Observed]
_LIMITS = ObservationLimits(records=MOST_IN_ORDER, traps=MOST_IN_ORDER + 1)


class NoOrderError(Exception):
    """Why there is none: a part of a sentence."""


def with_values(place: ForcedPlace, look: Look) -> ForcedPlace:
    """The place with the values of all its calls in both runs. NoOrderError where their order does not agree."""
    good, bad = (_values(place, kind, look) for kind in (TrialKind.GOOD, TrialKind.BAD))
    if len(good) != len(bad):
        raise NoOrderError(
            f"its values change from call to call, and it runs {len(good):,} times in the good run, {len(bad):,} times "
            "in the bad run"
        )
    return replace(place, good=good, bad=bad)


def _values(place: ForcedPlace, kind: TrialKind, look: Look) -> tuple[int, ...]:
    first, *others = (_seen(place, look(kind, place.watched(kind), _LIMITS)) for _ in range(_LOOKS))
    if any(other != first for other in others):
        raise NoOrderError(f"its values change from call to call, in another order in every {kind.value} run")
    return first


def _seen(place: ForcedPlace, seen: Observed) -> tuple[int, ...]:
    if not seen.placed[0]:
        raise NoOrderError(f"the instruction at {place.address:#x} cannot be observed: {seen.refused[0]}")
    records = seen.of(0)
    if not seen.complete[0] or len(records) > MOST_IN_ORDER:
        raise NoOrderError(f"its values change from call to call, and it runs more than {MOST_IN_ORDER:,} times")
    if len(records) != seen.hits[0]:
        raise NoOrderError("its values change from call to call, and not all of them could be recorded")
    if len(np.unique(records["thread"])) > 1:
        raise NoOrderError("its values change from call to call, and several threads run it")
    return place.values_in(records)
