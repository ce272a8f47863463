"""When everything grew alike nobody is to blame; when one part did, somebody is."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.engines.made import recording
from whyperf.engines.excess.compare import compare
from whyperf.engines.excess.uniform_growth import grew_alike
from whyperf.engines.run import Run

NAMES = ("parse", "store", "render", "log", "check")
SECONDS = st.lists(st.floats(1.0, 4.0), min_size=3, max_size=5)


def excess(good, bad):
    """Of one run each, whose functions take so many seconds."""

    def run(seconds):
        return [Run(recording([(("main", name), time) for name, time in zip(NAMES, seconds, strict=False)]))]

    return compare(run(good), run(bad), per_unit=False)


@pytest.mark.thorough
@given(SECONDS, st.floats(1.5, 5.0))
def test_more_of_the_same_is_even(seconds, factor):
    assert grew_alike(excess(seconds, [factor * one for one in seconds]))


@pytest.mark.thorough
@given(SECONDS, st.floats(2.0, 5.0), st.integers(0, 4))
def test_growth_of_one_function_is_not(seconds, factor, which):
    assume(which < len(seconds))
    assert not grew_alike(excess(seconds, [one * (factor if n == which else 1) for n, one in enumerate(seconds)]))


@pytest.mark.parametrize("share", [0.9, 0.97, 0.999])
def test_one_that_takes_nearly_all_of_the_time_may_have_grown_alone(share):
    rest = 10 * (1 - share) / 2
    assert not grew_alike(excess([10 * share, rest, rest], [20 * share, rest, rest]))


def test_a_little_more_is_not_called_even_by_a_few_samples():
    assert not grew_alike(excess([1.0, 1.0, 1.0], [1.08, 1.08, 1.08]))


def test_nothing_that_grew_is_not_even():
    assert not grew_alike(excess([1.0, 1.0], [0.5, 0.5]))
