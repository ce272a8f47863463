"""Abnormal variables in words: what is written must tell good from bad."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from whyperf.engines.values.findings import _lines
from whyperf.engines.values.kinds import Dimension, ValueKind
from whyperf.engines.values.sentences import sentence, writing
from whyperf.engines.values.settings import ValuesSettings
from whyperf.engines.values.value_summary import ReadAt, Spread

numbers = st.integers(-(2**52), 2**52)


def compared(good: list[float], bad: list[float], dimension: Dimension = Dimension.VALUE) -> SimpleNamespace:
    def spread(values: list[float]) -> Spread:
        return Spread(values[0], values[1], values[2], 0.5, ())

    return SimpleNamespace(
        variable=SimpleNamespace(kind=ValueKind.SIGNED, name="n"),
        growth=None,
        dimension=dimension,
        contrast=SimpleNamespace(good=spread(good), bad=spread(bad)),
    )


def test_large_numbers_that_begin_alike_are_written_out():
    text = writing(compared([1_790_000_001.0] * 3, [1_790_000_002.0] * 3))
    assert (text.value(1_790_000_001.0), text.value(1_790_000_002.0)) == ("1,790,000,001", "1,790,000,002")


def test_numbers_far_apart_stay_short():
    assert writing(compared([4.1e8] * 3, [0.0] * 3)).value(4.1e8) == "4.1e+08"


@given(
    st.lists(numbers, min_size=3, max_size=3).map(sorted),
    st.lists(numbers, min_size=3, max_size=3).map(sorted),
    st.sampled_from(Dimension),
)
def test_different_numbers_are_written_differently(good, bad, dimension):
    one = compared([float(value) for value in good], [float(value) for value in bad], dimension)
    values = {float(value) for value in (*good, *bad)}
    assert len({writing(one).value(value) for value in values}) == len(values)


def test_steps_whose_typical_one_is_the_same_are_told_by_how_often_it_is():
    one = compared([-14.0, 0.0, 14.0], [-15.0, 0.0, 15.0], Dimension.DELTA)
    one.contrast.good = replace(one.contrast.good, at_typical=0.9)
    told = sentence(one, ValuesSettings(), "run")
    assert told == "n changes by +0 from sample to sample in 50%; was in 90%."


def test_a_line_of_several_blocks_is_shown_once():
    places = [ReadAt("a.c", 190, 3, 0.94), ReadAt("a.c", 190, 5, 0.02), ReadAt("a.c", 191, 4, 0.04)]
    shown = _lines(places, {190: "while (n)"})
    assert [(line.line, round(line.share, 2), line.text) for line in shown] == [
        (190, 0.96, "while (n)"),
        (191, 0.04, ""),
    ]
