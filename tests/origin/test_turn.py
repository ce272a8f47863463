"""The hop where good turns into bad."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest

from whyperf.debuginfo.slices.module import SourcePlace
from whyperf.diagnose.origin import ChainEnd, HopKind, compared_with
from whyperf.origin.hops import Grouped, turn
from whyperf.origin.program_code import CodeAddress
from whyperf.origin.trail import TrailStep
from whyperf.origin.values import EMPTY, ComparedValues, Sample

_UNKNOWN = Sample(np.zeros(0, np.uint64), np.zeros(0, np.uint64), 5, False)


def _always(value: int) -> Sample:
    return Sample(np.full(40, value, np.uint64), np.arange(40, dtype=np.uint64), 40, True)


def _sampled(values: npt.NDArray[Any]) -> Sample:
    many = len(values)
    return Sample(values.astype(np.uint64), np.arange(many, dtype=np.uint64) * 10, many * 10, False)


def _all_of(sample: Sample) -> Sample:
    return replace(sample, total=len(sample.values), complete=True)


def _chain(*sides: tuple[Sample, Sample]) -> list[Grouped]:
    steps = [TrailStep(HopKind.COMPUTED, cast(CodeAddress, None), ComparedValues(*one), "x") for one in sides]
    return [Grouped((step,), SourcePlace("f", "f.c", row)) for row, step in enumerate(steps)]


@pytest.mark.parametrize("end", [ChainEnd.NOT_FOLLOWED, ChainEnd.CONSTANT, ChainEnd.SAME_INPUTS])
def test_a_hop_with_unknown_values_is_not_the_turn(end: ChainEnd) -> None:
    groups = _chain((_always(1), _always(2)), (_always(3), _always(4)), (_UNKNOWN, _always(5)))
    assert turn(groups, end) == 1


def test_a_hop_that_good_runs_never_pass_may_be_it() -> None:
    assert turn(_chain((_always(1), _always(2)), (EMPTY, _always(5))), ChainEnd.CONSTANT) == 1


def test_where_no_good_value_is_known_no_hop_is_it() -> None:
    assert turn(_chain((_UNKNOWN, _always(2)), (_UNKNOWN, _always(5))), ChainEnd.CONSTANT) is None
    assert turn([], ChainEnd.CONSTANT) is None


def test_samples_over_the_same_range_show_no_difference() -> None:
    # GIVEN two counters that run up to 20,000, of which each run shows others
    good, bad = (_sampled(np.arange(first, 20_000, 10)) for first in (252, 1))
    assert turn(_chain((_always(1), _always(2)), (good, bad)), ChainEnd.CONSTANT) == 0
    assert turn(_chain((good, bad)), ChainEnd.CONSTANT) is None
    # BUT a difference is one if all values are known, or if they spread otherwise
    assert turn(_chain((_all_of(good), _all_of(bad))), ChainEnd.CONSTANT) == 0
    assert turn(_chain((_sampled(np.arange(40)), bad)), ChainEnd.CONSTANT) == 0
    often = np.concatenate([np.zeros(1000), np.arange(50)])
    assert turn(_chain((_sampled(often), bad)), ChainEnd.CONSTANT) == 0
    few = _sampled(np.tile(np.arange(1000, 17_000, 2000), 100))
    assert turn(_chain((good, few)), ChainEnd.CONSTANT) == 0
    # AND that the first ones are recorded more often is none
    in_order = _sampled(np.concatenate([np.arange(200), np.arange(2000, 20_000, 1000)]))
    assert turn(_chain((good, in_order)), ChainEnd.CONSTANT) is None


@pytest.mark.parametrize(
    ("good", "bad", "differs"),
    [
        ((100_024, False), (105_963, False), False),
        ((0, False), (105_963, False), False),
        ((12, True), (105_963, False), True),
        ((200_000, True), (105_963, False), False),
        ((100_024, False), (50, True), True),
        ((12, True), (13, True), True),
        ((12, True), (12, True), False),
    ],
)
def test_of_two_lower_bounds_either_may_be_more(good: tuple[int, bool], bad: tuple[int, bool], differs: bool) -> None:
    compared = ComparedValues(*(Sample(EMPTY.values, EMPTY.hits, *one) for one in (good, bad)))
    assert compared.counts_differ == differs
    step = TrailStep(HopKind.ENTERED, cast(CodeAddress, None), compared, "work", counts=True)
    assert turn([Grouped((step,), SourcePlace("f", "f.c", 1))], ChainEnd.CONSTANT) == (0 if differs else None)


def test_what_shows_no_difference_is_not_said_to_be_one() -> None:
    assert compared_with("30", differs=True) == ", was 30"
    assert compared_with("252 to 19,707", differs=False) == ", and 252 to 19,707 in good runs: no difference shown"
    assert compared_with("", differs=False) == ""
