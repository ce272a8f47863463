"""Stacks with the places of jumps put in, against the plain way to do it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.collect.open_recording import FakeSymbols
from whyperf.debuginfo.control_flow.tail_jumps import Calls, Jumps
from whyperf.seal.participants.address_spaces import Module
from whyperf.seal.participants.jumps import with_jumps
from whyperf.seal.participants.places import CodePlaces, SeenStacks

PLACES = 6
MODULES = (Module("/bin/tool", "", 0), Module("/opt/own.so", "", 0), Module("/lib/sampler.so", "", 0))
SAMPLER = 2


class Jumping(FakeSymbols):
    """`jumps`: by address of the call and of what runs in it."""

    def __init__(self, jumps: dict[tuple[int, int], Jumps]) -> None:
        super().__init__()
        self.jumps = jumps
        self.asked: set[tuple[int, int, int, int]] = set()

    def tail_jumps(self, files: object, calls: Calls, reached_by_name: object) -> list[Jumps]:
        assert files == [(one.path, "") for one in MODULES] and list(reached_by_name) == [SAMPLER]  # type: ignore[call-overload]
        rows = zip(*(column.tolist() for column in vars(calls).values()), strict=True)
        asked = [(file, address, inner_file, inner) for file, address, inner_file, inner in rows]
        assert len(asked) == len(set(asked)), "each is asked for once"
        self.asked |= set(asked)
        return [self.jumps.get((address, inner), ()) for _, address, _, inner in asked]


def _places(sampled: list[bool]) -> CodePlaces:
    """A place's address is its number and one; even ones are in the first module."""
    number = np.arange(PLACES)
    return CodePlaces(
        space=np.zeros(PLACES, np.int32),
        pc=(number + 1001).astype(np.uint64),
        module=(number % 2).astype(np.int32),
        address=(number + 1).astype(np.uint64),
        is_leaf=number < 2,
        sampled=np.array(sampled),
    )


_jumps = st.dictionaries(
    st.tuples(st.integers(1, PLACES), st.integers(0, PLACES)),
    st.lists(st.tuples(st.integers(0, 2), st.integers(100, 103)), max_size=3).map(tuple),
)


@given(
    stacks=st.lists(st.lists(st.integers(0, PLACES - 1), max_size=6), max_size=6),
    jumps=_jumps,
    sampled=st.lists(st.booleans(), min_size=PLACES, max_size=PLACES),
)
def test_jumps_are_put_between_those_whom_they_led_from_and_to(
    stacks: list[list[int]], jumps: dict[tuple[int, int], Jumps], sampled: list[bool]
) -> None:
    places = _places(sampled)
    flat = np.array([place for stack in stacks for place in stack], np.int64)
    ends = np.cumsum([len(stack) for stack in stacks], dtype=np.int64)
    symbols = Jumping(jumps)
    # WHEN
    whole, known = with_jumps(
        SeenStacks(flat, ends, np.zeros(0, np.int64)), places, MODULES, MODULES[SAMPLER].path, symbols
    )
    # THEN each stack has its places, innermost first, and between them the jumps; before the first those to the sampler
    starts = [0, *whole.ends.tolist()]
    entry = 0
    for number, stack in enumerate(stacks):
        wanted: list[tuple[int, int]] = []
        for at, place in enumerate(stack):
            inner = stack[at - 1] + 1 if at else 0
            wanted += jumps.get((place + 1, inner), ())
            assert int(whole.position[entry]) == starts[number] + len(wanted)
            wanted.append((place % 2, place + 1))
            entry += 1
        got = whole.place[starts[number] : starts[number + 1]]
        assert [(int(known.module[one]), int(known.address[one])) for one in got] == wanted
    # THEN what was seen keeps its numbers, and no place is there twice
    assert np.array_equal(known.pc[:PLACES], places.pc) and np.array_equal(known.sampled[:PLACES], places.sampled)
    added = list(zip(known.module[PLACES:].tolist(), known.address[PLACES:].tolist(), strict=True))
    assert len(added) == len(set(added))
    assert all(len(column) == PLACES + len(added) for column in vars(known).values())
    # THEN who runs in the innermost call of a stack is asked of the sampler's file
    assert {inner_file for _, _, inner_file, inner in symbols.asked if inner == 0} <= {SAMPLER}


def test_a_jump_counts_as_sampled_where_one_of_its_callers_does() -> None:
    jump: Jumps = ((0, 100),)
    stacks = SeenStacks(np.array([0, 2, 1, 3]), np.array([2, 4]), np.zeros(0, np.int64))
    symbols = Jumping({(3, 1): jump, (4, 2): jump})
    _, known = with_jumps(stacks, _places([False] * 3 + [True] + [False] * 2), MODULES, MODULES[2].path, symbols)
    assert known.sampled[PLACES:].tolist() == [True] and known.is_leaf[PLACES:].tolist() == [False]
