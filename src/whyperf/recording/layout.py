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
_SIDES = ("good", "bad")


def is_recording(path: Path) -> bool:
    """Whether the folder looks like a recording to open; `removal` asks for more before it removes one."""
    kept = (path / MANIFEST).is_file() or (path / RAW / START).is_file()
    return path.is_dir() and not path.is_symlink() and kept


def compared_in(folder: Path) -> tuple[list[Path], list[Path]]:
    """Good and bad recordings in a folder that `whyperf compare` made, in the order of their numbers.

    Of a deep comparison the zooms, or the sketches where it came no further.
    """
    for phase in ("", "zoom", "sketch"):
        good, bad = (_numbered(folder, f"{side}-{phase}".rstrip("-"), first_is_bare=bool(phase)) for side in _SIDES)
        if good and bad:
            return good, bad
    return _numbered(folder, "good"), _numbered(folder, "bad")


def _numbered(folder: Path, start: str, *, first_is_bare: bool = False) -> list[Path]:
    named = [(path.name.removeprefix(f"{start}-"), path) for path in folder.glob(f"{start}-*")]
    named += [("1", folder / start)] if first_is_bare else []
    return [path for _, path in sorted((int(n), path) for n, path in named if n.isdecimal() and is_recording(path))]


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
