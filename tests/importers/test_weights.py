"""How much time samples stand for, whatever the event counts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.importers import made
from whyperf.importers.perf_data.container import open_container
from whyperf.importers.perf_data.samples import decode
from whyperf.importers.perf_data.weights import CpuSamples, timed_samples

CYCLES = made.Event(type=0, config=0, period=4000, identity=7, name="cycles:P")
MS = 1_000_000


def timed(tmp_path: Path, events: list[made.Event], records: list[bytes]) -> CpuSamples:
    (tmp_path / "file").write_bytes(made.PerfFile(events, records).to_bytes())
    container = open_container(tmp_path / "file")
    return timed_samples(decode(container, tmp_path).samples, container.events)


def test_periods_of_a_clock_are_nanoseconds(tmp_path: Path) -> None:
    clock = made.Event()
    result = timed(tmp_path, [clock], [made.plain_sample(clock, i, period=(i + 1) * MS) for i in range(4)])

    assert result.weight.tolist() == [MS, 2 * MS, 3 * MS, 4 * MS]
    assert result.rate_hz == pytest.approx(400)


def test_cycles_at_a_frequency_add_up_to_the_time_that_it_says(tmp_path: Path) -> None:
    # GIVEN 400 samples at 4000 Hz, some of which stand for three times as many cycles
    periods = [3_000_000 if i % 4 else 1_000_000 for i in range(400)]
    result = timed(tmp_path, [CYCLES], [made.plain_sample(CYCLES, i, period=p) for i, p in enumerate(periods)])

    # THEN all of it is a tenth of a second, shared out by cycles
    assert result.weight.sum() == pytest.approx(100 * MS, rel=1e-6)
    assert result.weight[1] == pytest.approx(3 * result.weight[0], rel=1e-6)


def test_cycles_of_a_fixed_period_take_as_long_as_between_samples_of_a_thread_that_runs_on(tmp_path: Path) -> None:
    # GIVEN a sample every 2 ms of a running thread, which sleeps for long now and then
    fixed = made.Event(type=0, config=0, period=6_000_000, by_frequency=False, name="cycles")
    times = np.cumsum([500 * MS if i % 10 == 9 else 2 * MS for i in range(100)])
    result = timed(tmp_path, [fixed], [made.plain_sample(fixed, int(t), period=6_000_000) for t in times])

    # THEN every one stands for 2 ms, not for the sleep before it
    assert result.weight.tolist() == [2 * MS] * 100


def test_time_is_not_counted_twice(tmp_path: Path) -> None:
    # GIVEN a clock and cycles in one file
    clock, cycles = made.Event(identity=1), made.Event(type=0, config=0, identity=2, name="cycles")
    records = [made.plain_sample(clock, i) for i in range(5)] + [made.plain_sample(cycles, i) for i in range(9)]

    result = timed(tmp_path, [cycles, clock], records)

    assert result.events == (1,) and len(result.rows) == 5


def test_both_kinds_of_cores_count(tmp_path: Path) -> None:
    big = made.Event(type=0, config=4 << 32, identity=1, period=1000, name="cpu_core/cycles/")
    little = made.Event(type=0, config=8 << 32, identity=2, period=1000, name="cpu_atom/cycles/")
    records = [made.plain_sample(one, i, period=10) for i in range(5) for one in (big, little)]

    result = timed(tmp_path, [big, little], records)

    assert result.events == (0, 1)
    assert result.weight.sum() == 10 * MS


def test_the_idle_task_uses_no_cpu_time(tmp_path: Path) -> None:
    clock = made.Event()
    records = [made.plain_sample(clock, 1, pid=0, tid=0), made.plain_sample(clock, 2, pid=5, tid=5)]

    assert len(timed(tmp_path, [clock], records).rows) == 1


def test_events_that_count_no_time_have_no_weight(tmp_path: Path) -> None:
    misses = made.Event(type=0, config=3, name="cache-misses")

    assert timed(tmp_path, [misses], [made.plain_sample(misses, 1)]).events == ()
