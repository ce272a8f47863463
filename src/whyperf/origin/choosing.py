"""Which way back to go: of several definitions the one that differs, of its inputs the one that explains it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import numpy as np

from whyperf.debuginfo.machines.operations import VECTOR, Does
from whyperf.debuginfo.slices.definitions import FLAGS, Definition, DefinitionKind, Input
from whyperf.origin.points import input_in, result_in
from whyperf.origin.program_code import BuildSide
from whyperf.origin.questions import CodeHere
from whyperf.origin.trail import Trail
from whyperf.origin.values import DIFFERS, odd

_ADDRESS_DIFFERS = 0.3
_LESS_BY_ADDRESS = 0.5
_STEP_DEPTH = 4
_MAYBE = 0.05
"""Of an address that a function returns: how it was found may differ."""
_ONLY_IN_BAD, _ONLY_IN_GOOD = 1.26, 1.25
"""Above what values alone can reach: whatever runs in one kind of run only says more."""
_MOSTLY = 0.9


class Through(Enum):
    MEMORY = 0
    """The content of what is read."""
    NOTHING = 1
    """No input differs."""


def is_step(here: CodeHere, one: Definition) -> bool:
    """Whether it goes from element to element: what it makes is made of what it made before."""
    if one.kind not in (DefinitionKind.LOAD, DefinitionKind.COMPUTE):
        return False
    seen: set[Definition] = set()
    ahead = [one]
    for _ in range(_STEP_DEPTH):
        registers = [(each, place) for each in ahead for place in read_by(here, each)]
        ahead = [made for each, place in registers for made in here.slicer.definitions(each.address, place)]
        if one in ahead:
            return True
        ahead = [
            each
            for each in ahead
            if each not in seen and each.kind in (DefinitionKind.LOAD, DefinitionKind.COMPUTE, DefinitionKind.SELECT)
        ]
        seen |= set(ahead)
    return False


def read_by(here: CodeHere, one: Definition) -> tuple[int, ...]:
    return (*(each.location for each in one.inputs if each.location != FLAGS), *_address(here, one))


def choose_address(trail: Trail, here: CodeHere, definitions: Sequence[Definition]) -> Definition | None:
    """Of definitions of an address that is subtracted from another one: that which makes other addresses."""
    ranked = [(trail.result(here, one).apart_as_numbers, one) for one in definitions]
    most, best = max(ranked, key=lambda each: each[0], default=(0.0, None))
    return best if most > DIFFERS else None


def choose(trail: Trail, here: CodeHere, definitions: Sequence[Definition]) -> Definition | None:
    """None where none of them differs. How a list begins says more than a step along it."""
    steps = [one for one in definitions if len(definitions) > 1 and is_step(here, one)]
    for among in ([one for one in definitions if one not in steps], steps):
        ranked = [(_rank(trail, here, one, len(definitions) > 1), one) for one in among]
        most, best = max(ranked, key=lambda each: each[0], default=(0.0, None))
        if most > 0:
            return best
    return None


def _rank(trail: Trail, here: CodeHere, one: Definition, among_others: bool) -> float:
    good, bad = trail.counts(here, one)
    found = _rank_of_values(trail, here, one)
    if among_others and bool(good) != bool(bad):
        found = max(found, _ONLY_IN_BAD if bad else _ONLY_IN_GOOD)
    return found


def _rank_of_values(trail: Trail, here: CodeHere, one: Definition) -> float:
    if one.kind is DefinitionKind.TEST:
        found = max((trail.input(here, one, each).rank for each in one.inputs if each.location != FLAGS), default=0.0)
        return max(found, trail.content(here, one).rank) if one.reads_memory else found
    result = trail.result(here, one)
    if one.kind is DefinitionKind.LOAD:  # another element of a table, by its index
        by_address = max((trail.input(here, one, Input(each, 8)).rank for each in _address(here, one)), default=0.0)
        return max(result.rank, _LESS_BY_ADDRESS * by_address)
    if not result.only_addresses:
        return result.rank
    if one.kind is DefinitionKind.COMPUTE:  # the address of an element, by its index
        by_inputs = max(
            (trail.input(here, one, each).rank for each in one.inputs if each.location != FLAGS), default=0.0
        )
        return max(result.rank, _LESS_BY_ADDRESS * by_inputs)
    return max(result.rank, _MAYBE) if one.kind is DefinitionKind.RETURNED else result.rank


def input_of(trail: Trail, here: CodeHere, one: Definition) -> Input | Through:
    """The input that explains why a definition makes other values."""
    registers = [each for each in one.inputs if each.location != FLAGS]
    taken = _taken(trail, here, one, registers)
    if taken is not None:
        return taken
    few = _of_few(trail, here, one, registers)
    if few is not None:
        return few
    apart = _of_addresses(trail, here, one, registers)
    if apart is not None:
        return apart
    ranked: list[tuple[float, Input | Through]] = [(trail.input(here, one, each).rank, each) for each in registers]
    if one.reads_memory and one.kind is not DefinitionKind.STORE:
        ranked.append((trail.content(here, one).rank, Through.MEMORY))
    most, best = max(ranked, key=lambda each: each[0], default=(0.0, Through.NOTHING))
    if most == 0:
        best = Through.NOTHING
    if best is Through.MEMORY or (best is Through.NOTHING and one.kind is DefinitionKind.LOAD):
        by_address = next((each for each in _address(here, one) if _address_differs(trail, here, one, each)), None)
        if by_address is not None:
            return Input(by_address, 8)
    if one.reads_flags and best is Through.NOTHING:
        return Input(FLAGS, 8)
    return best


def _of_few(trail: Trail, here: CodeHere, one: Definition, registers: list[Input]) -> Input | None:
    """Of a computation that makes the same few values again and again: the input that has few as well. One that is
    another value each run, such as a seed, would not explain that."""
    if one.kind is not DefinitionKind.COMPUTE or not trail.result(here, one).gathers:
        return None
    ranked = [(trail.input(here, one, each), each) for each in registers]
    few = [(compared.gathering, each) for compared, each in ranked if compared.gathers]
    return max(few, key=lambda each: each[0], default=(0.0, None))[1]


def _of_addresses(trail: Trail, here: CodeHere, one: Definition, registers: list[Input]) -> Input | None:
    """Of a number made of addresses, such as how far two are apart: the address that is another one. Of two, the one
    that changes more often, since one that stays explains no distance that changes. That addresses are few says nothing
    here."""
    result = trail.result(here, one)
    if one.kind is not DefinitionKind.COMPUTE or result.only_addresses or not result.differs:
        return None
    compared = [(trail.input(here, one, each), each) for each in registers]
    if any(found.differs for found, _ in compared):
        return None
    ranked = [
        (len(np.unique(found.bad.values)), each)
        for found, each in compared
        if found.only_addresses and found.apart_as_numbers > DIFFERS
    ]
    return max(ranked, key=lambda each: each[0], default=(0, None))[1]


def _address(here: CodeHere, one: Definition) -> tuple[int, ...]:
    return here.slicer.address_registers(one)


def _address_differs(trail: Trail, here: CodeHere, one: Definition, register: int) -> bool:
    """Whether another element is read, not another content: by the register, or by what it was computed from."""
    if trail.input(here, one, Input(register, 8)).rank > _ADDRESS_DIFFERS:
        return True
    return any(
        trail.input(here, made, each).rank > _ADDRESS_DIFFERS
        for made in here.slicer.definitions(one.address, register)
        if made.kind is DefinitionKind.COMPUTE and made != one
        for each in made.inputs
        if each.location != FLAGS
    )


def _taken(trail: Trail, here: CodeHere, one: Definition, registers: list[Input]) -> Input | None:
    """Of a choice between registers: the one that is taken where the result is a value that good runs hardly have, if
    that differs itself. Else the choice falls otherwise, and the flags decide."""
    looked = trail.evidence.looked((here.module.path, one.address), BuildSide.BAD)
    if not _chooses(here, one) or looked is None or not len(looked.rows):
        return None
    result = trail.result(here, one)
    values = result_in(looked.rows, one)
    rows = looked.rows[odd(values, result, BuildSide.BAD)]
    made = result_in(rows, one)
    for each in (one for one in registers if one.location < VECTOR):
        same = float(np.mean(input_in(rows, Input(each.location, one.size)) == made)) if len(rows) else 0.0
        if same >= _MOSTLY and trail.input(here, one, each).differs:
            return each
    return Input(FLAGS, 8)


def _chooses(here: CodeHere, one: Definition) -> bool:
    """Whether it is one of its inputs as it is."""
    function = here.slicer.function
    row = function.row.get(one.address)
    effects = function.code[row].operation.effects if row is not None and one.reads_flags else ()
    return any(effect.does is Does.CHOOSE and effect.target == one.target for effect in effects)
