"""Variables tables of the programs and libraries that run: made before the target starts, and for what it loads later.

Only what the user builds is read: system libraries' variables say little about a difference between two runs.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from whyperf.collect.sampling.components import Components
from whyperf.collect.target.module_layers import is_system_library

# Read in a second or two; nobody wants to wait longer for a program to start.
_AT_ONCE_BYTES = 32 << 20


class VariablesTables:
    """Makes each table once, in `folder`; where components narrow what is read, watched processes find only links to
    the tables wanted, in a folder of the components' own."""

    def __init__(self, folder: Path, sampler: Path, components: Components) -> None:
        self._folder = folder
        self._sampler = str(sampler)
        self._components = components
        self._done: set[str] = set()
        self._matched: set[str] = set()

    def prepare(self, program: str) -> None:
        """The program that is about to start, so that its first sample has values; large ones get theirs later."""
        from whyperf.debuginfo.elf_files.elf import read_elf
        from whyperf.debuginfo.variable_tables.making import table_file

        elf = read_elf(Path(program))
        if elf is None:
            return
        at_once = table_file(self._folder, elf.build_id).exists() or Path(program).stat().st_size <= _AT_ONCE_BYTES
        if at_once or self._components:
            self.take_in([(program, bytes.fromhex(elf.build_id))])

    def take_in(self, modules: Iterable[tuple[str, bytes]]) -> bool:
        """Paths and build-ids of what is mapped; whether there is a new table. May take seconds."""
        from whyperf.debuginfo.variable_tables.making import write_table

        made = False
        for path, build_id in self.new_among(modules):
            self._done.add(build_id)
            if not self._components:
                made |= write_table(path, build_id, self._folder) is not None
            elif self._meant(path, build_id):
                made |= write_table(path, build_id, self._folder) is not None and self._link(build_id)
        return made

    def new_among(self, modules: Iterable[tuple[str, bytes]]) -> list[tuple[str, str]]:
        """Paths and build-ids of those that nobody has looked at yet."""
        named = {(path, identity.hex()) for path, identity in modules if identity}
        return sorted((path, build_id) for path, build_id in named if build_id not in self._done and self._wanted(path))

    @property
    def unmatched(self) -> list[str]:
        """Components that mean nothing of what was looked at so far."""
        return [glob for glob in self._components.globs if glob not in self._matched]

    def _wanted(self, path: str) -> bool:
        if self._components.of_module(path):
            return True
        return not path.startswith("[") and not is_system_library(path) and path != self._sampler

    def _meant(self, path: str, build_id: str) -> bool:
        from whyperf.debuginfo.describe import describe

        functions = describe(path, build_id).functions
        meant = self._components.of_module(path) | self._components.of_source(functions.names, functions.files)
        self._matched |= meant
        return bool(meant)

    def _link(self, build_id: str) -> bool:
        from whyperf.debuginfo.variable_tables.making import table_file
        from whyperf.debuginfo.variable_tables.table import names_file

        table, narrowed = table_file(self._folder, build_id), self._components.folder(self._folder)
        try:
            narrowed.mkdir(mode=0o700, exist_ok=True)
            for file in (names_file(table), table):  # names first: whoever sees the table finds them
                linked = narrowed / file.name
                if not linked.exists() or not linked.samefile(file):
                    aside = linked.with_suffix(f".new-{os.getpid()}")
                    with contextlib.suppress(FileNotFoundError):
                        aside.unlink()
                    aside.hardlink_to(file)
                    aside.replace(linked)
        except OSError:
            return False
        return True
