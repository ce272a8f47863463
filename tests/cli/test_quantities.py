from __future__ import annotations

import argparse
import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyperf.cli.quantities import duration, signal_number, size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30", 30), ("30s", 30), ("500ms", 0.5), ("1.5m", 90), ("2min", 120), ("1h", 3600), ("1d", 86400)],
)
def test_times(text: str, seconds: float) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "count"),
    [("2G", 2 << 30), ("500M", 500 << 20), ("1.5g", 3 << 29), ("2097152", 2 << 20), ("4MiB", 4 << 20)],
)
def test_sizes(text: str, count: int) -> None:
    assert size(text) == count


@pytest.mark.parametrize("text", ["TERM", "SIGTERM", "sigterm", "15"])
def test_signals(text: str) -> None:
    assert signal_number(text) == signal.SIGTERM


@given(st.text())
def test_anything_else_is_refused_and_never_an_accident(text: str) -> None:
    for parse in (duration, size, signal_number):
        try:
            assert parse(text) >= 0
        except argparse.ArgumentTypeError as refusal:
            assert "type" in str(refusal) or "smallest" in str(refusal)
