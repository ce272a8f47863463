"""Variables that the user wants watched: hardware breakpoints on them in every process that has them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from whyperf.debuginfo.named_symbols import NamedSymbol, data_symbols

if TYPE_CHECKING:
    from whyperf.collect._tracer import Tracer

_WIDEST = 8


class WatchedFlags:
    def __init__(self, names: Sequence[str]) -> None:
        self._names = frozenset(names)
        self._symbols: dict[str, tuple[NamedSymbol, ...]] = {}  # by file
        self._watched: set[tuple[int, int]] = set()  # process, address
        self._seen: set[str] = set()
        self._failure = ""

    def met(self, tracer: Tracer, pid: int, modules: Iterable[tuple[int, int, int, int, str, str, int]]) -> None:
        """Watches what the files mapped by a process define; threads that it starts later are watched too."""
        if not self._names:
            return
        for _, _, _, bias, _, path, _ in modules:
            for symbol in self._defined(path):
                if (pid, bias + symbol.address) not in self._watched:
                    self._watched.add((pid, bias + symbol.address))
                    self._watch(tracer, pid, bias + symbol.address, symbol)

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
            self._seen.add(symbol.name)
        except (FileNotFoundError, ProcessLookupError):
            return  # it has ended
        except OSError as error:
            self._failure = f"{symbol.name} could not be watched: {error.strerror}."

    def notes(self) -> list[str]:
        """What the user should know of variables that were asked for in vain."""
        missing = sorted(self._names - self._seen)
        if self._failure:
            return [self._failure]
        return [f"No program has a variable {name}: static ones of stripped files have no names." for name in missing]


def watched_bytes(address: int, size: int) -> int:
    """A breakpoint is of 1, 2, 4 or 8 bytes, and lies on a multiple of that."""
    width = _WIDEST
    while width > 1 and (width > size or address % width):
        width //= 2
    return width
