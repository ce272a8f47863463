"""Which functions have another text in the good build's sources than in the bad one's.

Compilers give other code to functions that nobody changed: another constant or an inlined neighbour moves registers.
Where the sources of both builds are there, their text tells which one was changed. Without them nothing is told.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path

from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.transplants.changed import ChangedSource
from whyperf.engines.function_text import FunctionText, function_text
from whyperf.engines.text_diff import differences


class EditedFunctions:
    """Of one module, of which there are two builds."""

    def __init__(self, good: Binary, bad: Binary) -> None:
        self._good, self._bad = _Sources(good), _Sources(bad)
        self._told: dict[ChangedSource, bool] = {}

    def among(self, functions: Collection[ChangedSource]) -> frozenset[ChangedSource]:
        """Functions of the bad build. Empty where none was edited, and where that is not known."""
        return frozenset(one for one in functions if self._is_edited(one))

    def _is_edited(self, function: ChangedSource) -> bool:
        if function not in self._told:
            self._told[function] = self._compared(function)
        return self._told[function]

    def _compared(self, function: ChangedSource) -> bool:
        before = self._good.same_as(function)
        if before is None or before.file == function.file:  # one file cannot hold both texts
            return False
        good, bad = self._good.text(before), self._bad.text(function)
        return bool(good.lines and bad.lines and differences(good, bad))


class _Sources:
    def __init__(self, binary: Binary) -> None:
        self._binary = binary
        self._files: dict[str, Mapping[int, str]] = {}

    @cached_property
    def _by_name(self) -> dict[str, list[ChangedSource]]:
        functions = self._binary.functions
        found: dict[str, list[ChangedSource]] = {}
        for name, file, line in zip(functions.names, functions.files, functions.lines.tolist(), strict=True):
            if file and line:
                found.setdefault(name, []).append(ChangedSource(name, file, line))
        return found

    @cached_property
    def _begins(self) -> dict[str, set[int]]:
        """Where functions begin, by file."""
        found: dict[str, set[int]] = {}
        for every in self._by_name.values():
            for one in every:
                found.setdefault(one.file, set()).add(one.line)
        return found

    def same_as(self, other: ChangedSource) -> ChangedSource | None:
        """The function of that name in a file of that name; None where there is none, or several."""
        named = [one for one in self._by_name.get(other.name, ()) if Path(one.file).name == Path(other.file).name]
        return named[0] if len(named) == 1 else None

    def text(self, function: ChangedSource) -> FunctionText:
        others = self._begins.get(function.file, set()) - {function.line}
        return function_text(self._lines(function.file), function.line, others)

    def _lines(self, file: str) -> Mapping[int, str]:
        """Empty where the file is gone, or was written after the build."""
        if file not in self._files:
            self._files[file] = self._read(Path(file))
        return self._files[file]

    def _read(self, file: Path) -> Mapping[int, str]:
        try:
            if file.stat().st_mtime > Path(self._binary.path).stat().st_mtime:
                return {}
            # Not by splitlines(): to a compiler a form feed, which GNU's sources are full of, ends no line.
            return dict(enumerate(file.read_text(errors="replace").split("\n"), 1))
        except OSError:
            return {}
