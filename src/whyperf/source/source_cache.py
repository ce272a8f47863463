"""What was read of a source file, kept by its content: one JSON file each, what was not found included.

Headers are no part of the key: they hardly ever change what a function does with its variables.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from whyperf.source.reading import rows_of_uses, uses_of_rows
from whyperf.source.uses import Uses, Wanted

_FORMAT = 3
"""Changes whenever other roles come out of the same source."""
_BYTES_MAX = 64 << 20
Found = dict[Wanted, Uses | None]
"""None: no such function in the file."""


def reader_key(flags: Sequence[str] | None, language: str) -> str:
    """By which reader, and how: None for the grammar."""
    if flags is None:
        return f"syntax {language}"
    return f"semantics {hashlib.sha256(json.dumps(list(flags)).encode()).hexdigest()[:16]}"


def load(folder: Path | None, content_hash: str) -> dict[str, Found]:
    """By reader; empty where nothing is kept that can be trusted."""
    if folder is None:
        return {}
    try:
        kept = json.loads((folder / f"{content_hash}.json").read_bytes())
        if kept["format"] != _FORMAT:
            return {}
        return {
            str(reader): {_wanted(key): None if rows is None else uses_of_rows(rows) for key, rows in functions.items()}
            for reader, functions in kept["readers"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def store(folder: Path | None, content_hash: str, readers: Mapping[str, Found]) -> None:
    if folder is None:
        return
    content = {
        "format": _FORMAT,
        "readers": {
            reader: {
                f"{line} {name}": None if uses is None else rows_of_uses(uses) for (line, name), uses in found.items()
            }
            for reader, found in readers.items()
        },
    }
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, aside = tempfile.mkstemp(dir=folder, prefix=".new-")
        try:
            with os.fdopen(descriptor, "w") as file:
                json.dump(content, file)
            Path(aside).replace(folder / f"{content_hash}.json")
        except OSError:
            Path(aside).unlink()


def drop_oldest(folder: Path | None) -> None:
    if folder is None:
        return
    with contextlib.suppress(OSError):
        entries = [(entry.stat(), entry.path) for entry in os.scandir(folder)]
        total = 0
        for status, path in sorted(entries, key=lambda entry: -entry[0].st_mtime):
            total += status.st_size
            if total > _BYTES_MAX:
                Path(path).unlink()


def _wanted(key: str) -> Wanted:
    line, _, name = key.partition(" ")
    return int(line), name
