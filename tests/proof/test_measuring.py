"""How much a run needed, in what the symptom is measured in, and how it ended."""

from __future__ import annotations

import signal
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from whyperf.collect.observation.sites import RECORD, WRITE, Observed
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.diagnose.measured.measures import is_measurable
from whyperf.errors import WhyperfError
from whyperf.proof.rounds import amount_of, ending_of
from whyperf.proof.trial import RunEnding
from whyperf.recording.sealed.latency import LatencyCount
from whyperf.recording.sealed.manifest import ThreadTimes, Totals

MAIN = ThreadTimes("program", main=True, lived_s=8.0, run_s=3.0, runnable_s=2.5, turns=9)
TOTALS = Totals(8.0, 2.0, 1.0, 5 << 20, 0, 0, 0, 0, 0, threads=(MAIN,))
SEEN = Observed(0, TOTALS, "", (), (), (), np.zeros(0, RECORD), np.zeros(0, WRITE), (), 0)


@pytest.mark.parametrize(
    ("measure", "alone", "per_unit"),
    [
        ("cpu_s", 3.0, 0.75),
        ("sampled_cpu_s", 3.0, 0.75),
        ("wall_s", 8.0, 2.0),
        ("own_s", 5.5, 1.375),
        ("peak_bytes", 5 << 20, 5 << 20),
    ],
)
def test_times_are_for_each_unit_of_work_and_memory_is_not(measure: str, alone: float, per_unit: float) -> None:
    assert is_measurable(measure)
    assert amount_of(SEEN, measure) == pytest.approx(alone)
    assert amount_of(replace(SEEN, work=4.0), measure) == pytest.approx(per_unit)


def test_latency_is_the_drivers_percentile() -> None:
    counted = LatencyCount("driver")
    counted.add([0.001] * 90 + [0.08] * 10)
    seen = replace(SEEN, totals=replace(TOTALS, latency=counted.latency), work=100.0)
    assert is_measurable("latency_p50_s") and is_measurable("latency_p99_s")
    assert amount_of(seen, "latency_p50_s") == pytest.approx(0.001, rel=0.02)
    assert amount_of(seen, "latency_p99_s") == pytest.approx(0.08, rel=0.02)


def test_what_a_run_does_not_say_is_unknown() -> None:
    assert amount_of(SEEN, "latency_p99_s") is None
    assert amount_of(replace(SEEN, totals=replace(TOTALS, max_rss_bytes=0)), "peak_bytes") is None
    assert not is_measurable("instructions") and not is_measurable("share")


@pytest.mark.parametrize(
    ("how", "ending"),
    [
        ({}, RunEnding.EXITED),
        ({"status": 3}, RunEnding.EXITED),
        ({"status": 139, "signal": signal.SIGSEGV, "stopped_by": "signal"}, RunEnding.CRASHED),
        ({"status": 137, "signal": signal.SIGKILL, "stopped_by": "signal"}, RunEnding.CRASHED),
        ({"stopped_by": "driver", "signal": signal.SIGTERM}, RunEnding.EXITED),
        ({"stopped_by": "driver", "signal": signal.SIGKILL, "status": 137}, RunEnding.EXITED),
        ({"stopped_by": "driver", "failure": WhyperfError("The driver failed.")}, RunEnding.FAILED),
        # The driver noticed first that the server was gone.
        ({"stopped_by": "driver", "signal": signal.SIGSEGV, "failure": WhyperfError("It failed.")}, RunEnding.CRASHED),
        ({"stopped_by": "for", "signal": signal.SIGTERM}, RunEnding.STOPPED),
    ],
)
def test_what_we_stop_did_not_crash(how: dict[str, Any], ending: RunEnding) -> None:
    assert ending_of(replace(SEEN, **how), Lifecycle()) is ending


def test_the_time_that_the_user_gives_is_no_failure() -> None:
    assert ending_of(replace(SEEN, stopped_by="for"), Lifecycle(for_s=1.0)) is RunEnding.EXITED
