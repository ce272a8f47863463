"""Values of two runs, compared and written as people write them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyperf.origin.shown import shown, shown_count, shown_places, shown_shares
from whyperf.origin.values import POINTER, ComparedValues, Sample, odd

_HEAP, _CODE = 0xAAAAAAAB2000, 0x7FFFF7DD0000


def _sample(values: list[int], total: int | None = None, complete: bool = True) -> Sample:
    hits = np.arange(len(values), dtype=np.uint64)
    return Sample(np.array(values, np.uint64), hits, len(values) if total is None else total, complete)


_values = st.lists(st.integers(0, 6), min_size=1, max_size=60)


@given(_values, _values)
def test_the_distance_is_the_share_that_would_have_to_change(good: list[int], bad: list[int]) -> None:
    # WHEN every value of both runs is known
    compared = ComparedValues(_sample(good * len(bad)), _sample(bad * len(good)))
    # THEN by brute force: pair off equal values, and count what is left
    left, right = Counter(good * len(bad)), Counter(bad * len(good))
    assert compared.hits_agree
    assert compared.distance == pytest.approx((left - right).total() / left.total())


@given(_values)
def test_the_same_values_in_another_order_are_alike(values: list[int]) -> None:
    assert not ComparedValues(_sample(values), _sample(values[::-1])).differs


def test_where_something_lies_is_no_difference_but_whether_it_does_is() -> None:
    assert ComparedValues(_sample([_HEAP, _HEAP + 64]), _sample([_CODE, _HEAP])).distance == 0
    null = ComparedValues(_sample([_HEAP, 0]), _sample([_HEAP, _HEAP]))
    assert null.distance == 0.5 and null.only_addresses
    assert null.good.histogram[POINTER] == 1


def test_a_few_values_of_many_count_where_all_are_known() -> None:
    good, bad = [7] * 300, [7] * 298 + [9] * 2
    assert ComparedValues(_sample(good), _sample(bad)).differs
    # AND not where they may be of other times
    assert not ComparedValues(_sample(good, 9000, complete=False), _sample(bad, 9000, complete=False)).differs


def test_values_are_the_same_only_where_all_of_them_are_known_and_equal() -> None:
    assert ComparedValues(_sample([7] * 300), _sample([7] * 330)).are_the_same
    # ... one of many is another, which is too few to follow
    few = ComparedValues(_sample([7] * 1000), _sample([7] * 999 + [9]))
    assert not few.differs and few.are_all_seen and not few.are_the_same
    # ... as many were seen of both, and both have more
    assert not ComparedValues(_sample([7] * 300, 9000), _sample([7] * 300, 9000)).are_the_same
    assert not ComparedValues(_sample([7] * 300), _sample([7] * 300, complete=False)).are_the_same


def test_a_bound_ranks_above_a_counter() -> None:
    bound = ComparedValues(_sample([10] * 10), _sample([100] * 100))
    counter = ComparedValues(_sample(list(range(10))), _sample(list(range(100))))
    assert bound.rank > counter.rank > 0


def test_odd_values_are_those_that_one_side_has_more_often() -> None:
    compared = ComparedValues(_sample([1, 1, 1, 0]), _sample([0, 0, 1, 5]))
    assert odd(compared.bad.values, compared, 1).tolist() == [True, True, False, True]


def test_more_and_less() -> None:
    assert ComparedValues(_sample([64]), _sample([4096])).direction == 1
    assert ComparedValues(_sample([100]), _sample([(1 << 32) - 5]), 4).direction == -1
    # AND modes are neither
    assert ComparedValues(_sample([0]), _sample([1])).direction == 0


@pytest.mark.parametrize(
    ("values", "size", "text"),
    [
        ([2731], 4, "2,731"),
        ([(1 << 32) - 1], 4, "-1"),
        ([5, 1, 2], 4, "1, 2 or 5"),
        (list(range(1, 41)), 8, "1 to 40"),
        ([3] * 97 + [1, 2, 4], 8, "mostly 3"),
        ([_HEAP], 8, "an address"),
        ([_HEAP, 0, 0, 0], 8, "null in 75%"),
        ([], 8, "never"),
    ],
)
def test_values_as_people_write_them(values: list[int], size: int, text: str) -> None:
    assert shown(_sample(values), size) == text


@pytest.mark.parametrize(
    ("values", "size", "text"),
    [
        ([0.0003], 8, "0.0003"),
        ([1.5, -2.25], 8, "-2.25 or 1.5"),
        ([n / 4 for n in range(9)], 8, "0 to 2"),
        ([0.5] * 97 + [1.0, 2.0, 3.0], 4, "mostly 0.5"),
        ([2.5], 4, "2.5"),
    ],
)
def test_floating_point_numbers_as_people_write_them(values: list[float], size: int, text: str) -> None:
    bits = np.array(values, np.float64 if size == 8 else np.float32).view(np.uint64 if size == 8 else np.uint32)
    assert shown(replace(_sample(bits.tolist()), is_float=True), size) == text


def test_registers_for_floating_point_numbers_may_hold_others() -> None:
    """Copies of whole numbers and addresses, and short ones where the size is not known."""
    assert shown(replace(_sample([7]), is_float=True), 8) == "7"
    assert shown(replace(_sample([_HEAP]), is_float=True), 8) == "an address"
    assert shown(replace(_sample([int(np.float32(2.5).view(np.uint32))]), is_float=True), 8) == "2.5"
    lower = ComparedValues(*(replace(_sample([int(np.float64(x).view(np.uint64))]), is_float=True) for x in (-20, -90)))
    assert lower.direction == -1


def test_counts_and_shares() -> None:
    assert shown_count(_sample([1])) == "1 time"
    assert shown_count(_sample([1], 2000, complete=False)) == "at least 2,000 times"
    assert shown_count(_sample([], 0, complete=False)) == "not known how often"
    few, many = [0, 1, 2, 3, 4, 4, 4, 4], [0, 0, 0, 0, 1, 2, 3, 4]
    assert shown_shares(ComparedValues(_sample(few), _sample(many))) == ("0 in 12%", "0 in 50%")


@given(st.integers(40, 400), st.integers(4, 400))
def test_a_run_gathers_that_comes_back_to_few_addresses(many: int, times: int) -> None:
    # GIVEN good runs that go to another place each time, and bad ones that go to a few again and again
    good = [_HEAP + 16 * row for row in range(many)]
    few = [_HEAP + 16 * (row % max(1, many // (8 * times))) for row in range(many)]
    compared = ComparedValues(_sample(good), _sample(few))
    # THEN that says something, although all of them are addresses; the other way round, and twice the same, nothing
    assert compared.only_addresses and compared.gathers and compared.rank > 0
    assert (
        not ComparedValues(_sample(few), _sample(good)).gathers
        and not ComparedValues(_sample(good), _sample(good)).rank
    )
    shown_good, shown_bad = shown_places(compared)
    assert (shown_good, shown_bad.split()[0]) == (f"{many} addresses", str(len(set(few))))


def test_null_is_no_place_to_come_back_to() -> None:
    places = [_HEAP + 64 * number for number in range(400)]
    nulls = ComparedValues(_sample(places), _sample([*places[:40], *[0] * 360]))
    assert nulls.only_addresses and nulls.differs and not nulls.gathers
    assert not ComparedValues(_sample(places), _sample([0] * 400)).gathers


def test_runs_that_begin_alike_are_told_apart_by_what_comes_later() -> None:
    hits = np.concatenate([np.arange(2000), np.arange(2000, 2000 + 8 * 100, 8)]).astype(np.uint64)
    alike = [7] * 2000
    good, bad = (Sample(np.array(alike + [later] * 100, np.uint64), hits, 9000, False) for later in (1, 2))
    assert ComparedValues(good, bad).differs and not ComparedValues(good, good).differs
