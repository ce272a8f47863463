"""Variables that the user wants watched: hardware breakpoints on them in every process that has them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from whyperf.collect.tracer.traced import Records
from whyperf.debuginfo.elf_files.named_symbols import NamedSymbol, data_symbols
from whyperf.recording.schemas.events import EventKind

if TYPE_CHECKING:
    from whyperf.collect._tracer import Tracer

_WIDEST = 8


class WatchedFlags:
    def __init__(self, names: Sequence[str]) -> None:
        self._names = frozenset(names)
        self._symbols: dict[str, tuple[NamedSymbol, ...]] = {}  # by file
        self._met: set[tuple[int, int]] = set()  # process, address
        self._watched: set[tuple[str, int]] = set()  # name, address: that of another in another process
        self._failures: dict[str, str] = {}
        self._written: set[int] = set()  # addresses

    def met(self, tracer: Tracer, pid: int, modules: Iterable[tuple[int, int, int, int, str, str, int]]) -> None:
        """Watches what the files mapped by a process define; threads that it starts later are watched too."""
        if not self._names:
            return
        for _, _, _, bias, _, path, _ in modules:
            for symbol in self._defined(path):
                if (pid, bias + symbol.address) not in self._met:
                    self._met.add((pid, bias + symbol.address))
                    self._watch(tracer, pid, bias + symbol.address, symbol)

    def look(self, records: Records) -> None:
        """Which of them these events are writes to."""
        if self._names:
            accesses = records["kind"] == EventKind.FLAG_ACCESS
            self._written.update(records["argument"][accesses, 0].tolist())

    def _defined(self, path: str) -> tuple[NamedSymbol, ...]:
        if path not in self._symbols:
            found = {one.address: one for one in data_symbols(Path(path), self._names)}
            self._symbols[path] = tuple(found.values())
        return self._symbols[path]

    def _watch(self, tracer: Tracer, pid: int, address: int, symbol: NamedSymbol) -> None:
        watched: set[int] = set()
        try:
            # One that was started meanwhile inherits from its starter only if that was watched by then.
            while new := {int(thread.name) for thread in Path(f"/proc/{pid}/task").iterdir()} - watched:
                for thread in new:
                    tracer.watch(thread, address, watched_bytes(address, symbol.size))
                watched |= new
            self._watched.add((symbol.name, address))
        except (FileNotFoundError, ProcessLookupError):
            return  # it has ended
        except OSError as error:
            self._failures[symbol.name] = error.strerror or str(error)

    def notes(self) -> list[str]:
        """What the user should know of variables that were asked for in vain."""
        return [note for name in sorted(self._names) if (note := self._note(name))]

    def _note(self, name: str) -> str:
        if name in self._failures:
            return f"{name} could not be watched: {self._failures[name]}."
        if not any(symbol.name == name for symbols in self._symbols.values() for symbol in symbols):
            return (
                f"No variable {name} was found, so nobody was seen writing it: static ones of stripped files have no "
                "names, and a program that ends at once is not looked into."
            )
        addresses = {address for watched, address in self._watched if watched == name}
        if not addresses:
            return f"{name} was not watched: the processes that have it had ended before it could be."
        return "" if addresses & self._written else f"{name} was watched, and no write to it was seen."


def watched_bytes(address: int, size: int) -> int:
    """A breakpoint is of 1, 2, 4 or 8 bytes, and lies on a multiple of that."""
    width = _WIDEST
    while width > 1 and (width > size or address % width):
        width //= 2
    return width
