"""Making a binary's variables table, once a build-id."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.code_maps.code_map import Int32s
from whyperf.debuginfo.code_maps.extraction import ReadingEnd, extract_variables
from whyperf.debuginfo.code_maps.rust_names import demangle_v0
from whyperf.debuginfo.code_maps.string_table import Texts
from whyperf.debuginfo.describe import DEBUG_FOLDERS, describe, same_build
from whyperf.debuginfo.elf_files.elf import read_elf
from whyperf.debuginfo.variable_tables.table import (
    DamagedTable,
    Variables,
    VariablesTable,
    names_content,
    names_file,
    read_table,
    with_checksum,
)

__all__ = ["DamagedTable", "Variables", "VariablesTable", "read_table", "table_file", "write_table"]


def table_file(folder: Path, build_id: str) -> Path:
    return folder / f"{build_id}.vars"


def write_table(
    path: str,
    build_id: str,
    folder: Path,
    *,
    cache: Path | None = None,
    debug_folders: Sequence[Path] = DEBUG_FOLDERS,
) -> VariablesTable | None:
    """The table of the binary at `path`, kept in `folder` by build-id.

    None when there is nothing to read values by: no build-id, another file by now, no debug information.
    """
    if not build_id:
        return None
    file = table_file(folder, build_id)
    with contextlib.suppress(DamagedTable):
        return read_table(file)
    elf = read_elf(Path(path))
    if elf is None or not same_build(elf.build_id, build_id):
        return None
    extraction = extract_variables(path, elf.size, debug_folders)
    if extraction.end is not ReadingEnd.DONE or not len(extraction.columns["variable.line"]):
        return None
    binary = describe(path, build_id, cache=cache, debug_folders=debug_folders)
    _store(file, extraction.columns, binary)
    try:
        return read_table(file)
    except DamagedTable:  # no space, or no permission: then there are no values
        return None


def _store(file: Path, columns: dict[str, npt.NDArray[Any]], binary: Binary) -> None:
    files = Texts(columns["file.bytes"], columns["file.offsets"])
    variables = {name: columns[f"variable.{name}"] for name in ("name", "type", "file", "line", "order", "kind")}
    variables["scope"] = columns["variable.scope_kind"]
    variables["function"] = _through(_functions(columns, files, binary), columns["variable.function"])
    names = _valid(Texts(columns["name.bytes"], columns["name.offsets"]))
    content = names_content(variables, names, _valid(files))
    with contextlib.suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Names first: whoever sees the table finds them.
        _write_aside(names_file(file), content)
        _write_aside(file, with_checksum(columns["table.bytes"], content))


def _through(numbers: Int32s, rows: Int32s) -> Int32s:
    return np.append(numbers, np.int32(-1))[rows].astype(np.int32)


def _valid(texts: Texts) -> Texts:
    """Compilers write names as bytes; Arrow wants UTF-8."""
    try:
        texts.data.tobytes().decode()
    except UnicodeDecodeError:
        return Texts.of(texts.to_list())
    return texts


def _functions(columns: dict[str, npt.NDArray[Any]], files: Texts, binary: Binary) -> Int32s:
    """For each function that the native reader met, its row in `binary.functions`."""
    functions = binary.functions
    rows: dict[tuple[str, str, int], int] = {}
    for row, key in enumerate(zip(functions.names, functions.files, functions.lines.tolist(), strict=True)):
        rows.setdefault(key, row)
    all_names = Texts(columns["function_name.bytes"], columns["function_name.offsets"])
    names = all_names.take(columns["function.name"]).to_list() if len(columns["function.name"]) else []
    for row in np.flatnonzero(columns["function.mangled"]).tolist():
        names[row] = demangle_v0([names[row]])[0]
    paths = [*files, ""]
    return np.array(
        [
            rows.get((name, paths[file], line), -1)
            for name, file, line in zip(
                names, columns["function.file"].tolist(), columns["function.line"].tolist(), strict=True
            )
        ],
        np.int32,
    )


def _write_aside(file: Path, content: memoryview) -> None:
    descriptor, aside = tempfile.mkstemp(dir=file.parent, prefix=".new-")
    try:
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(content)
        Path(aside).replace(file)
    except OSError:
        with contextlib.suppress(OSError):
            Path(aside).unlink()
        raise
