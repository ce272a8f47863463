"""Which paths a call may name: those inside the folders that the user gave, links followed."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from whyperf.errors import WhyperfError
from whyperf.recording.layout import is_recording

# Where recordings are looked for.
_DEPTH = 4  # folders below a given one
_MOST_FOLDERS = 20_000  # of each given one


@dataclass(frozen=True)
class Folders:
    roots: tuple[Path, ...]  # resolved; relative paths are relative to the first

    @property
    def first(self) -> Path:
        return self.roots[0]

    def inside(self, text: str) -> Path:
        """The path that `text` means, with all links followed; WhyperfError where it leads out of the folders."""
        try:
            path = (self.first / text).resolve()
        except (OSError, ValueError, RuntimeError):  # a loop of links, a NUL
            raise WhyperfError(f"{text!r} is not a path.", status=2) from None
        if not any(path.is_relative_to(root) for root in self.roots):
            named = ", ".join(map(str, self.roots))
            raise WhyperfError(
                f"{text!r} is outside of the folders that this server may use: {named}. Its user can add others with "
                "--folder.",
                status=2,
            )
        return path

    def directory(self, text: str | None) -> Path:
        path = self.first if text is None else self.inside(text)
        if not path.is_dir():
            raise WhyperfError(f"There is no folder {path}.", f"mkdir -p {shlex.quote(str(path))}", status=2)
        return path

    def recordings(self) -> list[Path]:
        """In the folders, the newest first."""
        return sorted({path for root in self.roots for path in _recordings(root)}, key=_changed, reverse=True)


def folders_of(given: Sequence[Path]) -> Folders:
    for path in given:
        if not path.is_dir():
            raise WhyperfError(f"There is no folder {path}.", f"mkdir -p {shlex.quote(str(path))}", status=2)
    return Folders(tuple(path.resolve() for path in given))


def _recordings(root: Path) -> Iterator[Path]:
    for folder, below, _ in islice(os.walk(root), _MOST_FOLDERS):
        here = Path(folder)
        if is_recording(here):
            below.clear()
            yield here
        elif len(here.relative_to(root).parts) >= _DEPTH:
            below.clear()
        else:
            below[:] = [name for name in below if not name.startswith(".")]


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
