"""Programs that merely start a library: interpreters and virtual machines, such as Ruby and Java.

Time in system libraries is their callers' doing. Where the caller is nothing but a program's first function, of which
not even lines are known, that says nothing: then the library is the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from whyperf.engines.run import Run, ints, texts
from whyperf.recording.identity import without_version
from whyperf.recording.tables import Clock

_MOSTLY = 0.5
_NONE, _SEVERAL = -1, -2


def launched_libraries(runs: Sequence[Run], own_origins: frozenset[str]) -> set[str]:
    """The file names of such libraries, if the runs spent most of their CPU time in them."""
    if any(_has_lines(run) for run in runs):
        return set()
    found: set[str] = set()
    spent, total = 0.0, 0.0
    for run in runs:
        for libraries, seconds in _by_stack(run, own_origins):
            total += seconds
            if libraries:
                spent += seconds
                found |= libraries
    return found if spent > _MOSTLY * total else set()


def _has_lines(run: Run) -> bool:
    modules = run.recording.table("modules")
    columns = zip(texts(modules, "origin"), texts(modules, "debug"), strict=True)
    return any(origin == "program" and debug == "full" for origin, debug in columns)


def _by_stack(run: Run, own_origins: frozenset[str]) -> Iterator[tuple[frozenset[str], float]]:
    """For each stack the libraries that a single function called there, or a thread of their own; and its seconds."""
    modules = run.recording.table("modules")
    origins, names = (texts(modules, name) for name in ("origin", "name"))
    frame_module, frame_function = ints(run.frames, "module"), ints(run.frames, "function")
    known: dict[int, tuple[int, frozenset[str]]] = {_NONE: (_NONE, frozenset())}

    @cache
    def together(libraries: frozenset[str], one: str) -> frozenset[str]:
        return libraries | {one}

    def entered(stack: int) -> tuple[int, frozenset[str]]:
        """The only one of the program's own functions on the stack, and the libraries on it."""
        todo = []
        while stack not in known:
            todo.append(stack)
            stack = run.stack_parent[stack]
        for at in reversed(todo):
            function, libraries = known[run.stack_parent[at]]
            frame = run.stack_frame[at]
            module = frame_module[frame]
            outermost = run.stack_parent[at] == _NONE  # _start, which calls the first
            if module >= 0 and origins[module] in own_origins and not outermost:
                alone = function in (_NONE, frame_function[frame])
                function = frame_function[frame] if alone else _SEVERAL
            elif module >= 0 and origins[module] == "system-library":
                libraries = together(libraries, without_version(names[module]))
            known[at] = (function, libraries)
        return known[todo[0]] if todo else known[stack]

    time = run.time(Clock.CPU)
    for stack, seconds in zip(time.stack.tolist(), time.seconds.tolist(), strict=True):
        function, libraries = entered(stack)
        yield libraries if function != _SEVERAL else frozenset(), seconds
