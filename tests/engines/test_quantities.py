"""Bounds as people read them."""

from __future__ import annotations

import pytest

from whyperf.engines.quantities import below, in_bytes, seconds


@pytest.mark.parametrize(
    ("most", "said"),
    [
        (0.0255, "26 ms"),
        (0.1612, "170 ms"),
        (0.999, "1 s"),
        (2.996, "3 s"),
        (123.4, "130 s"),
        (1.01, "1.1 s"),
        (3 * 0.1 / 3, "100 ms"),
    ],
)
def test_a_bound_of_seconds_is_rounded_up(most: float, said: str) -> None:
    assert below(most, seconds) == f"less than {said}"


@pytest.mark.parametrize(("most", "said"), [(7.7e6, "7.7 MB"), (524_288, "530 kB"), (123.4e6, "130 MB"), (2e9, "2 GB")])
def test_a_bound_of_bytes_is_rounded_up(most: float, said: str) -> None:
    assert below(most, in_bytes) == f"less than {said}"
