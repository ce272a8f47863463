"""What variables held: packed bytes of the rings, named by the variables tables, as the sealed tables want them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whyperf.collect import _session
from whyperf.collect.seal.evidence import Evidence, Int32, Int64
from whyperf.collect.seal.globals import GlobalRows, global_rows
from whyperf.collect.seal.places import CodePlaces, SeenStacks
from whyperf.collect.seal.pointers import Extents, classify
from whyperf.collect.seal.processes import Cast
from whyperf.collect.seal.spaces import Spaces
from whyperf.debuginfo.variables import DamagedTable, VariablesTable, read_table, table_file
from whyperf.debuginfo.variables_table import KINDS, SCOPES
from whyperf.recording.ringrecords import Kind
from whyperf.recording.tables import VALUES, VARIABLES

_POINTER = KINDS.index("pointer")


@dataclass(frozen=True)
class SealedValues:
    variables: pa.Table
    values: pa.Table
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Rows:
    """Values of one or several tables, parallel columns."""

    table: Int32
    variable: Int32  # of that table
    sample: Int32
    depth: npt.NDArray[np.int16]
    frame: Int32
    value: Int64


def sealed_values(
    evidence: Evidence,
    cast: Cast,
    spaces: Spaces,
    stacks: SeenStacks,
    places: CodePlaces,
    sample_stack: Int64,
    place_frame: Int32,
    function_row: Callable[[int, Int32], Int32],
    module_row: Int32,
    folder: Path,
) -> SealedValues:
    """`sample_stack`: each sample's row of `stacks`, or -1. `function_row`: rows of the functions table from a module's
    number and its binary's function numbers."""
    used = _hashes(evidence)
    tables, modules, notes = _tables(spaces, used, folder)
    if not tables:
        return SealedValues(VARIABLES.schema.empty_table(), VALUES.schema.empty_table(), notes)
    table_of_module = np.full(len(spaces.modules) + 1, -1, np.int32)  # the last one is for -1
    table_of_module[list(modules)] = np.arange(len(modules))
    unpacked = _session.unpack_values(
        np.ascontiguousarray(evidence.values.sample).data,
        evidence.values.ends.data,
        evidence.values.packed,
        sample_stack.data,
        stacks.ends.data,
        stacks.place.data,
        table_of_module[places.module].data,
        np.ascontiguousarray(places.address).data,
        [memoryview(table_file(folder, spaces.modules[module].build_id).read_bytes()) for module in modules],
    )
    if unpacked["damaged"]:
        notes = (*notes, f"The values of {unpacked['damaged']} samples made no sense and were passed over.")
    place = np.frombuffer(unpacked["place"], np.int32)
    local = _Rows(
        table=np.frombuffer(unpacked["table"], np.int32),
        variable=np.frombuffer(unpacked["variable"], np.int32),
        sample=np.frombuffer(unpacked["sample"], np.int32),
        depth=np.frombuffer(unpacked["depth"], np.int16),
        frame=place_frame[place],
        value=np.frombuffer(unpacked["value"], np.int64),
    )
    looks = global_rows(evidence, cast, spaces, dict(zip(modules, tables, strict=True)))
    rows = _joined(local, looks, {module: row for row, module in enumerate(modules)})
    return _sealed(rows, tables, modules, cast, spaces, function_row, module_row, notes)


def _hashes(evidence: Evidence) -> set[int]:
    """Of the variables tables that were in use."""
    notes = (note for note in evidence.notes if note.kind == Kind.VARIABLES)
    return {int.from_bytes(note.payload[8:16], "little") for note in notes}


def _tables(
    spaces: Spaces, used: set[int], folder: Path
) -> tuple[list[VariablesTable], tuple[int, ...], tuple[str, ...]]:
    """The tables that were in use, and the modules they belong to."""
    tables, modules = [], []
    for number, module in enumerate(spaces.modules):
        if not module.build_id or not used:
            continue
        try:
            table = read_table(table_file(folder, module.build_id))
        except DamagedTable:
            continue
        if table.hash in used:
            tables.append(table)
            modules.append(number)
    missing = len(used - {table.hash for table in tables})
    notes = (f"{missing} variables tables are gone or were made anew: their values are lost.",) if missing else ()
    return tables, tuple(modules), notes


def _joined(local: _Rows, looks: GlobalRows, table_of_module: Mapping[int, int]) -> _Rows:
    count = len(looks.value)
    tables = np.array([table_of_module[int(module)] for module in looks.module], np.int32)
    return _Rows(
        table=np.concatenate((local.table, tables)),
        variable=np.concatenate((local.variable, looks.variable)),
        sample=np.concatenate((local.sample, looks.sample)),
        depth=np.concatenate((local.depth, np.full(count, -1, np.int16))),
        frame=np.concatenate((local.frame, np.full(count, -1, np.int32))),
        value=np.concatenate((local.value, looks.value)),
    )


def _sealed(
    rows: _Rows,
    tables: list[VariablesTable],
    modules: tuple[int, ...],
    cast: Cast,
    spaces: Spaces,
    function_row: Callable[[int, Int32], Int32],
    module_row: Int32,
    notes: tuple[str, ...],
) -> SealedValues:
    """Only variables that were read become rows, numbered anew."""
    firsts = np.concatenate(([0], np.cumsum([len(table.variables) for table in tables])))
    number = firsts[rows.table] + rows.variable
    seen, variable = np.unique(number, return_inverse=True)
    columns: dict[str, list[npt.NDArray[np.generic] | list[str]]] = {name: [] for name in VARIABLES.schema.names[1:]}
    pointer = np.zeros(len(seen), bool)
    for at, table in enumerate(tables):
        mine = np.flatnonzero((seen >= firsts[at]) & (seen < firsts[at + 1]))
        chosen = (seen[mine] - firsts[at]).astype(np.int64)
        variables = table.variables
        pointer[mine] = variables.kind[chosen] == _POINTER
        columns["function"].append(function_row(modules[at], variables.function[chosen]))
        columns["module"].append(np.full(len(chosen), module_row[modules[at]], np.int32))
        columns["name"].append([variables.name[i] for i in chosen.tolist()])
        columns["type"].append([variables.type[i] for i in chosen.tolist()])
        columns["kind"].append([KINDS[kind] for kind in variables.kind[chosen]])
        columns["scope"].append([SCOPES[scope] for scope in variables.scope[chosen]])
        columns["order"].append(variables.order[chosen])
        columns["file"].append([variables.file[i] for i in chosen.tolist()])
        columns["line"].append(variables.line[chosen])
        columns["roles"].append([""] * len(chosen))
    value = classify(rows.value, pointer[variable], rows.sample, Extents.of(cast, spaces))
    order = np.lexsort((rows.depth, rows.sample, variable))
    made = {
        "variable": variable[order].astype(np.int32),
        "sample": rows.sample[order],
        "depth": rows.depth[order],
        "frame": rows.frame[order],
        "value": value[order],
    }
    schema = VARIABLES.schema
    named = [
        pa.concat_arrays([pa.array(part, schema.field(name).type) for part in columns[name]])
        for name in schema.names[1:]
    ]
    numbers = pa.array(np.arange(len(seen), dtype=np.int32))
    return SealedValues(
        variables=pa.table([numbers, *named], schema=schema),
        values=pa.table([pa.array(made[name]) for name in VALUES.schema.names], schema=VALUES.schema),
        notes=notes,
    )
