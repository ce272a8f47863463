"""The hop where good turns into bad."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest

from whyperf.debuginfo.slices.module import SourcePlace
from whyperf.diagnose.origin import ChainEnd, HopKind
from whyperf.origin.hops import Grouped, turn
from whyperf.origin.program_code import CodeAddress
from whyperf.origin.trail import TrailStep
from whyperf.origin.values import EMPTY, ComparedValues, Sample

_UNKNOWN = Sample(np.zeros(0, np.uint64), np.zeros(0, np.uint64), 5, False)


def _always(value: int) -> Sample:
    return Sample(np.full(40, value, np.uint64), np.arange(40, dtype=np.uint64), 40, True)


def _chain(*sides: tuple[Sample, Sample]) -> list[Grouped]:
    steps = [TrailStep(HopKind.COMPUTED, cast(CodeAddress, None), ComparedValues(*one), "x") for one in sides]
    return [Grouped((step,), SourcePlace("f", "f.c", row)) for row, step in enumerate(steps)]


@pytest.mark.parametrize("end", [ChainEnd.NOT_FOLLOWED, ChainEnd.CONSTANT, ChainEnd.SAME_INPUTS])
def test_a_hop_with_unknown_values_is_not_the_turn(end: ChainEnd) -> None:
    groups = _chain((_always(1), _always(2)), (_always(3), _always(4)), (_UNKNOWN, _always(5)))
    assert turn(groups, end) == 1


def test_a_hop_that_good_runs_never_pass_may_be_it() -> None:
    assert turn(_chain((_always(1), _always(2)), (EMPTY, _always(5))), ChainEnd.CONSTANT) == 1


def test_where_nothing_is_known_it_is_the_end_of_the_way() -> None:
    assert turn(_chain((_UNKNOWN, _always(2)), (_UNKNOWN, _always(5))), ChainEnd.CONSTANT) == 1
