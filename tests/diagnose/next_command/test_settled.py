"""What to type once recordings have told what they can."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.diagnose.joining.test_join import suspect
from tests.diagnose.test_diagnosis import SLOW, STACKS, runs
from tests.report import verdicts
from whyperf.diagnose.next_command.settled import after
from whyperf.diagnose.verdict import Symptom, VerdictKind
from whyperf.engines.run import Run
from whyperf.recording.sealed.latency import LatencyCount
from whyperf.recording.sealed.manifest import RunOptions


def typed(kind="cpu", measure="cpu_s", first=None, *, options=RunOptions(), latency=None):  # noqa: B008 (frozen)
    """The command for three runs a side."""

    def told(side):
        for one in side:
            totals = replace(one.manifest.totals, latency=latency)
            manifest = replace(one.manifest, options=options, totals=totals)
            yield Run(replace(one, manifest=manifest))

    good, bad = (list(told(runs(stacks))) for stacks in (STACKS, SLOW))
    symptom = Symptom(kind, "run", 1.0, 2.0, measure, (3, 3))
    suspects = [suspect("store") if first is None else first]
    return after(VerdictKind.DIFFERENCE, symptom, suspects, good, bad).split()[1]


def reported():
    counted = LatencyCount("driver")
    counted.add([0.001, 0.002])
    return counted.latency


@pytest.mark.parametrize(
    ("kind", "measure"),
    [
        ("cpu", "cpu_s"),
        ("cpu", "sampled_cpu_s"),
        ("wait", "wall_s"),
        ("io", "own_s"),
        ("latency", "wall_s"),
        ("memory", "peak_bytes"),
    ],
)
def test_whatever_a_trial_measures_can_be_proven(kind, measure):
    assert typed(kind, measure) == "prove"


def test_of_latency_only_where_runs_report_it():
    assert typed("latency", "latency_p99_s", latency=reported()) == "prove"
    assert typed("latency", "latency_p99_s") == "view"
    # Runs of a proof time no calls.
    assert typed("latency", "latency_p99_s", latency=replace(reported(), source="calls")) == "view"


def test_nothing_is_to_be_proven_where_no_trial_could_tell():
    assert typed("cpu", "instructions") == "view"  # of counted instructions no run of a trial tells
    assert typed("external", "wall_s") == "view"
    assert typed(options=None) == "view"  # it is not known how to run it again
    assert typed(first=suspect("tool+0x1234")) == "view"
    assert typed(first=replace(suspect("store"), proofs=verdicts.proven().suspects[0].proofs)) == "view"
