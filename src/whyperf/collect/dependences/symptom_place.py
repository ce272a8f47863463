"""Where what a symptom names is in the program: a function, a line, a variable. What is nowhere is refused."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from whyperf.collect.dependences.instruments import WatchedVariable
from whyperf.collect.dependences.variables import find_variable
from whyperf.collect.target.loaded_files import LoadedFile
from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.code_maps.places import out_of_line_scopes
from whyperf.debuginfo.image import Image
from whyperf.errors import WhyperfError
from whyperf.recording.names.identity import FunctionKey, is_named_by_address, without_version
from whyperf.recording.symptom import SymptomKind, SymptomSpec, is_file

NOT_SKETCHED = ("libc", "vdso")
"""The C library's own functions are passed over: their work counts as their callers'."""
_OFFERED = 3
_LOADERS = {"dlopen", "dlmopen"}


def check_early(files: Sequence[LoadedFile], symptom: SymptomSpec) -> None:
    """`check_symptom` before anything ran: if the program can load further files, what is not there may come."""
    elves = (file.binary.elf for file in files if file.origin not in NOT_SKETCHED)
    if not any(_LOADERS & set(Image(elf).imports.values()) for elf in elves if elf is not None):
        check_symptom(files, symptom)


def check_symptom(files: Sequence[LoadedFile], symptom: SymptomSpec) -> None:
    """Refuses what is nowhere in the program, and offers what is called alike."""
    own = [file.binary for file in files if file.origin not in NOT_SKETCHED]
    if symptom.kind in (SymptomKind.FUNCTION, SymptomKind.INSTRUCTIONS) and symptom.name:
        _check_function(files, own, symptom)
    if symptom.kind is SymptomKind.VARIABLE and not watched_variables(files, symptom):
        raise _no_such_variable(files, symptom)
    if symptom.kind is SymptomKind.LINE:
        _check_line(own, symptom)


def _check_function(files: Sequence[LoadedFile], own: Sequence[Binary], symptom: SymptomSpec) -> None:
    found = [(binary, row) for binary in own for row in binary.function_at(symptom.name)]
    if not found:
        names = {name for binary in own for name in binary.functions.names if not is_named_by_address(name)}
        raise _unknown("function", symptom.name, names, files, symptom.kind.value)
    if not any(binary.entry_addresses(row) for binary, row in found):
        functions, row = found[0][0].functions, found[0][1]
        file, declared = functions.files[row], functions.lines[row]
        line = min((line for line in _lines_with_code(own, file) if line >= declared), default=declared)
        raise WhyperfError(
            f"{symptom.name} is inlined everywhere, so that nobody calls it: name a line of it instead.",
            f"whyperf compare --deep --symptom line:{Path(file).name}:{line} ...",
        )


def _lines_with_code(binaries: Iterable[Binary], name: str) -> set[int]:
    lines: set[int] = set()
    for code in (binary.code for binary in binaries):
        mine = [row for row, file in enumerate(code.files) if is_file(file, name)]
        lines |= set(np.unique(code.row_line[np.isin(code.row_file, mine)]).tolist())
    return lines - {0}


def _check_line(binaries: Sequence[Binary], symptom: SymptomSpec) -> None:
    lines = _lines_with_code(binaries, symptom.name)
    if not lines:
        files = {file for binary in binaries for file in binary.code.files if Path(file).name}
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


def watched_variables(files: Sequence[LoadedFile], symptom: SymptomSpec) -> tuple[WatchedVariable, ...]:
    """None where the variable is in no file: it may be in one that is loaded later."""
    if symptom.kind is SymptomKind.VARIABLE:
        for number, file in enumerate(files):
            found = find_variable(file.binary, symptom.name) if file.origin not in NOT_SKETCHED else None
            if found is not None and found.places:
                return tuple(WatchedVariable(number, place.address, place.size) for place in found.places)
    return ()


def _no_such_variable(files: Sequence[LoadedFile], symptom: SymptomSpec) -> WhyperfError:
    found = [find_variable(file.binary, symptom.name) for file in files if file.origin not in NOT_SKETCHED]
    functions = [function for one in found for function in one.locals_of]
    if functions:
        return WhyperfError(
            f"{symptom.name} is a local variable of {functions[0]}: it is in a register or on the stack, and what can "
            "be watched are globals and statics. Name the line that changes it instead.",
            "whyperf compare --deep --symptom line:FILE:LINE ...",
        )
    known = {name for one in found for name in one.others}
    return _unknown("global or static variable", symptom.name, known, files, "var")


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
