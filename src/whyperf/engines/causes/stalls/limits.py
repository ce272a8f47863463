"""From which excess on a wait is out of the ordinary: what the normal recordings' own spread says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from whyperf.engines.arrays import Bools, Ints
from whyperf.engines.causes.roles import Signature, ThreadRoles

_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class StallLimits:
    """In nanoseconds."""

    known: int  # where the normal run has enough of the same to tell
    unknown: int  # where it has not
    enough: int

    def for_instances(self, count: Ints) -> Ints:
        """By how many of the same the normal run has."""
        return np.where(count >= self.enough, self.known, self.unknown)


def usual_limits(stalled: ThreadRoles, normals: Sequence[ThreadRoles]) -> StallLimits:
    """What anybody notices; where little is known, as much more as the normal run's waits vary anyway."""
    settings = stalled.graph.settings
    spread = max((round(settings.excess_factor * _halves_differ(one)) for one in normals), default=0)
    least = settings.least_excess_ns
    return StallLimits(least, max(least, spread), settings.own_normal_waits)


def close_limits(stalled: ThreadRoles, normals: Sequence[ThreadRoles]) -> StallLimits:
    """For short stalls at sites of which much is known: beyond what pieces of the normal recordings, compared with
    each other, would be called out of the ordinary for."""
    settings = stalled.graph.settings
    longest = [_longest(one, half) for one in normals for half in _halves(one)]
    false = max((_largest_excess(a, b, settings.excess_factor) for a, b in permutations(longest, 2)), default=0)
    least = max(settings.short_excess_ns, round(settings.short_spread_factor * false))
    return StallLimits(min(least, settings.least_excess_ns), int(_NEVER), settings.short_normal_waits)


def _halves(normal: ThreadRoles) -> Iterator[Bools]:
    """By wait, whether it is one that can be compared, of a recording's first and second half."""
    graph = normal.graph
    early = graph.waits.begin < (graph.trace.start + graph.trace.end) // 2
    usable = ~graph.in_loop & (graph.waits.woken >= 0)
    yield early & usable
    yield ~early & usable


def _halves_differ(normal: ThreadRoles) -> int:
    """How much a site's longest wait differs between the halves of a normal recording, at most sites with many waits.

    A machine that is busy, or a program whose waits vary, raises what counts as out of the ordinary.
    """
    first, second = (_longest(normal, half) for half in _halves(normal))
    differences = [abs(first[one] - second[one]) for one in first.keys() & second.keys()]
    return int(np.quantile(differences, normal.graph.settings.own_normal_quantile)) if differences else 0


def _longest(normal: ThreadRoles, which: Bools) -> dict[Signature, int]:
    """The longest wait at each site that has enough of them."""
    graph = normal.graph
    lasted, signature = (graph.ends - graph.waits.begin)[which], normal.signature_of[which]
    most = np.zeros(len(normal.signatures), np.int64)
    np.maximum.at(most, signature, lasted)
    count = np.bincount(signature, minlength=len(normal.signatures))
    return {normal.signatures[one]: int(most[one]) for one in np.flatnonzero(count >= graph.settings.own_normal_waits)}


def _largest_excess(usual: dict[Signature, int], other: dict[Signature, int], factor: float) -> int:
    """Of the other's waits over the usual ones that would be called out of the ordinary."""
    return max(
        (other[one] - usual[one] for one in usual.keys() & other.keys() if other[one] > factor * usual[one]),
        default=0,
    )
