"""Which places of a chain are spread: from where many values become few, back to what those are made of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from whyperf.collect.observation.sites import ObservedSite, Spread
from whyperf.debuginfo.machines.operations import VECTOR
from whyperf.debuginfo.probes.spreading import MOST_BITS, MOST_FLOAT_BITS
from whyperf.origin.search import FoundOrigin
from whyperf.origin.spreadable import SpreadableSite
from whyperf.proof.by_spreading import Sites

Candidate = tuple[int, SpreadableSite]
"""A hop's number, and a place of it."""


def candidates(found: FoundOrigin) -> list[Candidate]:
    """Of a chain where many values become few: from there back, then towards where time is paid."""
    turn, many = found.origin.turn, len(found.origin.hops)
    if not found.origin.narrows or turn is None:
        return []
    first: dict[SpreadableSite, int] = {}
    for number in (*range(turn, many), *range(turn - 1, -1, -1)):
        for site in found.spreadable[number]:
            first.setdefault(site, number)
    return [(number, site) for site, number in first.items()]


def spread_at(site: SpreadableSite) -> Sites:
    """In the bad run."""
    return tuple(
        _site(one.module, one.address, Spread(one.register, site.size, _most_bits(one.register))) for one in site.copies
    )


def own_at(site: SpreadableSite) -> Sites:
    return tuple(_site(one.module, one.address, Spread(one.register, site.size, None)) for one in site.copies)


def gathered_for(found: FoundOrigin, site: SpreadableSite) -> Iterator[Sites]:
    """Ways to make values few in the good run: at the same place, or where they are few, the nearest to where time is
    paid first. Such a value may be an index already: few bits keep it within what the bad run had."""
    few = [one for hop in found.spreadable[: (found.origin.turn or 0) + 1] for one in hop if one.gathers]
    fewest = min((one.bad_bits for one in few), default=site.bad_bits)
    for one in dict.fromkeys([site, *few]):
        if all(copy.in_good is not None for copy in one.copies):
            bits = one.bad_bits if one.gathers else fewest
            yield tuple(
                _site(*copy.in_good, Spread(copy.register, one.size, min(bits, _most_bits(copy.register))))
                for copy in one.copies
                if copy.in_good is not None
            )


def _site(module: Path, address: int, spread: Spread) -> ObservedSite:
    return ObservedSite(module, address, after=True, spread=spread)


def _most_bits(register: int) -> int:
    return MOST_FLOAT_BITS if register >= VECTOR else MOST_BITS
