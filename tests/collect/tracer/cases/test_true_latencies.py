"""Inferred latencies against those that a threaded program logs of itself in the same run."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.contexts.instrumented import truth_runs
from bench.contexts.truth import EVERYTHING, truth_of

from tests.collect.tracer.recording import needs_bpf

pytestmark = [needs_bpf, pytest.mark.long]


def test_time_in_the_slowest_contexts_is_inferred_within_a_tenth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHYPERF_TRACE_FOLDER", str(tmp_path / "session"))
    # GIVEN threads that wait for each other, for a socket, a lock and a file, and call a plug-in
    (kiosk,) = (run for run in truth_runs() if run.name == "kiosk")
    # WHEN they are traced while they log every entry and exit
    held = truth_of(kiosk).by_source[EVERYTHING]
    # THEN no context was inferred that they never were in, and of the slowest none was missed
    assert held.unmatched < 0.001
    assert held.slowest_contexts.coverage == 1
    assert held.slowest_contexts.expected is not None
    assert held.slowest_contexts.expected < 0.1
