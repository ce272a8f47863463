"""A recording survives the sudden death of its target and of its recorder."""

from __future__ import annotations

from bench.kills import LOSS_ALLOWED_S, random_kills


def test_recordings_open_after_sigkill_at_random_moments() -> None:
    for kill in random_kills(20, seed=20, longest_s=3.0):
        assert kill.opened, kill
        assert kill.lost_s <= LOSS_ALLOWED_S, kill
