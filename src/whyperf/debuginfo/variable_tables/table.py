"""The variables table of a binary: which variables can be read at which address (`native/values/table.h`).

Two files a build-id: `.vars`, which watched processes map, and `.variables`, an Arrow file that names the variables.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whyperf.debuginfo import _debuginfo
from whyperf.debuginfo.code_maps.code_map import Int32s
from whyperf.debuginfo.code_maps.string_table import Chosen, Texts
from whyperf.errors import WhyperfError
from whyperf.recording.safe_files.limits import MOST_LOG_BYTES
from whyperf.recording.safe_files.regular_files import map_regular

Records = npt.NDArray[np.void]
UInt32s = npt.NDArray[np.uint32]

_MAGIC = 0x3473726176757077
_BUILDER = b"3"
"""Changes whenever other locations come out of the same binary."""
_HEADER = np.dtype(
    [
        ("magic", "<u8"),
        ("hash", "<u8"),
        *((name, "<u4") for name in ("segment_count", "index_base", "index_count", "list_count")),
        *((name, "<u4") for name in ("location_count", "field_count", "global_count", "expression_bytes")),
        *((name, "<u4") for name in ("call_site_count", "call_parameter_count", "variable_count", "names_checksum")),
        *((name, "<u4") for name in ("plan_words", "padding")),
    ]
)
_SEGMENT = np.dtype([(name, "<u4") for name in ("address", "first", "count", "plan")])
_LOCATION = np.dtype(
    [
        *((name, "u1") for name in ("kind", "reg", "size", "flags")),
        ("variable", "<u4"),
        ("address", "<u8"),
        ("offset", "<i4"),
        *((name, "<u4") for name in ("first_field", "field_count", "padding")),
    ]
)
_FIELD = np.dtype(
    [("offset", "<i4"), ("size", "u1"), ("flags", "u1"), ("padding", "<u2"), ("variable", "<u4"), ("scale", "<u4")]
)
_CALL_SITE = np.dtype([(name, "<u4") for name in ("return_address", "target", "first", "count")])
_CALL_PARAMETER = np.dtype([("reg", "<u4"), ("location", "<u4")])


class LocationKind(IntEnum):
    """Where a value is; `native/values/table.h` has the same numbers."""

    REGISTER = 0
    VECTOR = 1
    AT_CFA = 2
    AT_REGISTER = 3
    AT_ADDRESS = 4
    AT_TLS = 5
    CFA_PLUS = 6
    REGISTER_PLUS = 7
    CONSTANT = 8
    EXPRESSION = 9
    ADDRESS = 10
    ENTRY = 11


class Flag(IntFlag):
    POINTER = 1
    FIELDS = 4
    STACK_VALUE = 8
    SIGNED = 16
    FLOAT = 32
    SPAN = 64


KINDS = ("signed", "unsigned", "float", "boolean", "enum", "pointer", "size")
SCOPES = ("parameter", "local", "global")


@dataclass(frozen=True, eq=False)
class Variables:
    """Parallel columns, one row a variable; a pointer's target and fields are variables of their own."""

    function: Int32s
    """Row of `Binary.functions`; -1 for globals."""
    name: Sequence[str]
    type: Sequence[str]
    kind: npt.NDArray[np.uint8]
    """Row of `KINDS`."""
    scope: npt.NDArray[np.uint8]
    """Row of `SCOPES`."""
    order: Int32s
    """Tells variables of the same function and name (globals: name and file) apart, in order of declaration."""
    file: Sequence[str]
    line: Int32s

    def __len__(self) -> int:
        return len(self.line)


@dataclass(frozen=True, eq=False, repr=False)
class VariablesTable:
    """Views of the mapped files."""

    hash: int
    """What module records name it by."""
    segments: Records
    lists: UInt32s
    """Locations, the lists of all segments one after the other."""
    locations: Records
    fields: Records
    globals: UInt32s
    """Locations that hold wherever the program is."""
    call_sites: Records
    call_parameters: Records
    expressions: bytes
    variables: Variables

    def at(self, address: int) -> list[int]:
        """The locations that can be read at an ELF virtual address, innermost scope first; globals not among them."""
        segment = int(np.searchsorted(self.segments["address"], address, side="right")) - 1
        if segment < 0:
            return []
        first, count = int(self.segments["first"][segment]), int(self.segments["count"][segment])
        return [int(location) for location in self.lists[first : first + count]]


class DamagedTable(Exception):  # noqa: N818 (caught where a table is looked for, never shown)
    """A file that is cut short, altered, or of another version."""


