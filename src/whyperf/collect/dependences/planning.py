"""What the tool shall watch: every function of a sketch, the planned ones of a zoom."""

from __future__ import annotations

from collections.abc import Sequence
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
from whyperf.collect.dependences.symptom_place import NOT_SKETCHED, check_symptom, watched_variables
from whyperf.collect.target.loaded_files import LoadedFile
from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.code_maps.code_map import ScopeKind
from whyperf.debuginfo.code_maps.places import out_of_line_scopes
from whyperf.debuginfo.control_flow.function_flow import parts_with_fragments
from whyperf.errors import WhyperfError
from whyperf.recording.names.identity import FunctionKey, without_version
from whyperf.recording.symptom import SymptomKind, SymptomSpec, is_file
from whyperf.recording.zoom import ZoomPlan


def sketch_instruments(files: Sequence[LoadedFile], symptom: SymptomSpec | None = None) -> Instruments:
    """Every function's calls; of a variable that is the symptom also who changes it."""
    functions: list[WatchedFunction] = []
    for number, file in enumerate(files):
        heap = _heap_scopes(file.binary)
        every = [] if file.origin in NOT_SKETCHED else entered_scopes(file.binary).tolist()
        functions += [
            _watched(number, file.binary, scope, Mode.ENTRIES, heap.get(scope, HeapUse.NONE))
            for scope in sorted({*every, *heap})
        ]
    return _instruments(files, functions, watched_variables(files, symptom) if symptom is not None else ())


def zoom_instruments(files: Sequence[LoadedFile], plan: ZoomPlan) -> Instruments:
    """Every instruction of the planned functions, wherever they are; refuses a plan of which nothing is there."""
    chosen = {
        (n, s) for key in plan.functions for n in _files_meant(files, key) for s in _scopes_of(files[n].binary, key)
    }
    if not chosen:
        raise _nothing_planned(files, plan)
    if plan.spec.kind is SymptomKind.VARIABLE:
        check_symptom(files, plan.spec)
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
    return _instruments(files, functions, watched_variables(files, plan.spec), values_pass=True)


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


def _nothing_planned(files: Sequence[LoadedFile], plan: ZoomPlan) -> WhyperfError:
    first = plan.functions[0]
    return WhyperfError(
        f"None of the {len(plan.functions)} planned functions ({first.name} of {first.module} and so on) is in "
        f"{Path(files[0].binary.path).name} or its libraries: the plan belongs to another program or build.",
        "whyperf diagnose GOOD BAD",
    )
