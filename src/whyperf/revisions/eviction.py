"""Which old builds are removed: those that nobody used for a month, and the oldest beyond what all may take."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MOST_BYTES = 10 << 30
_LONGEST_S = 30 * 86400.0


def evict(root: Path, *, most_bytes: int = MOST_BYTES) -> list[Path]:
    """Removes what is too old or too much, except what is in use, and returns what was removed."""
    now, kept, removed = time.time(), 0, []
    for used, size, folder in sorted(_builds(root), reverse=True):
        kept += size
        if (now - used > _LONGEST_S or kept > most_bytes) and _remove(folder):
            kept -= size
            removed.append(folder)
    return removed


def _builds(root: Path) -> Iterator[tuple[float, int, Path]]:
    """When each was last used, its bytes and its folder; also what never was finished."""
    for folder in root.iterdir():
        if not folder.is_dir():
            continue
        mark = folder / "finished"
        try:
            yield mark.stat().st_mtime, int(json.loads(mark.read_text())["bytes"]), folder
        except (OSError, ValueError, KeyError, TypeError):
            yield folder.stat().st_mtime, 0, folder


def _remove(folder: Path) -> bool:
    with _unused(folder) as unused:
        if unused:
            (folder / "finished").unlink(missing_ok=True)
            shutil.rmtree(folder, ignore_errors=True)
        return unused


@contextmanager
def _unused(folder: Path) -> Iterator[bool]:
    # The lock's file stays: who waits for it holds it open.
    with folder.with_suffix(".lock").open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def size_of(folder: Path) -> int:
    """Of all files below it, as they take disk space."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_blocks * 512  # noqa: PTH118
            except OSError:
                continue  # gone meanwhile
    return total
