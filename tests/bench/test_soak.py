"""What the soak test takes for accounted for."""

from __future__ import annotations

import numpy as np
from bench.soak.gaps import Gaps, gaps_between

from whyperf.collect._tracer import SHED_LEVELS
from whyperf.recording.sealed.manifest import Shed

_TIMES = np.array([10, 20, 30, 40, 50], np.int64)
_NUMBERS = np.array([1, 2, 5, 6, 16], np.uint64)  # 3 and 4 are missing, and 7 to 15


def test_numbers_missing_while_their_calls_were_left_out_are_explained() -> None:
    assert gaps_between(_TIMES, _NUMBERS, [Shed(SHED_LEVELS[4], 22, 28)]) == Gaps(5, 11, 9)
    assert gaps_between(_TIMES, _NUMBERS, [Shed(SHED_LEVELS[4], 0, 22), Shed(SHED_LEVELS[8], 48, 99)]) == Gaps(5, 11, 0)


def test_stacks_that_are_left_out_explain_no_missing_call() -> None:
    assert gaps_between(_TIMES, _NUMBERS, [Shed(SHED_LEVELS[2], 0, 99), Shed(SHED_LEVELS[9], 0, 99)]).unexplained == 11


def test_numbers_come_in_any_order() -> None:
    mixed = np.array([4, 0, 2, 1, 3])
    assert gaps_between(_TIMES[mixed], _NUMBERS[mixed], [Shed(SHED_LEVELS[4], 22, 28)]) == Gaps(5, 11, 9)


def test_without_numbers_nothing_is_missing() -> None:
    assert gaps_between(_TIMES[:0], _NUMBERS[:0], [Shed(SHED_LEVELS[4], 0, 99)]) == Gaps(0, 0, 0)
