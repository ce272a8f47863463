"""Evidence where bad runs differ among themselves more than from the good ones."""

from __future__ import annotations

from tests.engines.made import recording
from whyperf.engines.excess.compare import compare
from whyperf.engines.excess.findings import suspects
from whyperf.engines.run import Run

OTHER_WORK = (("main", "serve", "parse"), 2.0)


def found(good, bad):
    sides = ([Run(recording([OTHER_WORK, (("main", "read"), one)])) for one in side] for side in (good, bad))
    return [finding.function.name for finding in suspects(compare(*sides), "run")]


def test_a_hundred_times_as_long_is_evidence_however_far_apart_bad_runs_are():
    # GIVEN bad runs whose mean is not three of its standard errors above the good ones'
    assert found([0.005, 0.005, 0.005], [0.25, 0.26, 2.0]) == ["read"]


def test_one_bad_run_like_the_good_ones_is_none():
    assert found([0.005, 0.005, 0.005], [0.005, 0.26, 2.0]) == []


def test_nor_is_what_sampling_alone_explains():
    assert found([0.005, 0.005, 0.005], [0.03, 0.03, 0.3]) == []
