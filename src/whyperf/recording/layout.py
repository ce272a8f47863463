"""What a recording's folder is made of, and who holds it. Loads nothing, because recorders start in an instant."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

MANIFEST = "manifest.json"
RAW = "raw"
LOCK = "lock"
START = "start.json"


def is_recording(path: Path) -> bool:
    """Whether the folder is ours to open, and with --force to replace."""
    kept = (path / MANIFEST).is_file() or (path / RAW / START).is_file()
    return path.is_dir() and not path.is_symlink() and kept


def compared_in(folder: Path) -> tuple[list[Path], list[Path]]:
    """Good and bad recordings in a folder that `whyperf compare` made, in the order of their numbers."""
    sides = []
    for side in ("good", "bad"):
        numbered = [(path.name.removeprefix(f"{side}-"), path) for path in folder.glob(f"{side}-*")]
        found = [(int(number), path) for number, path in numbered if number.isdecimal() and is_recording(path)]
        sides.append([path for _, path in sorted(found)])
    return sides[0], sides[1]


def is_open(path: Path) -> bool:
    """Whether the folder holds a raw log that was never sealed."""
    return (path / RAW).is_dir() and not (path / MANIFEST).exists()


def is_being_written(path: Path) -> bool:
    """Whether a living recorder (or sealer) holds the raw log's lock."""
    try:
        descriptor = os.open(path / RAW / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
