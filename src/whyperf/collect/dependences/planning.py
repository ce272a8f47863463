"""What the tool shall watch: every function of a sketch, the planned ones of a zoom."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import numpy.typing as npt

from whyperf.collect.dependences.heap import heap_entries, heap_use
from whyperf.collect.dependences.instruments import (
    HeapUse,
    Instruments,
    Mode,
    WatchedFunction,
    WatchedModule,
    WatchedVariable,
)
from whyperf.collect.dependences.loaded import LoadedFile
from whyperf.collect.dependences.variables import find_variable
from whyperf.debuginfo import Binary
from whyperf.debuginfo.code_map import ScopeKind
from whyperf.debuginfo.flow import parts_with_fragments
from whyperf.debuginfo.places import out_of_line_scopes
from whyperf.errors import WhyperfError
from whyperf.recording.identity import FunctionKey, is_named_by_address, without_version
from whyperf.recording.symptom import SymptomKind, SymptomSpec, is_file
from whyperf.recording.zoom import ZoomPlan

# The C library's own functions are passed over: their work counts as their callers'.
_NOT_SKETCHED = ("libc", "vdso")
_OFFERED = 3


def sketch_instruments(files: Sequence[LoadedFile], symptom: SymptomSpec | None = None) -> Instruments:
    """Every function's calls; of a variable that is the symptom also who changes it."""
    functions: list[WatchedFunction] = []
    for number, file in enumerate(files):
        heap = _heap_scopes(file.binary)
        every = [] if file.origin in _NOT_SKETCHED else entered_scopes(file.binary).tolist()
        functions += [
            _watched(number, file.binary, scope, Mode.ENTRIES, heap.get(scope, HeapUse.NONE))
            for scope in sorted({*every, *heap})
        ]
    return _instruments(files, functions, _watched_variables(files, symptom) if symptom is not None else ())


def zoom_instruments(files: Sequence[LoadedFile], plan: ZoomPlan) -> Instruments:
    """Every instruction of the planned functions, wherever they are; refuses a plan of which nothing is there."""
    chosen = {
        (n, s) for key in plan.functions for n in _files_meant(files, key) for s in _scopes_of(files[n].binary, key)
    }
    if not chosen:
        raise _nothing_planned(files, plan)
    heap: dict[tuple[int, int], HeapUse] = {}
    if plan.spec.kind is SymptomKind.MEMORY:
        heap = {(n, scope): use for n, file in enumerate(files) for scope, use in _heap_scopes(file.binary).items()}
    functions = [
        _watched(
            n,
            files[n].binary,
            scope,
            Mode.ZOOM if (n, scope) in chosen else Mode.PASS,
            heap.get((n, scope), HeapUse.NONE),
        )
        for n, scope in sorted(chosen | heap.keys())
    ]
    return _instruments(files, functions, _watched_variables(files, plan.spec), values_pass=True)


def check_symptom(files: Sequence[LoadedFile], symptom: SymptomSpec) -> None:
    """Refuses what is nowhere in the program, and offers what is called alike, before anything runs."""
    own = [file.binary for file in files if file.origin not in _NOT_SKETCHED]
    if symptom.kind is SymptomKind.FUNCTION and not any(binary.function_at(symptom.name) for binary in own):
        names = {name for binary in own for name in binary.functions.names if not is_named_by_address(name)}
        raise _unknown("function", symptom.name, names, files, "function")
    if symptom.kind is SymptomKind.VARIABLE:
        _watched_variables(files, symptom)
    if symptom.kind is SymptomKind.LINE:
        _check_line(own, symptom)


def _check_line(binaries: Iterable[Binary], symptom: SymptomSpec) -> None:
    lines: set[int] = set()
    files: set[str] = set()
    for binary in binaries:
        code = binary.code
        mine = [row for row, file in enumerate(code.files) if is_file(file, symptom.name)]
        files |= {file for file in code.files if Path(file).name}
        lines |= set(np.unique(code.row_line[np.isin(code.row_file, mine)]).tolist())
    lines.discard(0)
    if not lines:
        offered = get_close_matches(Path(symptom.name).name, sorted({Path(file).name for file in files}), _OFFERED)
        raise WhyperfError(
            f"No code of the program comes from a source file {symptom.name}{_nearest(offered)}.",
            f"whyperf compare --deep --symptom line:{offered[0] if offered else 'FILE'}:{symptom.line} ...",
        )
    if symptom.line not in lines:
        nearest = min(lines, key=lambda line: (abs(line - symptom.line), line))
        raise WhyperfError(
            f"No code comes from line {symptom.line} of {symptom.name}; the nearest line with code is {nearest}.",
            f"whyperf compare --deep --symptom line:{symptom.name}:{nearest} ...",
        )


def functions_of_line(files: Sequence[LoadedFile], symptom: SymptomSpec) -> tuple[FunctionKey, ...]:
    """The functions whose code comes from the line."""
    found: list[FunctionKey] = []
    for file in files:
        code = file.binary.code
        mine = [row for row, name in enumerate(code.files) if is_file(name, symptom.name)]
        rows = np.flatnonzero((code.row_line == symptom.line) & np.isin(code.row_file, mine))
        scopes = out_of_line_scopes(code, code.row_address[rows])
        module = without_version(Path(file.binary.path).name)
        functions = np.unique(code.scope_function[scopes[scopes >= 0]]).tolist()
        found += [FunctionKey(module, code.function_name[function], "") for function in functions]
    return tuple(found)


