"""Remove recordings: only folders that whyperf provably made, and of these only the files that whyperf writes."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from whyperf.errors import WhyperfError
from whyperf.recording.layout import LOCK, MANIFEST, OUTPUT, RAW, START
from whyperf.recording.safe_files.limits import MOST_JSON_BYTES
from whyperf.recording.safe_files.regular_files import read_regular
from whyperf.recording.schemas.tables import TABLES

# Keys that every manifest and every start.json of ours has had since format 1, and that no other tool's has together.
_KEYS = {MANIFEST: {"format", "whyperf", "command", "checksum"}, START: {"format", "whyperf", "command", "sampling"}}


@dataclass(frozen=True)
class _Known:
    """What a folder of ours holds."""

    files: tuple[str, ...]
    folders: Mapping[str, _Known] = field(default_factory=dict)


_RAW_LOG = _Known(
    (
        *(LOCK, START, "log-??????", "rings", "reserve"),
        *("deep.json", "plan", "stream", "valgrind.log"),
        *("trace-facts", "perf.data", "perf.log", "before-ready", "before-ready.json"),
    ),
    {"counters": _Known(("*.counts",)), "plans": _Known(("*.plan",)), "allocators": _Known(("*.plan",))},
)
_TABLES = tuple(f"{table.name}{ending}" for table in TABLES for ending in (".parquet", ".new"))
_RECORDING = _Known((MANIFEST, f"{MANIFEST}.new", *_TABLES, *OUTPUT), {RAW: _RAW_LOG})
_ABANDONED = _Known(OUTPUT, {RAW: _RAW_LOG})  # by a recorder that died before it began


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
    # The manifest goes last: a removal that is cut short leaves something that is still known as a recording.
    _remove(sorted(_own(folder, _RECORDING), key=lambda path: path == folder / MANIFEST))
    folder.rmdir()


def remove_raw(folder: Path) -> None:
    """Remove a sealed recording's raw log, which says nothing that the tables do not; keep what is not ours."""
    raw = folder / RAW
    if raw.is_symlink():
        return
    # If that fails the recording is sealed and whole, with or without its log.
    with contextlib.suppress(OSError, ForeignFileError):
        _remove(_own(raw, _RAW_LOG))
        raw.rmdir()


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        if path.is_dir():
            path.rmdir()
        else:
            path.unlink(missing_ok=True)


def _own(folder: Path, known: _Known) -> list[Path]:
    """All that lies in the folder, each folder after what is in it; ForeignFileError at the first that is not ours."""
    found: list[Path] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            path = folder / entry.name
            if entry.name in known.folders and entry.is_dir(follow_symlinks=False):
                found += [*_own(path, known.folders[entry.name]), path]
            elif any(fnmatchcase(entry.name, name) for name in known.files) and entry.is_file(follow_symlinks=False):
                found.append(path)
            else:
                raise ForeignFileError(path)
    return found


def _is_abandoned(folder: Path) -> bool:
    try:
        return folder / RAW / LOCK in _own(folder, _ABANDONED)
    except (OSError, ForeignFileError):
        return False


def _has_keys(path: Path) -> bool:
    try:
        plain = json.loads(read_regular(path, MOST_JSON_BYTES))
    except (OSError, WhyperfError, ValueError, RecursionError):
        return False
    return isinstance(plain, dict) and _KEYS[path.name] <= plain.keys()
