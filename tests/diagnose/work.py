"""Work that is given away in tests: at the top level of a module, so that workers find it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.patience import PATIENCE_S
from whyperf.errors import WhyperfError


def product(shared: int, item: int) -> int:
    return shared * item


def refusing(shared: int, item: int) -> int:
    raise WhyperfError(f"Not {shared * item}.", "whyperf doctor", status=2)


def deadly(shared: Any, item: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def waiting(until: Path, item: int) -> int:
    """Says that it has begun."""
    (until.parent / f"begun-{item}").touch()
    end = time.monotonic() + PATIENCE_S
    while not until.exists() and time.monotonic() < end:
        time.sleep(0.02)
    return item


def deadly_once(shared: tuple[Path, Callable[[Any, Any], Any], Any], item: Any) -> Any:
    """Somebody's work, but the first who takes on an item that is not the first of all dies of it."""
    marker, function, theirs = shared
    begun = marker.with_suffix(".begun")
    if begun.exists() and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    begun.touch()
    return function(theirs, item)
