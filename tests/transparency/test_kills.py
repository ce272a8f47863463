"""A recording survives the sudden death of its target and of its recorder."""

from __future__ import annotations

import pytest
from bench.kills import LOSS_ALLOWED_S, random_kills


@pytest.mark.parametrize("times", [5, pytest.param(20, marks=pytest.mark.long)])
def test_recordings_open_after_sigkill_at_random_moments(times: int) -> None:
    for kill in random_kills(times, seed=times, longest_s=3.0):
        assert kill.opened, kill
        assert kill.lost_s <= LOSS_ALLOWED_S, kill
