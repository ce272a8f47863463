"""Sealing a recording's folder: tables first, the manifest last, the raw log removed only when all of it is safe."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from whyperf.errors import WhyperfError
from whyperf.recording.layout import MANIFEST, OUTPUT
from whyperf.recording.removal import remove_raw
from whyperf.recording.safe_files.storage import make_folder, sync_folder, write_atomically, write_new
from whyperf.recording.schemas.schema import Table
from whyperf.recording.schemas.tables import TABLES
from whyperf.recording.sealed import manifest as manifest_json
from whyperf.recording.sealed.manifest import Manifest, TableFile

# Values are read a few variables at a time, from many recordings: smaller groups than usual take 4% more room and
# spare decoding the rest.
_ROWS_A_GROUP = {"values": 1 << 15}

Content = pa.Table | pa.RecordBatchReader  # the latter for what is made while it is written


def table_file(folder: Path, name: str) -> Path:
    return folder / f"{name}.parquet"


def write_recording(folder: Path, manifest: Manifest, tables: Mapping[str, Content]) -> Manifest:
    """Writes a sealed recording and returns its manifest. Tables not given are empty; optional ones are absent.

    Until the manifest is in place the folder is what it was before: an open recording, or none.
    """
    try:
        make_folder(folder)
        written = [table for table in TABLES if table.name in tables or not table.optional]
        new_files = [table_file(folder, table.name).with_suffix(".new") for table in written]
        try:
            described = {
                table.name: _write_table(path, table, tables.get(table.name))
                for table, path in zip(written, new_files, strict=True)
            }
            for table, path in zip(written, new_files, strict=True):
                path.replace(table_file(folder, table.name))
        except OSError:
            for path in new_files:
                path.unlink(missing_ok=True)
            raise
        sync_folder(folder)
        sealed = replace(manifest, state="sealed", tables=described)
        write_atomically(folder / MANIFEST, manifest_json.dump(sealed).encode())
    except OSError as error:
        raise WhyperfError(
            f"{folder} could not be written ({error.strerror or error}); what had been recorded is still there.",
            f"df -h {folder}",
        ) from error
    remove_raw(folder)
    return sealed


def remove_output(folder: Path) -> None:
    """What a program printed may hold the very numbers that a redacted recording shall not."""
    for name in OUTPUT:
        (folder / name).unlink(missing_ok=True)


def _write_table(path: Path, table: Table, content: Content | None) -> TableFile:
    sink, rows = pa.BufferOutputStream(), 0
    # Differences take a fraction of the room, and of the time.
    rising = [column.name for column in table.columns if column.rising]
    in_dictionaries: Any = [column.name for column in table.columns if not column.rising]  # annotated as bool only
    with pq.ParquetWriter(
        sink,
        table.schema,
        compression="zstd",
        use_dictionary=in_dictionaries,
        column_encoding=dict.fromkeys(rising, "DELTA_BINARY_PACKED"),
        write_page_checksum=True,
        store_schema=False,
    ) as writer:
        for piece in _pieces(table, content):
            writer.write_table(piece, _ROWS_A_GROUP.get(table.name))
            rows += piece.num_rows
    buffer = sink.getvalue()
    write_new(path, buffer)
    return TableFile(rows, buffer.size, zlib.crc32(buffer))


def _pieces(table: Table, content: Content | None) -> Iterator[pa.Table]:
    if isinstance(content, pa.RecordBatchReader):
        yield from (pa.Table.from_batches([batch]) for batch in content)
    else:
        yield table.schema.empty_table() if content is None else table.completed(content)