def names_file(file: Path) -> Path:
    return file.with_suffix(".variables")


def read_table(file: Path) -> VariablesTable:
    """The table in `<build-id>.vars` and the names beside it; DamagedTable where they cannot be used."""
    content = _mapped(file)
    if len(content) < _HEADER.itemsize:
        raise DamagedTable(f"{file} is cut short")
    header = np.frombuffer(content, _HEADER, 1)[0]
    if header["magic"] != _MAGIC or _debuginfo.table_hash(content[_HEADER.itemsize :]) != header["hash"]:
        raise DamagedTable(f"{file} is damaged or of another version")
    end = _HEADER.itemsize

    def section(dtype: np.dtype[Any], count: int) -> npt.NDArray[Any]:
        nonlocal end
        start, end = end, end + (dtype.itemsize * int(count) + 7) // 8 * 8
        if end > len(content):
            raise DamagedTable(f"{file} is cut short")
        return np.frombuffer(content, dtype, int(count), start)

    segments = section(_SEGMENT, header["segment_count"])
    section(np.dtype("<u4"), header["index_count"])
    return VariablesTable(
        hash=int(header["hash"]),
        segments=segments,
        lists=section(np.dtype("<u4"), header["list_count"]),
        locations=section(_LOCATION, header["location_count"]),
        fields=section(_FIELD, header["field_count"]),
        globals=section(np.dtype("<u4"), header["global_count"]),
        call_sites=section(_CALL_SITE, header["call_site_count"]),
        call_parameters=section(_CALL_PARAMETER, header["call_parameter_count"]),
        expressions=section(np.dtype("u1"), header["expression_bytes"]).tobytes(),
        variables=_read_names(names_file(file), int(header["variable_count"]), int(header["names_checksum"])),
    )


def _mapped(file: Path) -> memoryview:
    try:
        content = map_regular(file, MOST_LOG_BYTES)
    except (OSError, WhyperfError) as error:
        raise DamagedTable(f"{file} cannot be read: {error}") from error
    if not content:
        raise DamagedTable(f"{file} is empty")
    return content


def with_checksum(table: npt.NDArray[np.uint8], names: memoryview) -> memoryview:
    """The table as the native reader made it, bound to its file of names."""
    bound = table.copy()
    bound[: _HEADER.itemsize].view(_HEADER)["names_checksum"] = zlib.crc32(names)
    return bound.data


def names_content(variables: dict[str, npt.NDArray[Any]], texts: Texts, files: Texts) -> memoryview:
    """The `.variables` file: columns of numbers, texts once each. `variables` has text numbers for name, type, file."""
    names = ("function", "name", "type", "kind", "scope", "order", "file", "line")
    columns: list[pa.Array[Any]] = [pa.array(variables[name]) for name in names]
    held = [pa.LargeListArray.from_arrays(pa.array([0, len(column)], pa.int64()), column) for column in columns]
    held += [pa.LargeListArray.from_arrays(pa.array([0, len(t)], pa.int64()), t.arrow()) for t in (texts, files)]
    schema = pa.schema(
        [(name, array.type) for name, array in zip((*names, "texts", "files"), held, strict=True)],
        metadata={b"builder": _BUILDER},
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, schema) as writer:
        writer.write_batch(pa.record_batch(held, schema=schema))
    return memoryview(sink.getvalue())


def _read_names(file: Path, count: int, checksum: int) -> Variables:
    content = _mapped(file)
    if zlib.crc32(content) != checksum:
        raise DamagedTable(f"{file} is damaged or belongs to another table")
    try:
        reader = pa.ipc.open_file(pa.py_buffer(content))
        metadata, batch = reader.schema.metadata or {}, reader.get_batch(0)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DamagedTable(f"{file} is damaged: {error}") from error
    if metadata.get(b"builder") != _BUILDER:
        raise DamagedTable(f"{file} is of another version")
    held: dict[str, Any] = {name: batch.column(i) for i, name in enumerate(batch.schema.names)}
    texts, files = Texts.from_arrow(held.pop("texts").values), Texts.from_arrow(held.pop("files").values)
    columns: dict[str, Any] = {name: array.values.to_numpy(zero_copy_only=True) for name, array in held.items()}
    if any(len(column) != count for column in columns.values()):
        raise DamagedTable(f"{file} is cut short")
    columns |= {name: Chosen(texts, columns[name]) for name in ("name", "type")}
    columns["file"] = Chosen(files, columns["file"])
    return Variables(**columns)
