"""Decode a table's Parquet file within bounds: what a file promises is checked before anything of it is decoded.

Constant columns take no room in a file and all of it in memory, so rows are counted; the same long text can be named by
every row, so text is decoded to dictionaries first, and to text only where that is not too much.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from whyperf.recording.safe_files.limits import MOST_TEXT_BYTES
from whyperf.recording.schemas.schema import Table

# Parquet's plain encoding takes as much as the values themselves, the others less; levels, page headers and
# dictionaries that a writer gave up on never double it.
_ENCODED_TO_PLAIN = 2
_FOOTER_BYTES = 1 << 20  # and whatever else does not grow with the rows


class TooLargeError(ValueError):
    """A file that would take more memory than its rows can."""


class ParquetTable:
    """The known columns of a table's file, none of them decoded yet."""

    def __init__(self, content: memoryview, table: Table, rows: int) -> None:
        """`rows`: how many there shall be."""
        buffer = pa.py_buffer(content)
        metadata = pq.read_metadata(pa.BufferReader(buffer))
        known = [name for name in table.schema.names if name in metadata.schema.to_arrow_schema().names]
        self.groups = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
        if metadata.num_rows != rows or sum(self.groups) != rows or min(self.groups, default=0) < 0:
            raise ValueError(f"it has {metadata.num_rows} rows instead of {rows}")
        self._table, self._known = table, known
        _check_declared(metadata, table, known)
        text = [one.path_in_schema for one in _chunks(metadata, known) if one.physical_type == "BYTE_ARRAY"]
        # Without Arrow's thread pools: on a busy machine a thread that is still starting when the program ends aborts
        # it (seen once), and tables of this size gain nothing from them.
        self._file = pq.ParquetFile(pa.BufferReader(buffer), read_dictionary=list(dict.fromkeys(text)))

    def read(self) -> pa.Table:
        return self._table.completed(_with_text(self._file.read(self._known, use_threads=False)))

    def read_group(self, group: int, columns: Table) -> pa.Table:
        """A row group's rows with fewer columns: those of `columns`."""
        stored = [name for name in columns.schema.names if name in self._known]
        return columns.completed(_with_text(self._file.read_row_group(group, stored, use_threads=False)))


def most_bytes(table: Table, rows: int) -> int:
    """How many bytes a file of so many rows can have at most."""
    return _FOOTER_BYTES + _ENCODED_TO_PLAIN * rows * _row_bytes(table) + (MOST_TEXT_BYTES if _has_text(table) else 0)


def _row_bytes(table: Table) -> int:
    """Of the columns of a fixed width, and of the lengths of the others."""
    types = [column.type for column in table.columns]
    return sum(max(1, one.bit_width // 8) if pa.types.is_primitive(one) else 8 for one in types)


def _has_text(table: Table) -> bool:
    return not all(pa.types.is_primitive(column.type) for column in table.columns)


def _chunks(metadata: pq.FileMetaData, known: Sequence[str]) -> Iterator[pq.ColumnChunkMetaData]:
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        columns = (group.column(column) for column in range(group.num_columns))
        yield from (one for one in columns if one.path_in_schema.split(".")[0] in known)


def _check_declared(metadata: pq.FileMetaData, table: Table, known: Sequence[str]) -> None:
    sizes, values = 0, dict.fromkeys(known, 0)
    for chunk in _chunks(metadata, known):
        name = chunk.path_in_schema.split(".")[0]
        values[name] += chunk.num_values
        sizes += max(chunk.total_uncompressed_size, chunk.total_compressed_size)
        if min(chunk.num_values, chunk.total_uncompressed_size, chunk.total_compressed_size) < 0:
            raise ValueError(f"its column {name} has a negative size")
    most = most_bytes(table, metadata.num_rows)
    if sizes > most:
        raise TooLargeError(f"its {metadata.num_rows:,} rows take {sizes:,} bytes, and {most:,} at most are possible")
    lists = {column.name for column in table.columns if pa.types.is_list(column.type)}
    for name, count in values.items():
        if count > (MOST_TEXT_BYTES // 8 if name in lists else metadata.num_rows):
            raise TooLargeError(f"its column {name} has {count:,} values in {metadata.num_rows:,} rows")


def _with_text(rows: pa.Table) -> pa.Table:
    """Text instead of numbers in a dictionary of texts."""
    size = sum(_text_bytes(array) for column in rows.columns for array in column.chunks)
    if size > MOST_TEXT_BYTES:
        raise TooLargeError(f"it holds {size:,} bytes of text, and {MOST_TEXT_BYTES:,} at most are read")
    plain = [pa.field(field.name, _plain_type(field.type)) for field in rows.schema]
    return rows.cast(pa.schema(plain))


def _plain_type(kind: Any) -> Any:
    if pa.types.is_dictionary(kind):
        return kind.value_type
    return pa.list_(_plain_type(kind.value_type)) if pa.types.is_list(kind) else kind


def _text_bytes(array: Any) -> int:
    """What a dictionary of texts takes once every row has its own copy."""
    while pa.types.is_list(array.type):
        array = array.flatten()
    if not pa.types.is_dictionary(array.type):
        return 0
    lengths = pc.binary_length(array.dictionary).fill_null(0).to_numpy(zero_copy_only=False)
    used = array.indices.drop_null().to_numpy(zero_copy_only=False)
    if len(used) and not 0 <= used.min() <= used.max() < len(lengths):
        raise ValueError("a row names a text that is not there")
    return int(lengths[used].sum(dtype=np.int64))
