"""What a recording's folder is made of, and who holds it. Loads nothing, because recorders start in an instant."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from whyperf.recording.safe_files.regular_files import open_regular

MANIFEST = "manifest.json"
RAW = "raw"
LOCK = "lock"
START = "start.json"
OUTPUT = ("stdout", "stderr")  # what `compare` keeps of what a program printed


def is_recording(path: Path) -> bool:
    """Whether the folder looks like a recording to open; `removal` asks for more before it removes one."""
    kept = (path / MANIFEST).is_file() or (path / RAW / START).is_file()
    return path.is_dir() and not path.is_symlink() and kept


def is_open(path: Path) -> bool:
    """Whether the folder holds a raw log of ours that was never sealed. Any other folder may be called raw, too."""
    begun = (path / RAW / START).exists() or (path / RAW / LOCK).exists()
    return begun and not (path / MANIFEST).exists()


def is_being_written(path: Path) -> bool:
    """Whether a living recorder (or sealer) holds the raw log's lock."""
    try:
        descriptor = open_regular(path / RAW / LOCK)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
