"""One number per function across all runs of a comparison, whatever build, folder or process it ran in.

A name that is unique in its module in every run identifies the function, so that it may move to another file. Where a
name is taken more than once, the end of the file's path and the order of declaration tell the functions apart. Stripped
code is called by its address, which identifies it in the same build only. Between two builds, a function that has gone
and one that has come in its place, between the same neighbours in the same file, are one function with a new name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whyperf.engines.builds import Builds, calls
from whyperf.engines.interpreters import launched_libraries
from whyperf.engines.modules import OWN_ORIGINS, canonical_names
from whyperf.engines.run import Run, column, ints, texts
from whyperf.recording.names.identity import COMPILED_WHILE_RUNNING, FunctionKey, is_named_by_address, name_by_address

UNKNOWN = "[unknown]"

# Where compilers and distributions keep headers and standard libraries: code from there is a part of its caller.
_SYSTEM_HEADERS = ("/usr/include/", "/usr/lib/gcc/", "/usr/lib/llvm", "/usr/lib/clang/", "/usr/local/lib/gcc/")
_STANDARD_LIBRARY_PARTS = ("/rustc/", "/lib/rustlib/src/", "/include/c++/")


@dataclass(frozen=True)
class IndexedFunction:
    key: FunctionKey
    file: str  # as the build recorded it
    own: bool  # the program's own code, not a system library's and not a system header's


@dataclass(frozen=True)
class _Declared:
    module: str
    name: str
    file: str
    line: int
    order: int
    own: bool
    nameless_in: str | None
    """The build-id of the stripped file in which the name is an address."""


class FunctionIndex:
    """Functions seen in any of the runs, numbered; and which number every frame of every run has."""

    def __init__(self, good: Sequence[Run], bad: Sequence[Run]) -> None:
        self.good, self.bad = tuple(good), tuple(bad)
        self.module_names = canonical_names(good, bad)
        runs = (*bad, *good)  # the bad runs' spelling is the one shown
        self.builds = Builds(self.good, self.bad, self.module_names)
        self.upgraded = self._upgraded_libraries(runs)
        self._own_libraries = self.upgraded | launched_libraries(runs)
        seen = {run: self._sampled(run) for run in runs}
        self._shared_names = self._names_taken_twice(runs, seen)
        self.functions: list[IndexedFunction] = []
        self._number: dict[FunctionKey, int] = {}
        self.of_frame: dict[Run, list[int]] = {}
        self.of_row: dict[Run, dict[int, int]] = {}  # by row of the run's functions, sampled ones only
        self.declared_line: dict[Run, dict[int, int]] = {}
        for run in runs:
            self._add(run, seen[run])

    def number(self, key: FunctionKey) -> int | None:
        return self._number.get(key)

    @cached_property
    def own(self) -> list[bool]:
        return [function.own for function in self.functions]

    def called(self, name: str) -> list[int]:
        """Functions that a user may mean by `name`: the full name, else the last part of a qualified one."""
        exact = [number for number, function in enumerate(self.functions) if function.key.name == name]
        return exact or [
            number
            for number, function in enumerate(self.functions)
            if function.key.name.endswith("::" + name) or function.key.name.partition("<")[0] == name
        ]

    def add(self, declared: Set[tuple[str, str]]) -> None:
        """The bad runs' functions of these modules and names, seen or not."""
        names = {name for _, name in declared}
        for run in self.bad:
            for what in self._named(run, names):
                if (what.module, what.name) in declared:
                    key = self._key(run, what)
                    number = self._intern(key, what.file, what.own)
                    self.functions[number] = IndexedFunction(key, what.file, what.own)
                    self.declared_line[run].setdefault(number, what.line)

    def declaration(self, run: Run, number: int) -> tuple[str, int] | None:
        """File and line where a run's build declares a function, seen in the run or not."""
        key = self.functions[number].key
        for what in self._named(run, set(self.builds.names_in(run, key.module, key.name))):
            if what.file and what.line and self._key(run, what) == key:
                return what.file, what.line
        return None

    def exists_in_good(self, number: int) -> bool:
        """Whether the good runs' binaries hold the function, run or not."""
        wanted = self.functions[number].key
        return self.builds.good_has(wanted.module, wanted.name)

    @cached_property
    def compiled_while_running(self) -> set[int]:
        return {
            number for number, function in enumerate(self.functions) if function.key.module == COMPILED_WHILE_RUNNING
        }

    @cached_property
    def called_in_good(self) -> set[tuple[int, int]]:
        """Callers and callees of calls that certainly happened in a good run, seen or not."""
        found: set[tuple[int, int]] = set()
        for run in self.good:
            passed = run.recording.table("passed")
            rows = pc.unique(pa.chunked_array([*passed.column("caller").chunks, *passed.column("callee").chunks]))
            table = run.recording.table("functions").take(rows)
            declared = zip(rows.to_pylist(), self._declarations(table, run), strict=True)
            number = {row: self.number(self._key(run, what)) for row, what in declared}
            for caller, callee in zip(ints(passed, "caller"), ints(passed, "callee"), strict=True):
                if (who := number[caller]) is not None and (whom := number[callee]) is not None:
                    found.add((who, whom))
        return found

    def innermost_frame(self, run: Run, stack: int, function: int) -> int | None:
        """Where a stack is in the function."""
        of_frame = self.of_frame[run]
        while stack >= 0:
            for frame in reversed(run.frame_chain[run.stack_frame[stack]]):
                if of_frame[frame] == function:
                    return frame
            stack = run.stack_parent[stack]
        return None

    @cached_property
    def split_off(self) -> dict[int, set[int]]:
        """By caller, functions that only one of two builds has: in the other the caller may have done their work."""
        found: dict[int, set[int]] = defaultdict(set)
        for run in (*self.bad, *self.good):
            for called, caller in calls(run, self.of_frame[run]):
                key = self.functions[called].key
                if self.builds.only_one_has(key.module, key.name):
                    found[caller].add(called)
        return dict(found)

    def _upgraded_libraries(self, runs: Sequence[Run]) -> frozenset[str]:
        """System libraries that are all that differs: what they do is no longer their callers' doing."""
        origin = {
            name: origin
            for run in runs
            for name, origin in zip(
                self.module_names[run], texts(run.recording.table("modules"), "origin"), strict=True
            )
        }
        different = self.builds.different
        if any(origin[name] in OWN_ORIGINS for name in different):
            return frozenset()
        return frozenset(name for name in different if origin[name] == "system-library")

    def _own_modules(self, run: Run) -> list[bool]:
        origins = texts(run.recording.table("modules"), "origin")
        named = zip(self.module_names[run], origins, strict=True)
        return [origin in OWN_ORIGINS or name in self._own_libraries for name, origin in named]

    def _sampled(self, run: Run) -> dict[int, _Declared]:
        rows = np.unique(column(run.frames, "function"))
        rows = rows[rows >= 0]
        table = run.recording.table("functions").take(pa.array(rows))
        return dict(zip(rows.tolist(), self._declarations(table, run), strict=True))

    def _named(self, run: Run, names: Set[str]) -> list[_Declared]:
        """The run's functions of these names, seen or not."""
        table = run.recording.table("functions")
        wanted = pa.array(sorted(names), pa.string())
        return self._declarations(table.filter(pc.is_in(table.column("name"), value_set=wanted)), run)

    def _declarations(self, table: pa.Table, run: Run) -> list[_Declared]:
        own_module, names = self._own_modules(run), self.module_names[run]
        columns = zip(
            ints(table, "module"),
            texts(table, "name"),
            texts(table, "file"),
            ints(table, "line"),
            ints(table, "order"),
            strict=True,
        )
        found = []
        for module, name, file, line, order in columns:
            own = own_module[module] and not _is_systems(name, file)
            nameless = not file and is_named_by_address(name)
            shown = names[module] + name[name.rindex("+") :] if nameless else name
            build_id = self.builds.ids[run][module] if nameless else None
            shown = self.builds.as_now(run, names[module], shown)
            found.append(_Declared(names[module], shown, file, line, order, own, build_id))
        return found

    def _names_taken_twice(
        self, runs: Sequence[Run], seen: dict[Run, dict[int, _Declared]]
    ) -> dict[tuple[str, str], _ToldApart]:
        """Names that more than one function of a module has, in any run, sampled or not."""
        wanted = {what.name for declared in seen.values() for what in declared.values()}
        places: dict[tuple[str, str], dict[Run, set[tuple[str, int]]]] = defaultdict(
            lambda: {run: set() for run in runs}
        )
        shared: set[tuple[str, str]] = set()
        for run in runs:
            for what in self._named(run, wanted):
                # An inline function of a header may have a row per file that includes it: still one declaration.
                found = places[what.module, what.name][run]
                found.add((what.file, what.line))
                if len(found) > 1 or (what.order and not what.line):
                    shared.add((what.module, what.name))
        return {name: _told_apart(places[name]) for name in shared}

    def _add(self, run: Run, declared: dict[int, _Declared]) -> None:
        lines: dict[int, int] = {}
        by_row: dict[int, int] = {}
        for row, what in declared.items():
            number = self._intern(self._key(run, what), what.file, what.own)
            by_row[row] = number
            lines.setdefault(number, what.line)
        self.declared_line[run] = lines
        self.of_row[run] = by_row
        modules, functions = ints(run.frames, "module"), ints(run.frames, "function")
        offsets = ints(run.frames, "offset")
        debug = texts(run.recording.table("modules"), "debug")
        stripped = [own and known == "none" for own, known in zip(self._own_modules(run), debug, strict=True)]
        self.of_frame[run] = [
            by_row[function] if function >= 0 else self._nameless(run, module, offset, stripped)
            for module, function, offset in zip(modules, functions, offsets, strict=True)
        ]

    def _nameless(self, run: Run, module: int, offset: int, stripped: Sequence[bool]) -> int:
        """Without even unwind tables. In a stripped program its own code; else a stub: a part of its caller."""
        if module < 0:
            return self._intern(FunctionKey("", UNKNOWN, ""), "", own=False)
        name = self.module_names[run][module]
        key = FunctionKey(name, name_by_address(name, offset), self.builds.ids[run][module])
        return self._intern(key, "", stripped[module])

    def _intern(self, key: FunctionKey, file: str, own: bool) -> int:
        number = self._number.setdefault(key, len(self.functions))
        if number == len(self.functions):
            self.functions.append(IndexedFunction(key, file, own))
        return number

    def _key(self, run: Run, what: _Declared) -> FunctionKey:
        if what.nameless_in is not None:
            return FunctionKey(what.module, what.name, what.nameless_in)
        told_apart = self._shared_names.get((what.module, what.name))
        if told_apart is None:
            return FunctionKey(what.module, what.name, "")
        order = told_apart.order[run].get((what.file, what.line), what.order)
        return FunctionKey(what.module, what.name, _path_end(what.file, told_apart.path_parts), order)


@dataclass(frozen=True)
class _ToldApart:
    """How functions of one name are told apart: by so many last parts of the path, then by order of declaration."""

    path_parts: int
    order: dict[Run, dict[tuple[str, int], int]]


def _told_apart(places: dict[Run, set[tuple[str, int]]]) -> _ToldApart:
    order: dict[Run, dict[tuple[str, int], int]] = {}
    for run, found in places.items():
        in_file: dict[str, int] = defaultdict(int)
        order[run] = {}
        for file, line in sorted(found):
            if line:
                order[run][file, line] = in_file[file]
                in_file[file] += 1
    return _ToldApart(max(_parts_needed({file for file, _ in found}) for found in places.values()), order)


def _parts_needed(files: set[str]) -> int:
    parts = 1
    while len({_path_end(file, parts) for file in files}) < len(files) and parts < 32:
        parts += 1
    return parts


def _path_end(file: str, parts: int) -> str:
    return "/".join(file.split("/")[-parts:])


def _is_systems(name: str, file: str) -> bool:
    return name == "_start" or is_system_source(file)


def is_system_source(file: str) -> bool:
    return file.startswith(_SYSTEM_HEADERS) or any(part in file for part in _STANDARD_LIBRARY_PARTS)
