"""What `--component` narrows reading to: programs and libraries, source files and folders, or functions."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase, translate
from functools import cached_property
from pathlib import Path

_Matches = Callable[[str], re.Match[str] | None]


@dataclass(frozen=True)
class Components:
    """Globs; none of them: everything. `*` also matches slashes, and the beginning of a path may be left out."""

    globs: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.globs)

    def of_module(self, path: str) -> set[str]:
        """The globs that mean this program or library."""
        return {glob for glob in self.globs if fnmatchcase(path, glob) or fnmatchcase(Path(path).name, glob)}

    def of_source(self, names: Sequence[str], files: Iterable[str]) -> set[str]:
        """The globs that mean one of these functions or files."""
        distinct = set(files)
        return {
            glob
            for glob, function, file in self._patterns
            if any(map(file, distinct)) or any(function(name) for name in names)
        }

    def hold(self, function: str, file: str) -> bool:
        return any(named(function) or lies(file) for _, named, lies in self._patterns)

    def folder(self, tables: Path) -> Path:
        """Where the tables are that a process narrowed to these may use: not those of other recordings."""
        if not self.globs:
            return tables
        return tables / f"only-{hashlib.sha256(repr(sorted(self.globs)).encode()).hexdigest()[:16]}"

    @cached_property
    def _patterns(self) -> list[tuple[str, _Matches, _Matches]]:
        return [
            (
                glob,
                re.compile(rf"(?:.*::)?{translate(glob)}").match,
                re.compile(rf"(?:.*/)?{translate(glob.removeprefix('./'))}").match,
            )
            for glob in self.globs
        ]
