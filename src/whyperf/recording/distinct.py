"""A run is compared with other runs, and counts once."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from whyperf.errors import WhyperfError
from whyperf.recording.layout import is_recording


def refuse_same(good: Iterable[Path], bad: Iterable[Path]) -> None:
    """Refuses a recording that is named twice, under whatever paths. Other folders are refused when they are opened."""
    sides: dict[Path, str] = {}
    for path, side in (*((path, "good") for path in good), *((path, "bad") for path in bad)):
        real = path.resolve() if path.exists() else path
        if real in sides and is_recording(real):
            how = "twice" if sides[real] == side else "as a good and as a bad recording"
            raise WhyperfError(
                f"{path} is named {how}: compare runs with other runs.", "whyperf diagnose GOOD BAD", status=2
            )
        sides[real] = side
