"""Remove recordings: only folders that whyperf provably made, and of these only the files that whyperf writes."""

from __future__ import annotations

import json
import os
from fnmatch import fnmatchcase
from pathlib import Path

from whyperf.errors import WhyperfError
from whyperf.recording.layout import LOCK, MANIFEST, OUTPUT, RAW, START
from whyperf.recording.limits import MOST_JSON_BYTES
from whyperf.recording.regular_files import read_regular
from whyperf.recording.tables import TABLES

# Keys that every manifest and every start.json of ours has had since format 1, and that no other tool's has together.
_KEYS = {MANIFEST: {"format", "whyperf", "command", "checksum"}, START: {"format", "whyperf", "command", "sampling"}}

_TABLE_FILES = tuple(f"{table.name}{ending}" for table in TABLES for ending in (".parquet", ".new"))
_SEALED_FILES = (MANIFEST, f"{MANIFEST}.new", *_TABLE_FILES, *OUTPUT)
_RAW_FILES = (
    *(LOCK, START, "log-??????", "rings", "reserve"),
    *("deep.json", "plan", "stream", "valgrind.log"),
    *("trace-facts", "perf.data", "perf.log"),
)


class ForeignFileError(Exception):
    """The folder holds something that whyperf did not write; nothing has been removed."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self.path = path


def is_provably_ours(folder: Path) -> bool:
    """Whether its manifest or start.json has our keys, or, where a recorder died early, all it holds is a raw log."""
    raw = folder / RAW
    if folder.is_symlink() or not folder.is_dir() or raw.is_symlink():
        return False
    return _has_keys(folder / MANIFEST) or _has_keys(raw / START) or _is_abandoned(folder)


def remove_recording(folder: Path) -> None:
    """Remove a recording, or raise ForeignFileError and leave the folder as it is."""
    raw = folder / RAW
    has_raw = raw.is_dir() and not raw.is_symlink()
    in_raw = _own_files(raw, _RAW_FILES) if has_raw else []
    sealed = _own_files(folder, _SEALED_FILES, beside=RAW if has_raw else "")
    # The manifest goes last: a removal that is cut short leaves something that is still known as a recording.
    for path in [*in_raw, *sorted(sealed, key=lambda path: path.name == MANIFEST)]:
        path.unlink()
    if has_raw:
        raw.rmdir()
    folder.rmdir()


def remove_raw(folder: Path) -> None:
    """Remove a sealed recording's raw log, which says nothing that the tables do not; keep what is not ours."""
    raw = folder / RAW
    if raw.is_symlink():
        return
    try:
        for path in _own_files(raw, _RAW_FILES):
            path.unlink(missing_ok=True)
        raw.rmdir()
    except (OSError, ForeignFileError):
        pass  # the recording is sealed and whole, with or without its log


def _own_files(folder: Path, patterns: tuple[str, ...], beside: str = "") -> list[Path]:
    """All files in the folder but `beside`; ForeignFileError at the first that is not one of ours."""
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name == beside:
                continue
            named_as_ours = any(fnmatchcase(entry.name, pattern) for pattern in patterns)
            if not named_as_ours or not entry.is_file(follow_symlinks=False):
                raise ForeignFileError(folder / entry.name)
            found.append(folder / entry.name)
    return found


def _is_abandoned(folder: Path) -> bool:
    try:
        _own_files(folder, OUTPUT, beside=RAW)
        return folder / RAW / LOCK in _own_files(folder / RAW, _RAW_FILES)
    except (OSError, ForeignFileError):
        return False


def _has_keys(path: Path) -> bool:
    try:
        plain = json.loads(read_regular(path, MOST_JSON_BYTES))
    except (OSError, WhyperfError, ValueError, RecursionError):
        return False
    return isinstance(plain, dict) and _KEYS[path.name] <= plain.keys()
