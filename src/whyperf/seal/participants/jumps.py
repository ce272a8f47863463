"""Stacks with the functions that left them by a jump, which have no frame of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from whyperf.debuginfo.control_flow.tail_jumps import Calls
from whyperf.seal.evidence import Int32, Int64
from whyperf.seal.participants.address_spaces import Module
from whyperf.seal.participants.places import CodePlaces, SeenStacks, numbered
from whyperf.seal.symbols import Symbols


@dataclass(frozen=True)
class WholeStacks:
    """As `SeenStacks`, with the places of jumps in between."""

    place: Int64
    ends: Int64
    position: Int64
    """Of each place of the seen stacks."""


def with_jumps(
    stacks: SeenStacks, places: CodePlaces, modules: Sequence[Module], sampler: str, symbols: Symbols
) -> tuple[WholeStacks, CodePlaces]:
    """The places of jumps follow those that were seen. `sampler`: stacks begin with who called it, without itself."""
    if not len(stacks.place):
        return WholeStacks(stacks.place, stacks.ends, stacks.place), places
    own = next((number for number, one in enumerate(modules) if sampler and one.path == sampler), -1)
    inner = np.append(-1, stacks.place[:-1])
    inner[stacks.starts[stacks.lengths > 0]] = -1
    number, first = numbered(((inner + 1) * len(places.pc) + stacks.place).astype(np.uint64))
    outer, inner = stacks.place[first], inner[first]
    calls = Calls(
        places.module[outer],
        places.address[outer],
        np.where(inner < 0, own, places.module[inner]).astype(np.int32),
        np.where(inner < 0, 0, places.address[inner]).astype(np.uint64),
    )
    found = symbols.tail_jumps([(one.path, one.build_id) for one in modules], calls, () if own < 0 else (own,))
    added = _Added(places)
    jumps = [[added.place(at, *jump) for jump in through] for at, through in zip(outer.tolist(), found, strict=True)]
    return _inserted(stacks, number, jumps), added.joined()


class _Added:
    """Places at which nobody was seen."""

    def __init__(self, places: CodePlaces) -> None:
        self._places = places
        self._numbers: dict[tuple[int, int, int], int] = {}
        self._sampled: set[int] = set()

    def place(self, outer: int, module: int, address: int) -> int:
        """Of a jump in a call from another place."""
        places = self._places
        key = (int(places.space[outer]), module, address)
        number = self._numbers.setdefault(key, len(places.pc) + len(self._numbers))
        if places.sampled[outer]:
            self._sampled.add(number)
        return number

    def joined(self) -> CodePlaces:
        places = self._places
        if not self._numbers:
            return places
        space, module, address = (np.array(column) for column in zip(*self._numbers, strict=True))
        nowhere = np.zeros(len(space), np.uint64)
        sampled = np.array([number in self._sampled for number in self._numbers.values()], bool)
        return CodePlaces(
            space=np.append(places.space, space.astype(np.int32)),
            pc=np.append(places.pc, nowhere),
            module=np.append(places.module, module.astype(np.int32)),
            address=np.append(places.address, address.astype(np.uint64)),
            is_leaf=np.append(places.is_leaf, nowhere > 0),
            sampled=np.append(places.sampled, sampled),
        )


def _inserted(stacks: SeenStacks, call: Int32, jumps: list[list[int]]) -> WholeStacks:
    """`call`: that of each entry, before which its jumps go."""
    extra = np.array([*map(len, jumps)], np.int64)[call]
    before = np.append(0, np.cumsum(extra))
    position = np.arange(len(stacks.place)) + before[1:]
    place = np.empty(len(stacks.place) + int(before[-1]), np.int64)
    place[position] = stacks.place
    flat = np.array([one for through in jumps for one in through], np.int64)
    starts = np.array([0, *accumulate(map(len, jumps))], np.int64)
    entry = np.flatnonzero(extra)
    for at in range(int(extra.max(initial=0))):
        mine = entry[extra[entry] > at]
        place[position[mine] - extra[mine] + at] = flat[starts[call[mine]] + at]
    return WholeStacks(place, stacks.ends + before[stacks.ends], position)
