"""Whether two builds agree on how a function is called and how the structures that it knows of lie in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from whyperf.debuginfo.code_maps.extraction import ReadingEnd, extract_layouts
from whyperf.debuginfo.describe import DEBUG_FOLDERS

_VOID = "void"


@dataclass(frozen=True)
class Parameter:
    type: str
    name: str
    place: str
    """At the function's entry; `?`: not known."""


@dataclass(frozen=True)
class Layouts:
    """What the debug information says of a function."""

    result: str
    parameters: tuple[Parameter, ...]
    structures: Mapping[str, Set[str]]
    """Layouts by name: two source files may have different structures of one name."""

    @property
    def returns_nothing(self) -> bool:
        return self.result == _VOID

    def fits_registers(self, most: int) -> bool:
        """Nothing is passed on the stack: as many parameters, and none of them a structure."""
        return len(self.parameters) <= most and all(_is_simple(one.type) for one in self.parameters)


def _is_simple(kind: str) -> bool:
    return kind.startswith("*") or "/" in kind


def read_layouts(path: Path, entries: Sequence[int]) -> dict[int, Layouts]:
    """By address, as far as the debug information knows the functions."""
    found = extract_layouts(str(path), path.stat().st_size, DEBUG_FOLDERS, entries)
    if found.end is not ReadingEnd.DONE:
        return {}
    lines = found.columns["layouts.bytes"].tobytes().decode(errors="replace").splitlines()
    starts = [row for row, line in enumerate(lines) if line.startswith("F ")]
    ends = [*starts[1:], len(lines)]
    return dict(_function(lines[start:end]) for start, end in zip(starts, ends, strict=False))


def _function(lines: list[str]) -> tuple[int, Layouts]:
    address, result, *parameters = lines[0].removeprefix("F ").split("\t")
    structures: dict[str, set[str]] = {}
    for line in lines[1:]:
        name, _, layout = line.removeprefix("T ").partition("\t")
        structures.setdefault(name, set()).add(layout)
    return int(address, 16), Layouts(result, tuple(map(_parameter, parameters)), structures)


def _parameter(text: str) -> Parameter:
    kind, name, place = text.rsplit(" ", 2)
    return Parameter(kind, name, place)


def called_alike(one: Layouts, other: Layouts, *, is_clone: bool) -> bool:
    """A clone need not have all parameters of its source, nor in their order: then their places must agree too."""
    if one.result != other.result or len(one.parameters) != len(other.parameters):
        return False
    return all(
        mine.type == theirs.type and (not is_clone or mine == theirs)
        for mine, theirs in zip(one.parameters, other.parameters, strict=True)
    )


def different_structure(one: Layouts, others: Iterable[Layouts]) -> str | None:
    """The name of a structure that lies in memory differently in all of the others that have it."""
    theirs: dict[str, set[str]] = {}
    for other in others:
        for name, layouts in other.structures.items():
            theirs.setdefault(name, set()).update(layouts)
    common = sorted(one.structures.keys() & theirs.keys())
    return next((name for name in common if one.structures[name] - theirs[name]), None)
