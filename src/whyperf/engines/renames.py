"""What two builds call differently: declarations of one kind that stand between the same neighbours."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Declaration:
    """One of several in the order in which they are declared."""

    known_as: Hashable | None  # the same in both builds; None where the other build has nothing of that name
    kind: Hashable  # what a new name does not change: type, scope, file


def renamed(before: Sequence[Declaration], after: Sequence[Declaration]) -> dict[int, int]:
    """Positions in `after` and what they were in `before`.

    Between two neighbours that both builds know, as many of a kind must have gone as have come: otherwise it is not
    known which of them is which, or whether any is.
    """
    gone, come = _by_place(before), _by_place(after)
    return {
        new: old
        for place, arrivals in come.items()
        if len(arrivals) == len(gone.get(place, []))
        for new, old in zip(arrivals, gone[place], strict=True)
    }


def _by_place(declarations: Sequence[Declaration]) -> dict[tuple[Hashable, ...], list[int]]:
    """Those without a common name, by the neighbours that have one, and kind."""
    previous: list[Hashable | None] = []
    last: Hashable | None = None
    for one in declarations:
        previous.append(last)
        last = last if one.known_as is None else one.known_as
    following: Hashable | None = None
    places: dict[tuple[Hashable, ...], list[int]] = defaultdict(list)
    for at in reversed(range(len(declarations))):
        one = declarations[at]
        if one.known_as is None:
            places[previous[at], following, one.kind].insert(0, at)
        else:
            following = one.known_as
    return places
