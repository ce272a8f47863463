"""How slow the machine was, told by what runs do alike."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines.made import recording
from whyperf.engines.machine_speed import slowness
from whyperf.engines.run import Run

WORK = {"parse": 4.0, "store": 3.0, "render": 3.0, "report": 2.0}
SPEEDS = st.lists(st.floats(0.5, 2.0), min_size=3, max_size=3)


def runs(work, speeds, **more):
    return [
        Run(recording([(("main", name), seconds * speed) for name, seconds in work.items()], **more))
        for speed in speeds
    ]


def told(good, bad, **more):
    slow = slowness(good, bad, per_unit=False, **more)
    assert slow is not None
    return np.concatenate(slow)


@settings(max_examples=30)
@given(good=SPEEDS, bad=SPEEDS, grown=st.sampled_from([*WORK]), added=st.floats(1.5, 3.0))
def test_what_one_function_takes_more_is_no_change_of_speed(good, bad, grown, added):
    """GIVEN a machine of any speed in every run WHEN less than half of the program grows THEN the speeds are told."""
    slower = {**WORK, grown: WORK[grown] * added}
    speeds = np.array([*good, *bad])
    assert told(runs(WORK, good), runs(slower, bad)) == pytest.approx(speeds / speeds.mean(), rel=0.05)


def test_more_of_everything_looks_like_a_slower_machine():
    assert told(runs(WORK, [1.0]), runs(WORK, [3.0])) == pytest.approx([0.5, 1.5], rel=0.01)


def test_work_is_counted_where_it_can_be():
    good, bad = runs(WORK, [1.0], units=100), runs(WORK, [3.0], units=300)
    slow = slowness(good, bad, per_unit=True)
    assert slow is not None
    assert np.concatenate(slow) == pytest.approx([1.0, 1.0], rel=0.01)


@pytest.mark.parametrize(
    "other", [{"something": 9.0}, {"something": 9.0, "store": 1.0}, {}], ids=["nothing", "too little", "no time"]
)
def test_runs_with_too_little_in_common_tell_nothing(other):
    assert slowness(runs(WORK, [1.0]), runs(other, [1.0]), per_unit=False) is None
