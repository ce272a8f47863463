"""Of one run alone, where nothing differs: which of several makers supplied the values that a place held.

A maker is followed if it surely supplied more of the values seen than any other one. Else the way ends and says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from whyperf.collect.observation.sites import Rows
from whyperf.debuginfo.machines.operations import VECTOR
from whyperf.debuginfo.slices.definitions import FLAGS, Definition, DefinitionKind, Input, Location
from whyperf.diagnose.origin import ChainEnd
from whyperf.origin.choosing import Through, is_step
from whyperf.origin.points import Point, content_in, input_in, result_in
from whyperf.origin.program_code import BuildSide, CodeAddress
from whyperf.origin.questions import CodeHere, Stop
from whyperf.origin.shown import shown_alone
from whyperf.origin.trail import Trail
from whyperf.origin.values import ComparedValues, UInt64s, as_key, masked

_Key = TypeVar("_Key", bound=Hashable)
_NO_ONE = -1
_NOT_UNDERSTOOD = Stop(ChainEnd.NOT_FOLLOWED, "It is made by an instruction that is not understood.")


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


def settle(trail: Trail, counts: Counter[_Key], unknown: int) -> _Key | None:
    """Who supplied more than any other can have, if so many values are of unknown makers; the trail notes the share."""
    ranked = counts.most_common(2)
    second = ranked[1][1] if len(ranked) > 1 else 0
    if not ranked or ranked[0][1] <= second + unknown:
        return None
    trail.supplies(ranked[0][1] / (counts.total() + unknown))
    return ranked[0][0]


def among(values: UInt64s, size: int, wanted: ComparedValues) -> npt.NDArray[np.bool_]:
    """Which of them are values that are asked about."""
    keys = wanted.bad.histogram.keys()
    seen = masked(values, min(size, wanted.size)).tolist()
    return np.array([as_key(one) in keys for one in seen], np.bool_)


def supplier(
    trail: Trail, here: CodeHere, use: Use, made: Sequence[Definition], wanted: ComparedValues
) -> Definition | Stop:
    """Of several definitions, the one by which most of the values came."""
    ran = [one for one in made if not _never_ran(trail, here, one)]
    if len(ran) == 1 or len(made) == 1:
        return (ran or made)[0]
    points = [trail.point(here, one) for one in ran]
    if not ran:
        return Stop(ChainEnd.NOT_FOLLOWED, "None of the instructions that make it ran.")
    if any(one is None for one in points):
        return _not_told(here, ran)
    trail.evidence.look_again([use.point, *(one for one in points if one is not None)], "matching uses with makers")
    looked = trail.evidence.looked(use.point.key, BuildSide.BAD)
    assert looked is not None
    rows = looked.rows
    values = None if use.values is None else use.values(rows)
    if values is not None:
        chosen = among(values, 8, wanted)
        rows, values = (rows[chosen], values[chosen]) if chosen.any() else (rows, values)
    found = _suppliers(rows, values, [_made_by(trail, here, one) for one in ran])
    counts = Counter(found[found != _NO_ONE].tolist())
    best = settle(trail, counts, int((found == _NO_ONE).sum()))
    return _not_told(here, ran) if best is None else ran[best]


def _never_ran(trail: Trail, here: CodeHere, one: Definition) -> bool:
    point = trail.point(here, one)
    looked = None if point is None else trail.evidence.looked(point.key, BuildSide.BAD)
    return looked is not None and looked.is_counted and not looked.total


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


def _made_by(trail: Trail, here: CodeHere, one: Definition) -> _Made:
    point = trail.point(here, one)
    looked = None if point is None else trail.evidence.looked(point.key, BuildSide.BAD)
    assert point is not None and looked is not None
    rows, hits = looked.rows, looked.rows["hit"]
    first = int(np.argmin(hits == np.arange(len(hits)))) if (hits != np.arange(len(hits))).any() else len(hits)
    is_whole = first == looked.total and looked.complete
    until = np.iinfo(np.uint64).max if is_whole else int(rows["order"][first - 1]) if first else 0
    values = trail.result(here, one).bad.values
    at_once = one.kind in (DefinitionKind.ARGUMENT, DefinitionKind.RETURNED) or point.address != one.address
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
    rows = one.rows
    before = rows["order"] <= use["order"] if one.at_once else rows["order"] < use["order"]
    mine = np.flatnonzero(before & (rows["thread"] == use["thread"]))
    return (int(rows["order"][mine[-1]]), int(mine[-1])) if len(mine) else (0, 0)


def _is(one: _Made, at: int, value: int) -> bool:
    return int(one.values[at]) == value & ((1 << 8 * min(one.size, 8)) - 1)


def _makes(one: _Made, value: int) -> bool:
    """Where its values are not recorded, it might."""
    return not len(one.values) or bool((one.values == np.uint64(value & ((1 << 8 * min(one.size, 8)) - 1))).any())


def supplying_input(trail: Trail, here: CodeHere, one: Definition) -> Input | Through | Stop:
    """Of what a definition reads, that by which its values came; NOTHING: it reads numbers of the program only."""
    if one.kind is DefinitionKind.LOAD:
        return Through.MEMORY
    if one.kind is DefinitionKind.UNKNOWN:
        return _NOT_UNDERSTOOD
    registers = [each for each in one.inputs if each.location != FLAGS]
    is_choice = one.kind is DefinitionKind.SELECT
    if not is_choice and is_step(here, one):
        return made_of_itself(here, one.address)
    if not is_choice:
        registers = [each for each in registers if not is_constant(here, one, each)]
    read: list[Input | Through] = [*registers, *((Through.MEMORY,) if one.reads_memory else ())]
    joins = one.reads_flags and one.kind is DefinitionKind.TEST
    if len(read) > 1 or (read and (is_choice or joins)):
        return _unchanged(trail, here, one, read) or _made_of(trail, here, one, read)
    return read[0] if read else Input(FLAGS, 8) if one.reads_flags else Through.NOTHING


def is_constant(here: CodeHere, one: Definition, value: Input) -> bool:
    made = here.slicer.definitions(one.address, value.location)
    return bool(made) and all(each.kind is DefinitionKind.CONSTANT for each in made)


def _unchanged(
    trail: Trail, here: CodeHere, one: Definition, read: Sequence[Input | Through]
) -> Input | Through | None:
    """What the result is as it is, in most of the records."""
    looked = trail.evidence.looked((here.module.path, one.address), BuildSide.BAD)
    if looked is None or one.kind is DefinitionKind.TEST:
        return None
    made = result_in(looked.rows, one)
    if any(isinstance(each, Input) and each.location >= VECTOR for each in read):
        return None
    rows, size = looked.rows, one.size
    seen = [
        input_in(rows, Input(each.location, size)) if isinstance(each, Input) else content_in(rows, one)
        for each in read
    ]
    same = np.array([each == made for each in seen])
    alone = same.sum(axis=0) == 1
    counts = Counter(np.argmax(same[:, alone], axis=0).tolist()) if alone.any() else Counter[int]()
    best = settle(trail, counts, int((~alone).sum()))
    return None if best is None else read[best]


def _made_of(trail: Trail, here: CodeHere, one: Definition, read: Sequence[Input | Through]) -> Stop:
    *first, last = (described(trail, here, one, each if isinstance(each, Input) else None) for each in read)
    what = f"{', '.join(first)} and {last}" if first else f"{last} and of a condition"
    return Stop(ChainEnd.NOT_FOLLOWED, f"It is made of {what}: one run does not tell which of them to follow.")


def described(trail: Trail, here: CodeHere, one: Definition, read: Input | None) -> str:
    """What a definition reads: a name, and what it held. None: what it reads from memory."""
    variables = here.module.variables
    compared = trail.content(here, one) if read is None else trail.input(here, one, read)
    where = one.memory if read is None else read.location
    name = "" if variables is None or where is None else variables.name_of(one.address, where)
    values = shown_alone(compared.bad, compared.size)
    return f"`{name}` ({values})" if name else values


def _not_told(here: CodeHere, made: Sequence[Definition]) -> Stop:
    lines = sorted({here.module.line(one.address)[1] for one in made} - {0})
    where = f" (lines {', '.join(map(str, lines))})" if len(lines) > 1 else ""
    return Stop(
        ChainEnd.NOT_FOLLOWED,
        f"{len(made)} instructions make it{where}: one run does not tell which of them supplied most of the values.",
    )


def made_of_itself(here: CodeHere, address: int) -> Stop:
    return Stop(ChainEnd.NOT_FOLLOWED, f"It is made of itself, again and again.{_deciding(here, address, 'how often')}")


def constant(here: CodeHere, address: int) -> Stop:
    return Stop(ChainEnd.CONSTANT, f"A constant.{_deciding(here, address, 'whether it is used')}")


def _deciding(here: CodeHere, address: int, what: str) -> str:
    """Names the line of the condition, where there is one."""
    lines = {here.module.line(one.address)[1] for one in here.slicer.deciders(address)}
    lines -= {0, here.module.line(address)[1]}
    return f" Line {lines.pop()} decides {what}." if len(lines) == 1 else ""
