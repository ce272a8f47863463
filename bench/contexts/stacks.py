"""Stacks of a recording as modules and functions."""

from __future__ import annotations

from whyperf.recording.sealed.reader import Recording

Place = tuple[str, str]  # module, function


class StackReader:
    def __init__(self, recording: Recording) -> None:
        self._parent, self._frame = (recording.column("stacks", name) for name in ("parent", "frame"))
        self._module, self._function = (recording.column("frames", name) for name in ("module", "function"))
        self._modules = _names(recording, "modules")
        self._functions = _names(recording, "functions")

    def places(self, node: int) -> list[Place]:
        """Innermost first."""
        places = []
        while node >= 0:
            frame = int(self._frame[node])
            places.append((_at(self._modules, self._module[frame]), _at(self._functions, self._function[frame])))
            node = int(self._parent[node])
        return places


def _names(recording: Recording, table: str) -> list[str]:
    return [str(name) for name in recording.table(table).column("name").to_pylist()]


def _at(names: list[str], row: int) -> str:
    return names[int(row)] if row >= 0 else ""