def entered_scopes(binary: Binary) -> npt.NDArray[np.int64]:
    """Out-of-line functions; of those that share their code, the one by which its addresses are called."""
    code = binary.code
    whole = (code.scope_kind == ScopeKind.FUNCTION) | (code.scope_kind == ScopeKind.SYMBOL)
    chosen = np.flatnonzero((code.scope_parent < 0) & whole)
    named: npt.NDArray[np.int64] = chosen[out_of_line_scopes(code, code.scope_entry[chosen]) == chosen]
    return named


def _files_meant(files: Sequence[LoadedFile], key: FunctionKey) -> list[int]:
    """Files by their name; one that none of them has is that of the other side's program."""
    named = [n for n, file in enumerate(files) if without_version(Path(file.binary.path).name) == key.module]
    return named or [0]


def _scopes_of(binary: Binary, key: FunctionKey) -> list[int]:
    """The out-of-line scopes that hold a function's code: its own, or those into which it was inlined."""
    code = binary.code
    named = code.function_name.find(key.name)
    fitting = [
        row for row in named.tolist() if not key.file or key.file == binary.build_id or _declared(binary, row, key)
    ]
    scopes = np.flatnonzero(np.isin(code.scope_function, fitting))
    outer = np.where(code.scope_parent >= 0, code.scope_parent, -1)
    reached = scopes
    while (inside := outer[reached] >= 0).any():
        reached = np.where(inside, outer[reached], reached)
    return [int(scope) for scope in np.intersect1d(reached, entered_scopes(binary))]


def _declared(binary: Binary, row: int, key: FunctionKey) -> bool:
    return is_file(binary.functions.files[row], key.file)


def _heap_scopes(binary: Binary) -> dict[int, HeapUse]:
    entries = heap_entries(binary).items()
    return {scope: heap_use(name) for entry, name in entries if (scope := binary.scope_entered_at(entry)) >= 0}


def _watched(module: int, binary: Binary, scope: int, mode: Mode, heap: HeapUse) -> WatchedFunction:
    ranges = parts_with_fragments(binary.code, scope).ranges
    return WatchedFunction(module, int(binary.code.scope_entry[scope]), ranges, mode, heap)


def _instruments(
    files: Sequence[LoadedFile],
    functions: Sequence[WatchedFunction],
    variables: Sequence[WatchedVariable] = (),
    *,
    values_pass: bool = False,
) -> Instruments:
    modules = tuple(WatchedModule(Path(file.binary.path).name, file.binary.build_id) for file in files)
    return Instruments(modules, tuple(functions), tuple(variables), values_pass)


def _watched_variables(files: Sequence[LoadedFile], symptom: SymptomSpec) -> tuple[WatchedVariable, ...]:
    if symptom.kind is not SymptomKind.VARIABLE:
        return ()
    known: set[str] = set()
    functions: list[str] = []
    for number, file in enumerate(files):
        if file.origin in _NOT_SKETCHED:
            continue
        found = find_variable(file.binary, symptom.name)
        if found.places:
            return tuple(WatchedVariable(number, place.address, place.size) for place in found.places)
        known |= found.others
        functions += found.locals_of
    if functions:
        raise WhyperfError(
            f"{symptom.name} is a local variable of {functions[0]}: it is in a register or on the stack, and what can "
            "be watched are globals and statics. Name the line that changes it instead.",
            "whyperf compare --deep --symptom line:FILE:LINE ...",
        )
    raise _unknown("global or static variable", symptom.name, known, files, "var")


def _unknown(what: str, name: str, known: set[str], files: Sequence[LoadedFile], kind: str) -> WhyperfError:
    program = Path(files[0].binary.path).name
    offered = get_close_matches(name, sorted(known), _OFFERED)
    poor = not offered and files[0].binary.debug != "full"
    hint = f" {files[0].binary.missing_debug_hint()}" if poor else ""
    again = f"whyperf compare --deep --symptom {kind}:{shlex.quote(offered[0]) if offered else 'NAME'} ..."
    return WhyperfError(f"{program} has no {what} {name}{_nearest(offered)}.{hint}", again)


def _nearest(names: Sequence[str]) -> str:
    if len(names) < 2:
        return "".join(f"; the nearest name is {name}" for name in names)
    return f"; the nearest names are {', '.join(names[:-1])} and {names[-1]}"


def _nothing_planned(files: Sequence[LoadedFile], plan: ZoomPlan) -> WhyperfError:
    first = plan.functions[0]
    return WhyperfError(
        f"None of the {len(plan.functions)} planned functions ({first.name} of {first.module} and so on) is in "
        f"{Path(files[0].binary.path).name} or its libraries: the plan belongs to another program or build.",
        "whyperf diagnose GOOD BAD",
    )
