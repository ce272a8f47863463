"""Names of what is on a stack, outside the kernel, worked out once a node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whyperf.engines.arrays import Bools, Int32s
from whyperf.engines.compiled import njit
from whyperf.engines.modules import OWN_ORIGINS
from whyperf.engines.recording_protocol import Recorded
from whyperf.engines.run import column, ints, texts
from whyperf.recording.names.identity import FunctionKey, name_by_address

NAMELESS = "?"
_START = frozenset({"_start", "__libc_start_main", "__libc_start_call_main", "start_thread", "clone", "clone3"})


@dataclass(frozen=True)
class Frame:
    """A place in code."""

    function: str
    module: str
    origin: str  # of the module: program, library, system-library, libc, kernel ...
    file: str
    line: int

    @property
    def key(self) -> FunctionKey:
        return FunctionKey(self.module, self.function, "")

    @property
    def own(self) -> bool:
        return self.origin in OWN_ORIGINS and self.function not in _START


class StackNames:
    def __init__(self, recording: Recorded) -> None:
        self._recording = recording
        self._known: dict[int, tuple[Frame, ...]] = {}

    @cached_property
    def parent(self) -> Int32s:
        return column(self._recording.table("stacks"), "parent")

    @cached_property
    def outside_kernel(self) -> Int32s:
        """By node the innermost one outside the kernel; one more at the end, for node -1."""
        frames = column(self._recording.table("stacks"), "frame")
        modules = np.append(column(self._recording.table("frames"), "module"), np.int32(-1))
        kernel = np.array([*(origin == "kernel" for origin in self._origins), False], np.bool_)
        return _outside(self.parent, kernel[modules[frames]])

    def frames(self, node: int) -> tuple[Frame, ...]:
        """Innermost first, without the kernel's."""
        node = int(self.outside_kernel[node])
        missing = []
        while node >= 0 and node not in self._known:
            missing.append(node)
            node = int(self.parent[node])
        stack = self._known[node] if node >= 0 else ()
        for one in reversed(missing):
            stack = (*self._at(one), *stack)
            self._known[one] = stack
        return stack

    def functions(self, node: int) -> tuple[str, ...]:
        """Names, innermost first, without the kernel's."""
        return tuple(frame.function for frame in self.frames(node))

    def depth(self, node: int) -> int:
        """Frames from the outermost one down to the last outside the C library."""
        frames = self.frames(node)
        inside = next((at for at, frame in enumerate(frames) if frame.origin not in ("libc", "vdso")), len(frames))
        return len(frames) - inside

    def own(self, node: int) -> Frame | None:
        """The innermost place in the program's own code, else outside the C library, else the innermost."""
        frames = self.frames(node)
        own = next((frame for frame in frames if frame.own), None)
        outside = next((frame for frame in frames if frame.origin not in ("libc", "vdso")), None)
        return own or outside or (frames[0] if frames else None)

    def _at(self, node: int) -> Iterator[Frame]:
        """What is at a node, innermost first: an inlined function, then the one it was inlined in."""
        frame = int(self._frame_of_node[node])
        while frame >= 0:
            yield self._frame(frame)
            frame = self._inlined_in[frame]

    def _frame(self, row: int) -> Frame:
        module, function = self._frame_modules[row], self._frame_functions[row]
        module_name = self._module_names[module] if module >= 0 else ""
        if function >= 0:
            name = self._function_names[function].as_py()
        else:
            name = name_by_address(module_name, self._offsets[row]) if module >= 0 else NAMELESS
        origin = self._origins[module] if module >= 0 else "unknown"
        return Frame(str(name), module_name, origin, self._files[row].as_py(), self._lines[row])

    @cached_property
    def _origins(self) -> list[str]:
        return texts(self._recording.table("modules"), "origin")

    @cached_property
    def _module_names(self) -> list[str]:
        return texts(self._recording.table("modules"), "name")

    @cached_property
    def _function_names(self):  # type: ignore[no-untyped-def]
        return self._recording.table("functions").column("name")

    @cached_property
    def _files(self):  # type: ignore[no-untyped-def]
        return self._recording.table("frames").column("file")

    @cached_property
    def _frame_of_node(self) -> Int32s:
        return column(self._recording.table("stacks"), "frame")

    @cached_property
    def _frame_modules(self) -> list[int]:
        return ints(self._recording.table("frames"), "module")

    @cached_property
    def _frame_functions(self) -> list[int]:
        return ints(self._recording.table("frames"), "function")

    @cached_property
    def _inlined_in(self) -> list[int]:
        return ints(self._recording.table("frames"), "inlined_in")

    @cached_property
    def _offsets(self) -> list[int]:
        return ints(self._recording.table("frames"), "offset")

    @cached_property
    def _lines(self) -> list[int]:
        return ints(self._recording.table("frames"), "line")


@njit(cache=True, nogil=True)
def _outside(parent: Int32s, kernel: Bools) -> Int32s:
    found = np.full(len(parent) + 1, -1, np.int32)
    for node in range(len(parent)):
        found[node] = found[parent[node]] if kernel[node] and parent[node] >= 0 else (-1 if kernel[node] else node)
    return found
