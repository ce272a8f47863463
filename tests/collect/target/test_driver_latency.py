"""How long requests took, as the load says."""

from __future__ import annotations

import os

import pytest

from whyperf.collect.target.drive import Driver
from whyperf.collect.target.spawn import Streams
from whyperf.recording.sealed.latency import LatencyCount


def driven(text, tmp_path):
    said = tmp_path / "said"
    said.write_text(text)
    counted, work = LatencyCount("driver"), []
    null = os.open(os.devnull, os.O_RDWR)
    try:
        driver = Driver(
            f"cat {said}", dict(os.environ), mask=(), streams=Streams(null, null, null),
            on_work=lambda _now, units: work.append(units), latencies=counted,
        )  # fmt: skip
        while not driver.poll():
            pass
    finally:
        os.close(null)
    return counted.latency, work


def test_lines_of_single_requests_become_percentiles(tmp_path):
    lines = [f"latency={0.001 if number < 980 else 0.08}" for number in range(1000)]
    latency, work = driven("\n".join(["work=1000", *lines, "done"]), tmp_path)
    assert (latency.count, work) == (1000, [1000.0])
    assert latency.percentile(50) == pytest.approx(0.001, rel=0.02)
    assert latency.percentile(99) == pytest.approx(0.08, rel=0.02)
    assert latency.mean_s == pytest.approx(0.98 * 0.001 + 0.02 * 0.08, rel=0.02)


def test_percentiles_as_load_tools_print_them_are_taken(tmp_path):
    latency, _ = driven("requests: 5000 p50=0.0004 p99=8.1e-2 max=0.2\nhelp50=3 xp99=1\n", tmp_path)
    assert (latency.count, latency.percentile(50), latency.percentile(99)) == (0, 0.0004, 0.081)
    assert latency.percentile(90) is None


def test_a_load_that_says_nothing_has_no_latency(tmp_path):
    latency, _ = driven("work=3\nlatency=\nlatency=fast\np99=never\n", tmp_path)
    assert latency is None


def test_warm_up_is_not_counted():
    counted = LatencyCount("driver")
    counted.add([1.0, 2.0])
    counted.window_opens()
    counted.add([0.5])
    assert counted.latency.count == 1
