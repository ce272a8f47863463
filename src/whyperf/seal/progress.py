"""Telling how far sealing is."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, float], None]  # what is being done, and which share of the whole is done


def silently(_what: str, _done: float) -> None:
    """For those who do not want to know."""
