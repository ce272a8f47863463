"""What variables held: packed bytes of the rings, named by the variables tables, as the sealed tables want them."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whyperf.collect import _session
from whyperf.debuginfo.variable_tables.making import DamagedTable, VariablesTable, read_table, table_file
from whyperf.debuginfo.variable_tables.table import KINDS, SCOPES
from whyperf.recording.raw_log.ringrecords import RingRecordKind
from whyperf.recording.safe_files.limits import MOST_LOG_BYTES
from whyperf.recording.safe_files.regular_files import map_regular
from whyperf.recording.schemas.tables import VALUES, VARIABLES
from whyperf.seal.code_tables.code import Code
from whyperf.seal.evidence import Int32, Int64, RawEvidence
from whyperf.seal.participants.address_spaces import Spaces
from whyperf.seal.participants.places import CodePlaces, SeenStacks
from whyperf.seal.participants.processes import Participants
from whyperf.seal.value_tables.globals import GlobalRows, global_rows
from whyperf.seal.value_tables.pointers import Extents, classify


@dataclass(frozen=True)
class TableRows:
    """The variables' rows that are of one variables table."""

    table: VariablesTable
    path: str
    build_id: str
    module: int  # row of `modules`
    rows: Int64
    numbers: Int64  # of the table's variables, one for each of the rows


@dataclass(frozen=True)
class SealedValues:
    variables: pa.Table
    values: pa.Table
    notes: tuple[str, ...]
    origins: tuple[TableRows, ...] = ()


@dataclass(frozen=True)
class _Rows:
    """Values of one or several tables, parallel columns."""

    table: Int32
    variable: Int32  # of that table
    sample: Int32
    depth: npt.NDArray[np.int16]
    frame: Int32
    value: Int64


@dataclass(frozen=True)
class Seen:
    """Samples, located."""

    evidence: RawEvidence
    participants: Participants
    spaces: Spaces
    stacks: SeenStacks
    places: CodePlaces
    sample_stack: Int64  # each sample's row of `stacks`, or -1
    height: Int64  # of each place in `stacks`: how many nodes of its context are inside of it

    def heights(self, sample: Int32, depth: npt.NDArray[np.int16]) -> npt.NDArray[np.int16]:
        """Where samples' contexts have the frames that are so deep in their stacks."""
        found = self.height[self.stacks.starts[self.sample_stack[sample]] + depth]
        heights: npt.NDArray[np.int16] = np.minimum(found, np.iinfo(np.int16).max).astype(np.int16)
        return heights


@dataclass(frozen=True)
class _Used:
    """The variables tables that were in use, each with the number of the module it belongs to."""

    tables: tuple[VariablesTable, ...]
    modules: tuple[int, ...]


def sealed_values(seen: Seen, code: Code, folder: Path) -> SealedValues:
    """`folder` holds the variables tables."""
    used, notes = _tables(seen, folder)
    if not used.tables:
        return SealedValues(VARIABLES.schema.empty_table(), VALUES.schema.empty_table(), notes)
    unpacked = _unpacked(seen, used, folder)
    if unpacked["damaged"]:
        notes = (*notes, f"The values of {unpacked['damaged']} samples made no sense and were passed over.")
    sample = np.frombuffer(unpacked["sample"], np.int32)
    local = _Rows(
        table=np.frombuffer(unpacked["table"], np.int32),
        variable=np.frombuffer(unpacked["variable"], np.int32),
        sample=sample,
        depth=seen.heights(sample, np.frombuffer(unpacked["depth"], np.int16)),
        frame=code.place_frame[np.frombuffer(unpacked["place"], np.int32)],
        value=np.frombuffer(unpacked["value"], np.int64),
    )
    by_module = dict(zip(used.modules, used.tables, strict=True))
    looks = global_rows(seen.evidence, seen.participants, seen.spaces, by_module)
    rows = _joined(local, looks, {module: row for row, module in enumerate(used.modules)})
    # Numbered anew: what was read, and what else there is in the same functions, which tells builds apart.
    firsts = np.concatenate(([0], np.cumsum([len(table.variables) for table in used.tables])))
    listed = _with_neighbours(np.unique(firsts[rows.table] + rows.variable), firsts, used)
    variable = np.searchsorted(listed, firsts[rows.table] + rows.variable)
    variables = _variables(listed, firsts, used, code)
    is_pointer = np.array([kind == "pointer" for kind in variables["kind"].to_pylist()], bool)
    value = classify(rows.value, is_pointer[variable], rows.sample, Extents.of(seen.participants, seen.spaces))
    origins = _origins(listed, firsts, used, seen.spaces, code)
    return SealedValues(variables, _values(rows, variable.astype(np.int32), value), notes, origins)


