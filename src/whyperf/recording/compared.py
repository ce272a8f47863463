"""The folder that `whyperf compare` made: which recordings are in it, and which of them its verdict is of."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from whyperf.errors import WhyperfError
from whyperf.recording.layout import is_recording
from whyperf.recording.safe_files.limits import MOST_JSON_BYTES
from whyperf.recording.safe_files.regular_files import read_regular
from whyperf.recording.safe_files.storage import write_new

COMPARED = "compared.json"
FORMAT = 1
_SIDES = ("good", "bad")
_NAME = re.compile(r"(?:[a-z]+/)?(?:good|bad)-\d+")  # a recording of the first runs, or of a further pass


def compared_in(folder: Path) -> tuple[list[Path], list[Path]]:
    """Good and bad recordings in a folder that `whyperf compare` made: those that its verdict is of, else all of the
    first runs in the order of their numbers.

    Of a deep comparison the zooms, or the sketches where it came no further.
    """
    kept = kept_in(folder)
    if kept is not None:
        good, bad = ([folder / name for name in kept[side]] for side in _SIDES)
        if all(map(is_recording, (*good, *bad))):
            return good, bad
    for phase in ("", "zoom", "sketch"):
        good, bad = (_numbered(folder, f"{side}-{phase}".rstrip("-"), first_is_bare=bool(phase)) for side in _SIDES)
        if good and bad:
            return good, bad
    return _numbered(folder, "good"), _numbered(folder, "bad")


def keep(folder: Path, good: Iterable[Path], bad: Iterable[Path], verdict: Mapping[str, Any]) -> bool:
    """Writes down which recordings in the folder the verdict is of, unless they are others than pairs of runs."""
    sides = [[path.relative_to(folder).as_posix() for path in paths] for paths in (good, bad)]
    if not all(map(_are_names, sides)):
        return False
    plain = {"format": FORMAT, **dict(zip(_SIDES, sides, strict=True)), "verdict": verdict}
    write_new(folder / COMPARED, json.dumps(plain, indent=1).encode())
    return True


def forget(folder: Path) -> None:
    """Before other recordings replace those that a verdict was of."""
    (folder / COMPARED).unlink(missing_ok=True)


def kept_in(folder: Path) -> dict[str, Any] | None:
    """What was written down; None where there is nothing, or a newer whyperf wrote it."""
    path = folder / COMPARED
    try:
        plain = json.loads(read_regular(path, MOST_JSON_BYTES))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
    except (ValueError, RecursionError):
        raise damaged(path) from None
    if not isinstance(plain, dict) or not isinstance(plain.get("format"), int):
        raise damaged(path)
    if plain["format"] > FORMAT:
        return None
    if not all(_are_names(plain.get(side)) for side in _SIDES):
        raise damaged(path)
    return plain


def damaged(path: Path) -> WhyperfError:
    """Without the file, the recordings are judged as if no verdict had been kept."""
    return WhyperfError(f"{path} is damaged.", f"rm {shlex.quote(str(path))}")


def _are_names(value: object) -> bool:
    """Of recordings inside the folder, one or more."""
    if not isinstance(value, list) or not value:
        return False
    return all(isinstance(name, str) and _NAME.fullmatch(name) for name in value)


def _numbered(folder: Path, start: str, *, first_is_bare: bool = False) -> list[Path]:
    named = [(name.removeprefix(f"{start}-"), folder / name) for name in _names(folder) if name.startswith(f"{start}-")]
    named += [("1", folder / start)] if first_is_bare else []
    return [path for _, path in sorted((int(n), path) for n, path in named if n.isdecimal() and is_recording(path))]


def _names(folder: Path) -> list[str]:
    """What is in it. One that may not be read is not taken for an empty one, as `glob` would."""
    try:
        return os.listdir(folder)  # noqa: PTH208 - names are all that is needed
    except (FileNotFoundError, NotADirectoryError):
        return []
