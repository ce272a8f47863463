"""Of one run alone, where nothing differs: which of several makers supplied the values that a place held.

A maker is followed if it supplied more of the values seen than any other one can have. Else the way ends and says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from whyperf.collect.observation.sites import Rows
from whyperf.debuginfo.machines.operations import VECTOR
from whyperf.debuginfo.slices.definitions import FLAGS, Definition, DefinitionKind, Input, Location
from whyperf.diagnose.origin import ChainEnd
from whyperf.origin.evidence import MOST_POINTS, Looked
from whyperf.origin.points import Point, input_in
from whyperf.origin.program_code import BuildSide, CodeAddress
from whyperf.origin.questions import CodeHere, Stop
from whyperf.origin.trail import Trail
from whyperf.origin.values import ComparedValues, UInt64s, as_key, masked

_Key = TypeVar("_Key", bound=Hashable)
_NO_ONE = -1
_FEW_LINES = 4
"""That a sentence lists."""


@dataclass(frozen=True, eq=False)
class Use:
    """A place that holds the values in question when an instruction is reached."""

    point: Point
    values: Callable[[Rows], UInt64s] | None = None
    """In the records of that; None: they are not recorded."""


def held_before(at: CodeAddress, location: Location) -> Use:
    point = Point(*at.key, vector=location if isinstance(location, int) and location >= VECTOR else None)
    if not isinstance(location, int) or location == FLAGS:
        return Use(point)
    return Use(point, lambda rows: input_in(rows, Input(location, 8)))


def most_of(counts: Counter[_Key], unknown: int = 0) -> _Key | None:
    """Who supplied more than any other can have, if so many values are of unknown makers."""
    ranked = counts.most_common(2)
    second = ranked[1][1] if len(ranked) > 1 else 0
    return ranked[0][0] if ranked and ranked[0][1] > second + unknown else None


def settle(trail: Trail, counts: Counter[_Key], unknown: int, looked: Looked | None = None) -> _Key | None:
    """The same, and the trail notes the share. `looked`: of whose hits these are. Nobody knows who supplied those that
    are not recorded; where not even their number is known, there are no shares, only who supplied all that was seen."""
    if looked is not None and (unknown or len(+counts) > 1):
        if not looked.complete:
            return None
        unknown += looked.total - len(looked.rows)
    most = most_of(counts, unknown)
    if most is not None:
        trail.supplies(counts[most] / (counts.total() + unknown))
    return most


def among(values: UInt64s, size: int, wanted: ComparedValues) -> npt.NDArray[np.bool_]:
    """Which of them are values that are asked about: all, unless each of those is known."""
    if not (wanted.bad.complete and len(wanted.bad.values) == wanted.bad.total):
        return np.ones(len(values), np.bool_)
    keys = wanted.bad.histogram.keys()
    seen = masked(values, min(size, wanted.size)).tolist()
    return np.array([as_key(one) in keys for one in seen], np.bool_)


def narrowed(found: ComparedValues, wanted: ComparedValues) -> ComparedValues:
    """Only those values that are asked about; all where none of them is."""
    chosen = among(found.bad.values, found.size, wanted)
    if chosen.all() or not chosen.any():
        return found
    values, hits = found.bad.values[chosen], found.bad.hits[chosen]
    is_all = found.bad.complete and len(found.bad.values) == found.bad.total
    return replace(found, bad=replace(found.bad, values=values, hits=hits, total=len(values), complete=is_all))


def only_maker(made: Mapping[_Key, ComparedValues], wanted: ComparedValues) -> _Key | None:
    """Who alone makes any of the values that are asked about, if anybody does."""
    keys = set(wanted.bad.values.tolist())
    makers = [key for key, one in made.items() if keys & set(masked(one.bad.values, wanted.size).tolist())]
    return makers[0] if len(makers) == 1 else None


def supplier(
    trail: Trail, here: CodeHere, use: Use, made: Sequence[Definition], wanted: ComparedValues
) -> tuple[Definition, ComparedValues] | Stop:
    """Of several definitions, the one by which most of the values came, and which these are."""
    if len(made) == 1:
        return made[0], wanted
    points = [_ran_at(trail, here, one) for one in made]
    wanted_points = [use.point, *(one for one in points if one is not None)]
    if len(points) >= len(wanted_points) or len(wanted_points) > MOST_POINTS:
        return _not_told(here, made)
    again = [one.joined(known) if (known := trail.evidence.point(one.key)) else one for one in wanted_points]
    trail.evidence.look_again(again, "matching values with who made them")
    looked = trail.evidence.looked(use.point.key, BuildSide.BAD)
    assert looked is not None
    rows, values = looked.rows, None if use.values is None else use.values(looked.rows)
    if values is not None and (chosen := among(values, 8, wanted)).any():
        rows, values = rows[chosen], values[chosen]
    found = _suppliers(rows, values, [_made_by(trail, here, one) for one in made])
    best = settle(trail, Counter(found[found != _NO_ONE].tolist()), int((found == _NO_ONE).sum()), looked)
    if best is None:
        return _not_told(here, made)
    if values is None:
        return made[best], wanted
    mine = masked(values[found == best], wanted.size)
    is_all = looked.complete and len(looked.rows) == looked.total
    bad = replace(wanted.bad, values=mine, hits=rows["hit"][found == best], total=len(mine), complete=is_all)
    return made[best], replace(wanted, bad=bad)


def _ran_at(trail: Trail, here: CodeHere, one: Definition) -> Point | None:
    """Where it is seen that a definition ran; None: nowhere. Behind a call, another way may lead there as well."""
    function, point = here.slicer.function, trail.point(here, one)
    if point is None or one.kind not in (DefinitionKind.ARGUMENT, DefinitionKind.RETURNED):
        return point
    if one.kind is DefinitionKind.ARGUMENT:
        return None if list(function.before(function.row[function.entry])) else point
    from_call = list(function.before(function.row[point.address])) == [function.row[one.address]]
    return point if from_call else Point(here.module.path, one.address)


@dataclass(frozen=True, eq=False)
class _Made:
    """What one definition made, and when."""

    rows: Rows
    values: UInt64s
    size: int
    at_once: bool
    """It is recorded where the value is there already, not before it is made."""
    all_until: int
    """Up to this moment all of it is recorded."""

    @cached_property
    def of_threads(self) -> dict[int, tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]]:
        """Which of the records are of a thread, and when they were made."""
        threads = self.rows["thread"]
        rows = {one: np.flatnonzero(threads == one) for one in np.unique(threads).tolist()}
        return {one: (mine, np.ascontiguousarray(self.rows["order"][mine])) for one, mine in rows.items()}


def _made_by(trail: Trail, here: CodeHere, one: Definition) -> _Made:
    point = _ran_at(trail, here, one)
    looked = None if point is None else trail.evidence.looked(point.key, BuildSide.BAD)
    assert point is not None and looked is not None
    rows, hits = looked.rows, looked.rows["hit"]
    first = int(np.argmin(hits == np.arange(len(hits)))) if (hits != np.arange(len(hits))).any() else len(hits)
    is_whole = first == looked.total and looked.complete
    until = np.iinfo(np.uint64).max if is_whole else int(rows["order"][first - 1]) if first else 0
    is_call = one.kind is DefinitionKind.RETURNED and point.address == one.address
    values = rows["hit"][:0] if is_call else trail.result(here, one).bad.values
    at_once = one.kind is DefinitionKind.ARGUMENT or point.address != one.address
    return _Made(rows, values if len(values) == len(rows) else rows["hit"][:0], one.size, at_once, int(until))


def _suppliers(uses: Rows, values: UInt64s | None, made: Sequence[_Made]) -> npt.NDArray[np.int64]:
    """Of each use, who made its value: whoever ran last in its thread, while all of that is recorded; later, who alone
    makes such a value."""
    found = np.full(len(uses), _NO_ONE, np.int64)
    all_until = min(one.all_until for one in made)
    for row, use in enumerate(uses):
        value = None if values is None else int(values[row])
        if int(use["order"]) > all_until:
            makers = [] if value is None else [number for number, one in enumerate(made) if _makes(one, value)]
            found[row] = makers[0] if len(makers) == 1 else _NO_ONE
            continue
        last = max((_last_before(one, use), number) for number, one in enumerate(made))
        (order, at), number = last
        if order and (value is None or not len(made[number].values) or _is(made[number], at, value)):
            found[row] = number
    return found


def _last_before(one: _Made, use: Rows) -> tuple[int, int]:
    """When, and in which of its records; 0 where it did not run before."""
    mine = one.of_threads.get(int(use["thread"]))
    if mine is None:
        return 0, 0
    rows, orders = mine
    before = int(np.searchsorted(orders, use["order"], "right" if one.at_once else "left"))
    return (int(orders[before - 1]), int(rows[before - 1])) if before else (0, 0)


def _is(one: _Made, at: int, value: int) -> bool:
    return int(one.values[at]) == value & ((1 << 8 * min(one.size, 8)) - 1)


def _makes(one: _Made, value: int) -> bool:
    """As far as was seen; where its values are not recorded, it might."""
    if not len(one.rows) and one.all_until:  # it never ran
        return False
    return not len(one.values) or bool((one.values == np.uint64(value & ((1 << 8 * min(one.size, 8)) - 1))).any())


def _not_told(here: CodeHere, made: Sequence[Definition]) -> Stop:
    lines = sorted({here.module.line(one.address)[1] for one in made} - {0})
    listed = ", ".join(map(str, lines)) if len(lines) <= _FEW_LINES else f"{lines[0]} to {lines[-1]}"
    where = f" (lines {listed})" if len(lines) > 1 else ""
    return Stop(
        ChainEnd.NOT_FOLLOWED,
        f"{len(made)} instructions make it{where}: one run does not tell which of them supplied most of the values.",
    )
