"""Variables tables of the programs and libraries that run: made before the target starts, and for what it loads later.

Only what the user builds is read: system libraries' variables say little about a difference between two runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatch
from pathlib import Path

from whyperf.collect.origins import is_system_library

DEFAULT_DEPTH = 8


class VariablesTables:
    """Makes each table once; `components` are globs of file names or paths that narrow what is read."""

    def __init__(self, folder: Path, sampler: Path, components: tuple[str, ...] = ()) -> None:
        self._folder = folder
        self._sampler = str(sampler)
        self._components = components
        self._done: set[str] = set()

    def prepare(self, program: str) -> bool:
        """The program that is about to start; whether it has variables to read."""
        from whyperf.debuginfo.elf import read_elf

        elf = read_elf(Path(program))
        return elf is not None and self.take_in([(program, bytes.fromhex(elf.build_id))])

    def take_in(self, modules: Iterable[tuple[str, bytes]]) -> bool:
        """Paths and build-ids of what is mapped; whether there is a new table. May take seconds."""
        from whyperf.debuginfo.variables import write_table

        made = False
        for path, build_id in self.new_among(modules):
            self._done.add(build_id)
            made |= write_table(path, build_id, self._folder) is not None
        return made

    def new_among(self, modules: Iterable[tuple[str, bytes]]) -> list[tuple[str, str]]:
        """Paths and build-ids of those that nobody has looked at yet."""
        named = {(path, identity.hex()) for path, identity in modules if identity}
        return sorted((path, build_id) for path, build_id in named if build_id not in self._done and self._wanted(path))

    def _wanted(self, path: str) -> bool:
        if self._components:
            return any(fnmatch(path, glob) or fnmatch(Path(path).name, glob) for glob in self._components)
        return not path.startswith("[") and not is_system_library(path) and path != self._sampler