def _unpacked(seen: Seen, used: _Used, folder: Path) -> _session.UnpackedValues:
    modules = seen.spaces.modules
    table_of_module = np.full(len(modules) + 1, -1, np.int32)  # the last one is for -1
    table_of_module[list(used.modules)] = np.arange(len(used.modules))
    packed = seen.evidence.values
    return _session.unpack_values(
        np.ascontiguousarray(packed.sample).data,
        packed.ends.data,
        packed.packed,
        seen.sample_stack.data,
        seen.stacks.ends.data,
        seen.stacks.place.data,
        table_of_module[seen.places.module].data,
        np.ascontiguousarray(seen.places.address).data,
        [map_regular(table_file(folder, modules[module].build_id), MOST_LOG_BYTES) for module in used.modules],
    )


def _hashes(evidence: RawEvidence) -> set[int]:
    """Of the variables tables that were in use."""
    notes = (note for note in evidence.notes if note.kind == RingRecordKind.VARIABLES)
    return {int.from_bytes(note.payload[8:16], "little") for note in notes}


def _tables(seen: Seen, folder: Path) -> tuple[_Used, tuple[str, ...]]:
    """The tables that were in use, and what is to be said of those that are gone."""
    wanted = _hashes(seen.evidence)
    found: dict[int, VariablesTable] = {}
    for number, module in enumerate(seen.spaces.modules):
        if not module.build_id or not wanted:
            continue
        with contextlib.suppress(DamagedTable):
            table = read_table(table_file(folder, module.build_id))
            if table.hash in wanted:
                found[number] = table
    missing = len(wanted - {table.hash for table in found.values()})
    notes = (f"{missing} variables tables are gone or were made anew: their values are lost.",) if missing else ()
    return _Used(tuple(found.values()), tuple(found)), notes


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


def _with_neighbours(read: Int64, firsts: Int64, used: _Used) -> Int64:
    """Also those that were never read, of functions of which some variable was."""
    parts = []
    for at, table in enumerate(used.tables):
        mine = read[(read >= firsts[at]) & (read < firsts[at + 1])]
        owner = table.variables.function
        seen = np.unique(owner[mine - firsts[at]])
        neighbours = np.flatnonzero(np.isin(owner, seen[seen >= 0])) + firsts[at]
        parts.append(np.union1d(mine, neighbours))
    return np.concatenate(parts).astype(np.int64)


def _origins(listed: Int64, firsts: Int64, used: _Used, spaces: Spaces, code: Code) -> tuple[TableRows, ...]:
    found = []
    for at, (table, number) in enumerate(zip(used.tables, used.modules, strict=True)):
        rows = np.flatnonzero((listed >= firsts[at]) & (listed < firsts[at + 1]))
        module = spaces.modules[number]
        origin = TableRows(
            table, module.path, module.build_id, int(code.module_row[number]), rows, listed[rows] - firsts[at]
        )
        found.append(origin)
    return tuple(found)


def _variables(read: npt.NDArray[np.integer[Any]], firsts: Int64, used: _Used, code: Code) -> pa.Table:
    """Rows for the numbers `read`: those of table i begin at `firsts[i]`."""
    parts = []
    for at, (table, module) in enumerate(zip(used.tables, used.modules, strict=True)):
        chosen = read[(read >= firsts[at]) & (read < firsts[at + 1])] - firsts[at]
        rows, variables = chosen.tolist(), table.variables
        columns: dict[str, Any] = {
            "function": code.function_row(module, variables.function[chosen]),
            "module": np.full(len(rows), code.module_row[module], np.int32),
            "name": [variables.name[i] for i in rows],
            "type": [variables.type[i] for i in rows],
            "kind": [KINDS[kind] for kind in variables.kind[chosen]],
            "scope": [SCOPES[scope] for scope in variables.scope[chosen]],
            "order": variables.order[chosen],
            "file": [variables.file[i] for i in rows],
            "line": variables.line[chosen],
            "roles": [""] * len(rows),
            "variable": np.flatnonzero((read >= firsts[at]) & (read < firsts[at + 1])).astype(np.int32),
        }
        schema = VARIABLES.schema
        parts.append(pa.table([pa.array(columns[field.name], field.type) for field in schema], schema=schema))
    return pa.concat_tables(parts).combine_chunks()


def _values(rows: _Rows, variable: Int32, value: Int64) -> pa.Table:
    order = np.lexsort((rows.depth, rows.sample, variable))
    columns = (variable, rows.sample, rows.depth, rows.frame, value)
    return pa.table([pa.array(column[order]) for column in columns], schema=VALUES.schema)
