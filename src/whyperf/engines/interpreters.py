"""Programs that merely start a library: interpreters and virtual machines, such as Ruby and Java.

Time in system libraries is their callers' doing. Where the caller is nothing but a program's first function, of which
not even lines are known, that says nothing: then the library is the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from whyperf.engines.modules import OWN_ORIGINS
from whyperf.engines.run import Run, ints, texts
from whyperf.recording.names.identity import without_version
from whyperf.recording.schemas.tables import Clock

_MOSTLY = 0.5
_NONE, _SEVERAL = -1, -2


def launched_libraries(runs: Sequence[Run]) -> set[str]:
    """The file names of such libraries, if the runs spent most of their CPU time in them."""
    if any(_has_lines(run) for run in runs):
        return set()
    found: set[str] = set()
    spent, total = 0.0, 0.0
    for run in runs:
        for libraries, seconds in _by_stack(run):
            total += seconds
            if libraries:
                spent += seconds
                found |= libraries
    return found if spent > _MOSTLY * total else set()


def _has_lines(run: Run) -> bool:
    modules = run.recording.table("modules")
    columns = zip(texts(modules, "origin"), texts(modules, "debug"), strict=True)
    return any(origin == "program" and debug == "full" for origin, debug in columns)


def _by_stack(run: Run) -> Iterator[tuple[frozenset[str], float]]:
    """For each stack the libraries that a single function called there, or a thread of their own; and its seconds."""
    modules = run.recording.table("modules")
    origins, names = (texts(modules, name) for name in ("origin", "name"))
    frame_module, frame_function = ints(run.frames, "module"), ints(run.frames, "function")
    # By node, parents first: the only one of the program's own functions on the stack, and the libraries on it.
    own: list[int] = []
    libraries: list[frozenset[str]] = []

    @cache
    def together(some: frozenset[str], one: str) -> frozenset[str]:
        return some | {one}

    for parent, frame in zip(run.stack_parent, run.stack_frame, strict=True):
        outermost = parent == _NONE  # _start, which calls the first
        function, found = (_NONE, frozenset[str]()) if outermost else (own[parent], libraries[parent])
        module = frame_module[frame]
        if module >= 0 and origins[module] in OWN_ORIGINS and not outermost:
            alone = function in (_NONE, frame_function[frame])
            function = frame_function[frame] if alone else _SEVERAL
        elif module >= 0 and origins[module] == "system-library":
            found = together(found, without_version(names[module]))
        own.append(function)
        libraries.append(found)
    time = run.time(Clock.CPU)
    for stack, seconds in zip(time.stack.tolist(), time.seconds.tolist(), strict=True):
        yield libraries[stack] if stack >= 0 and own[stack] != _SEVERAL else frozenset(), seconds
