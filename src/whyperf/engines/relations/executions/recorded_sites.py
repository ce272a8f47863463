"""One deep recording's sites as columns, with the functions they belong to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np
import pyarrow as pa

from whyperf.engines.arrays import Bools, Int32s, Ints
from whyperf.engines.functions import UNKNOWN, is_system_source
from whyperf.engines.modules import OWN_ORIGINS, canonical_names
from whyperf.engines.relations.executions.catalogue import NONE
from whyperf.engines.run import Run, column, ints, texts
from whyperf.recording.names.identity import FunctionKey, is_named_by_address


@dataclass(frozen=True)
class DeclaredFunction:
    key: FunctionKey
    file: str
    line: int
    own: bool


@dataclass(frozen=True, eq=False)
class InSource:
    """By site: the line of the program's own source that its code is at. Code of the compiler's and the system's
    headers, inlined there, is a part of that line."""

    function: Int32s  # row of the run's functions
    file: tuple[str, ...]
    line: Int32s


@dataclass(frozen=True, eq=False)
class RecordedSites:
    run: Run
    functions: dict[int, DeclaredFunction]  # by row of the run's functions
    build: tuple[str, ...]  # by module: what its offsets mean something in
    module: Int32s
    module_name: tuple[str, ...]  # by module; empty where it is unknown
    offset: Ints
    function: Int32s
    inlined: Int32s
    file: tuple[str, ...]
    line: Int32s
    in_source: InSource
    block: Int32s
    kind: Int32s
    entry: Bools
    copy: Bools
    memory: Int32s
    loop: Int32s

    def __len__(self) -> int:
        return len(self.offset)


def read_sites(good: Sequence[Run], bad: Sequence[Run]) -> dict[Run, RecordedSites]:
    names = canonical_names(good, bad)
    return {run: _read(run, names[run]) for run in (*good, *bad)}


def _read(run: Run, module_names: Sequence[str]) -> RecordedSites:
    table = run.recording.table("sites")
    modules = run.recording.table("modules")
    function, inlined = column(table, "function"), column(table, "inlined")
    in_source = _in_source(run, table)
    wanted = {row for rows in (function, inlined, in_source.function) for row in rows.tolist()}
    return RecordedSites(
        run=run,
        functions=_functions(run, wanted, module_names),
        build=(*texts(modules, "build_id"), ""),
        module=column(table, "module"),
        module_name=(*module_names, ""),  # -1 is the last one
        offset=column(table, "offset"),
        function=function,
        inlined=inlined,
        file=tuple(texts(table, "file")),
        line=column(table, "line"),
        in_source=in_source,
        block=column(table, "block"),
        kind=column(table, "kind"),
        entry=column(table, "entry"),
        copy=column(table, "copy"),
        memory=column(table, "memory"),
        loop=column(table, "loop"),
    )


def _in_source(run: Run, sites: pa.Table) -> InSource:
    """Outwards from the innermost inlined function to the first that no system header declares."""
    inlined, files, line = column(sites, "inlined"), texts(sites, "file"), column(sites, "line").copy()
    frame = column(sites, "frame").copy()
    around, of_frame = (
        np.append(column(run.frames, "inlined_in"), NONE),
        np.append(column(run.frames, "function"), NONE),
    )
    systems = np.append([is_system_source(file) for file in texts(run.recording.table("functions"), "file")], False)
    outer = frame
    while (leaving := systems[of_frame[outer]] & (around[outer] >= 0)).any():
        outer = np.where(leaving, around[outer], outer)
    moved = (outer != frame) & ~systems[of_frame[outer]]
    line[moved] = np.append(column(run.frames, "line"), 0)[outer[moved]]
    frame_file = texts(run.frames, "file")
    for row in np.flatnonzero(moved).tolist():
        files[row] = frame_file[int(outer[row])]
    return InSource(np.where(moved, of_frame[outer], inlined).astype(np.int32), tuple(files), line)


def _functions(run: Run, wanted: set[int], module_names: Sequence[str]) -> dict[int, DeclaredFunction]:
    """A name that its module has once identifies a function wherever it moves; else file and order tell."""
    table = run.recording.table("functions")
    modules, names = ints(table, "module"), texts(table, "name")
    files, lines, orders = texts(table, "file"), ints(table, "line"), ints(table, "order")
    of_modules = run.recording.table("modules")
    build, origin = texts(of_modules, "build_id"), texts(of_modules, "origin")
    taken = Counter({key: len(at) for key, at in _declarations(modules, names, files, lines).items()})
    found = {NONE: DeclaredFunction(FunctionKey("", UNKNOWN, ""), "", 0, own=False)}
    for row in sorted(wanted - {NONE}):
        module, name = modules[row], names[row]
        if is_named_by_address(name) and not files[row]:
            key = FunctionKey(module_names[module], name, build[module])
        elif taken[module, name] > 1:
            key = FunctionKey(module_names[module], name, PurePosixPath(files[row]).name, orders[row])
        else:
            key = FunctionKey(module_names[module], name, "")
        found[row] = DeclaredFunction(key, files[row], lines[row], origin[module] in OWN_ORIGINS)
    return found


def _declarations(
    modules: Sequence[int], names: Sequence[str], files: Sequence[str], lines: Sequence[int]
) -> dict[tuple[int, str], set[tuple[str, int]]]:
    at: dict[tuple[int, str], set[tuple[str, int]]] = {}
    for module, name, file, line in zip(modules, names, files, lines, strict=True):
        at.setdefault((module, name), set()).add((file, line))
    return at
