"""A device file of a test's own: no test writes to the machine's."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from whyperf.collect.observation.devices import why_not_read_only

_WHY_NOT = "making device files needs root" if os.geteuid() != 0 else why_not_read_only() and "mounts are not permitted"
needs_root = pytest.mark.skipif(bool(_WHY_NOT), reason=_WHY_NOT)
_NULL = os.makedev(1, 3)


@pytest.fixture
def device() -> Iterator[Path]:
    """One that takes everything and keeps nothing, like /dev/null."""
    path = Path(f"/dev/whyperf-test-{os.getpid()}")
    os.mknod(path, 0o600 | stat.S_IFCHR, _NULL)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def is_intact(device: Path) -> bool:
    """Nobody has removed it or put an ordinary file in its place."""
    return device.is_char_device() and device.stat().st_rdev == _NULL
