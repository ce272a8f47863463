"""The roles of the variables that were read, from the source of the functions they were read in, or from their code."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from whyperf.debuginfo.code_maps.cache import default_folder
from whyperf.debuginfo.describe import describe
from whyperf.debuginfo.variable_tables.code_uses import uses_at
from whyperf.errors import WhyperfError
from whyperf.optional import INSTALL_LIBCLANG, has_libclang
from whyperf.seal.code_tables.code import Code
from whyperf.seal.value_tables.values import SealedValues, TableRows
from whyperf.source.compile_flags import compilation_database, language_of, producers_in
from whyperf.source.roles import FunctionInSource, SourceRoles, roles_of

_CPU_SECONDS = 1.5
_CODE_CPU_SECONDS = 0.5


@dataclass(frozen=True)
class WithRoles:
    variables: pa.Table
    notes: tuple[str, ...]


def with_roles(sealed: SealedValues, code: Code, compile_commands: str = "") -> WithRoles:
    """The variables with their `roles` filled in: from the source, and where there is none from the machine code.
    Source newer than its binary is not what ran."""
    variables = sealed.variables
    if not variables.num_rows:
        return WithRoles(variables, ())
    named = variables.select(["function", "name", "scope", "file", "line"]).to_pylist()
    most_read = _most_read_first(variables, sealed.values)
    places = _places(named, most_read, code.functions, code.modules)
    binaries = {place.function.file: place.binary for place in places.values()}
    database, notes = _database(compile_commands)
    roles = roles_of(
        [place.function for place in places.values()],
        compile_commands=database,
        built_in=sorted({str(Path(binary).parent) for binary in binaries.values()}),
        producers=_producers(binaries),
        folders=_folders(code.functions),
        budget_s=_CPU_SECONDS,
        cache=default_folder().with_name("source"),
    )
    if roles.unread:
        lost = f"{roles.unread} source files could not be read in time: what their variables are for is unknown."
        notes = (*notes, lost)
    unknown = [function for function in most_read if not _is_read(places.get(function), roles)]
    uses = _uses_by_code(sealed.origins, code.frames, unknown, _CODE_CPU_SECONDS)
    texts = []
    for number, row in enumerate(named):
        place = places.get(row["function"])
        found: set[str] = set()
        if row["scope"] == "global":
            found |= roles.of_global(row["file"], row["line"], row["name"])
        elif place is not None:
            found |= roles.of(place.function.file, place.function.line, row["name"], row["line"])
        if row["scope"] == "global" or not _is_read(place, roles):
            found |= uses.get(number, set())
        texts.append("|".join(sorted(found)))
    at = variables.schema.get_field_index("roles")
    column = pa.array(texts, variables.schema.field(at).type)
    return WithRoles(variables.set_column(at, variables.schema.field(at), column), notes)


def _is_read(place: _Place | None, roles: SourceRoles) -> bool:
    return place is not None and roles.knows(place.function.file, place.function.line)


def _database(compile_commands: str) -> tuple[Path | None, tuple[str, ...]]:
    """It was sound when the recording began; what it would have said is not worth a recording."""
    if not compile_commands:
        return None, ()
    if not has_libclang():
        unused = (
            f"{compile_commands} was not used: source is read by its grammar alone until you type {INSTALL_LIBCLANG}"
        )
        return None, (unused,)
    try:
        return compilation_database(Path(compile_commands)), ()
    except WhyperfError as error:
        return None, (f"{error.sentence} It was passed over.",)


@dataclass(frozen=True)
class _Place:
    function: FunctionInSource
    binary: str


def _most_read_first(variables: pa.Table, values: pa.Table) -> list[int]:
    """Rows of functions, by how many values were read in them."""
    owner = variables.column("function").to_numpy()
    read = np.bincount(values.column("variable").to_numpy(), minlength=len(owner))
    inside = owner >= 0
    weight = np.bincount(owner[inside], read[inside])
    wanted = np.flatnonzero(weight)
    chosen: list[int] = wanted[np.argsort(-weight[wanted], kind="stable")].tolist()
    return chosen


def _places(
    named: list[dict[str, Any]], wanted: list[int], functions: pa.Table, modules: pa.Table
) -> dict[int, _Place]:
    """Where functions are in the source. Lambdas have no place of their own, but their variables have."""
    inside: dict[int, tuple[str, int]] = {}
    for row in named:
        if row["file"] and row["function"] >= 0:
            inside.setdefault(row["function"], (row["file"], row["line"]))
    paths = modules.column("path").to_pylist()
    places = {}
    for number, row in zip(wanted, functions.take(np.array(wanted, np.int64)).to_pylist(), strict=True):
        file, line = (row["file"], row["line"]) if row["file"] else inside.get(number, ("", 0))
        binary = paths[row["module"]]
        if file and not _newer(file, binary):
            places[number] = _Place(FunctionInSource(file, line, row["name"]), binary)
    return places


def _folders(functions: pa.Table) -> list[str]:
    """Where the program's own files are: headers too, by the functions inlined from them."""
    files = [str(file) for file in functions.column("file").unique().to_pylist()]
    return sorted({str(Path(file).parent) for file in files if file.startswith("/") and not file.startswith("/usr/")})


def _producers(binary_of: dict[str, str]) -> dict[str, str]:
    """Files by what their binary says of the compiler."""
    said = {binary: producers_in(binary) for binary in set(binary_of.values())}
    found = {}
    for file, binary in binary_of.items():
        language = language_of(file)
        if language is not None and language in said[binary]:
            found[file] = said[binary][language]
    return found


def _newer(file: str, binary: str) -> bool:
    try:
        return Path(file).stat().st_mtime > os.stat(binary).st_mtime  # noqa: PTH116
    except (OSError, ValueError):
        return True


def _uses_by_code(
    origins: Sequence[TableRows], frames: pa.Table, functions: Sequence[int], budget_s: float
) -> dict[int, set[str]]:
    """By row of the variables. `functions`: rows of those whose code is to be read, most important first."""
    rank = {function: at for at, function in enumerate(functions)}
    module, function, offset = (frames.column(name).to_numpy() for name in ("module", "function", "offset"))
    chosen = np.flatnonzero(np.isin(function, list(functions)))
    order = sorted(chosen.tolist(), key=lambda row: rank[int(function[row])])
    found: dict[int, set[str]] = {}
    for origin in origins:
        addresses = [int(offset[row]) for row in order if module[row] == origin.module]
        if not addresses:
            continue
        # A whole function is read for any of its addresses: the first one of each tells its rank.
        uses = uses_at(describe(origin.path, origin.build_id), origin.table, addresses, budget_s).uses
        for row, number in zip(origin.rows.tolist(), origin.numbers.tolist(), strict=True):
            if number in uses:
                found[row] = set(uses[number])
    return found
