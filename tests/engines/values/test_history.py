"""Distributions and courses: what they must add up to, however many readings there are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engines.values.made import Read, one_function
from whyperf.engines.run import Run
from whyperf.engines.values.compare import Values, compare
from whyperf.engines.values.history import Histories, distribution
from whyperf.engines.values.kinds import Dimension, ValueKind

finite = st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=200).map(np.array)
whole = st.lists(st.integers(-30, 30), min_size=1, max_size=200).map(lambda few: np.array(few, float))


@given(st.one_of(st.tuples(finite, finite), st.tuples(whole, whole)))
def test_every_reading_is_in_one_cell(sides) -> None:
    good, bad = sides
    found = distribution(good, bad, ValueKind.FLOAT, Dimension.VALUE)
    cells = len(found.labels) or len(found.edges) - 1
    assert len(found.good) == len(found.bad) == cells
    assert sum(found.good) == pytest.approx(1) and sum(found.bad) == pytest.approx(1)
    assert list(found.edges) == sorted(found.edges)


def test_few_values_are_named_and_neighbouring_numbers_have_a_cell_each() -> None:
    flags = distribution(np.array([0.0, 0.0]), np.array([1.0, 0.0]), ValueKind.BOOLEAN, Dimension.VALUE)
    assert flags.labels == ("false", "true") and flags.good == (1.0, 0.0) and flags.bad == (0.5, 0.5)
    dice = distribution(np.arange(1.0, 21.0), np.array([20.0]), ValueKind.SIGNED, Dimension.VALUE)
    assert dice.edges == tuple(np.arange(0.5, 21.0)) and dice.bad[-1] == 1.0


def compared(readings: int) -> Values:
    def run(limit: int):
        values = np.arange(readings) % limit
        return Run(one_function(Read("work", "i", values, roles="loop|condition"), samples=readings, cpu_s=1.0))

    values = compare([run(100) for _ in range(3)], [run(5000) for _ in range(3)])
    assert values is not None and values.abnormal
    return values


def test_a_course_says_for_every_run_what_was_held_when() -> None:
    # GIVEN a variable that counts up to 100 in the good runs, and further in the bad ones
    values = compared(readings=5000)
    # WHEN its history is read
    history = Histories(values).of(values.abnormal[0])
    # THEN every run has its course, in time order, and the middle lies between the extremes
    assert [(one.good, one.run) for one in history.courses] == [(g, n) for g in (True, False) for n in (1, 2, 3)]
    for course in history.courses:
        assert len(course.seconds) <= 120 and list(course.seconds) == sorted(course.seconds)
        assert all(
            low <= middle <= high for low, middle, high in zip(course.low, course.middle, course.high, strict=True)
        )
        assert max(course.high) == (99 if course.good else 4999) and min(course.low) == 0


def test_where_pointers_point_to_has_no_course() -> None:
    def run(null: bool):
        raw = np.zeros(400, np.int64) if null else np.full(400, 2 << 56)
        read = Read("work", "p", raw, kind="pointer", type="int *", roles="condition")
        return Run(one_function(read, samples=400, cpu_s=1.0))

    values = compare([run(False)] * 3, [run(True)] * 3)
    assert values is not None and values.abnormal
    history = Histories(values).of(values.abnormal[0])
    assert history.courses == () and history.distribution.labels == ("null", "on the heap")
