"""Reading a sealed recording, trusting nothing in it."""

from __future__ import annotations

import html
import platform
import shlex
import zlib
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any, BinaryIO
from weakref import WeakValueDictionary

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from whyperf.errors import WhyperfError
from whyperf.recording import manifest as manifest_json
from whyperf.recording.layout import MANIFEST, compared_in, is_being_written, is_open
from whyperf.recording.manifest import Manifest
from whyperf.recording.rows import StoredRows
from whyperf.recording.schema import Column
from whyperf.recording.tables import table_named
from whyperf.recording.writer import table_file

# Tables that grow with the run's length. They are let go as soon as nobody uses them: many recordings may be open.
_LONG = frozenset({"samples", "values", "events"})


class Recording:
    """A sealed recording. Tables are read when first asked for, and checked against the manifest and the schema."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        text = _manifest_text(self.path)
        self.manifest: Manifest = manifest_json.load(text, str(self.path))
        self._manifest_crc32 = zlib.crc32(text)
        self._tables: dict[str, pa.Table] = {}
        self._long_tables: MutableMapping[str, pa.Table] = WeakValueDictionary()
        self._checked: set[str] = set()

    def __reduce__(self) -> tuple[Any, ...]:
        """Recordings travel by name: whoever gets one reads it where it is."""
        return _opened, (self.path.absolute(), self._manifest_crc32, frozenset(self._checked))

    def __repr__(self) -> str:
        return f"<Recording {self.path}: {' '.join(self.manifest.command)}>"

    def _repr_html_(self) -> str:
        """For notebooks: what was recorded, and the tables there are."""
        manifest = self.manifest
        facts = {
            "command": " ".join(manifest.command),
            "recorded on": f"{manifest.host.name}, {manifest.host.kernel}",
            "wall time": f"{manifest.totals.wall_s:.3g} s",
            "CPU time": f"{manifest.totals.cpu_s:.3g} s",
            "tables": ", ".join(f"{name} ({file.rows:,})" for name, file in manifest.tables.items() if file.rows),
        }
        rows = (f"<tr><th>{html.escape(name)}</th><td>{html.escape(said)}</td></tr>" for name, said in facts.items())
        return f"<table>{''.join(rows)}</table>"

    def table(self, name: str) -> pa.Table:
        tables = self._long_tables if name in _LONG else self._tables
        found = tables.get(name)
        if found is None:
            found = tables[name] = self._read(name)
        return found

    def column(self, table: str, name: str) -> np.ndarray:
        """A numeric column as an array."""
        return self.table(table).column(name).to_numpy()

    def was_checked(self, name: str) -> None:
        """Somebody else has found that the table's checksum holds."""
        self._checked.add(name)

    def rows(self, name: str) -> StoredRows:
        """A table too large to be held in memory, to be read piece by piece; checked as it is read."""
        table = table_named(name)
        expected = self.manifest.tables.get(name)
        if expected is None:
            raise self._damaged(name, "the manifest does not list it")
        try:
            if name not in self._checked:
                with table_file(self.path, name).open("rb") as file:
                    size, checksum = _checksum(file)
                if size != expected.bytes or checksum != expected.crc32:
                    raise self._damaged(name, "its checksum does not hold")
                self._checked.add(name)
            stored = StoredRows(
                pq.ParquetFile(table_file(self.path, name), memory_map=True),
                table,
                lambda column, rows, first: self._check_row_numbers(name, column, rows, first),
                lambda why: self._damaged(name, why),
            )
        except FileNotFoundError:
            raise self._damaged(name, "the file is missing") from None
        except (pa.ArrowException, ValueError) as error:
            raise self._damaged(name, f"it does not fit the format ({str(error).splitlines()[0]})") from error
        except OSError as error:
            raise WhyperfError(f"{table_file(self.path, name)} cannot be read: {error.strerror}.") from error
        if stored.count != expected.rows:
            raise self._damaged(name, f"it has {stored.count} rows instead of {expected.rows}")
        return stored

    def _read(self, name: str) -> pa.Table:
        table = table_named(name)
        if table.optional and name not in self.manifest.tables:
            return table.schema.empty_table()
        try:
            content = table_file(self.path, name).read_bytes()
        except FileNotFoundError:
            raise self._damaged(name, "the file is missing") from None
        except OSError as error:
            raise WhyperfError(f"{table_file(self.path, name)} cannot be read: {error.strerror}.") from error
        expected = self.manifest.tables.get(name)
        if expected is None:
            raise self._damaged(name, "the manifest does not list it")
        if len(content) != expected.bytes:
            raise self._damaged(name, f"it has {len(content)} bytes instead of {expected.bytes}")
        if zlib.crc32(content) != expected.crc32:
            raise self._damaged(name, "its checksum does not hold")
        try:
            # Without Arrow's thread pools: on a busy machine a thread that is still starting when the program ends
            # aborts it (seen once), and tables of this size gain nothing from them.
            # Nor with its datasets, which take longer to load than such a table to read.
            read = pq.ParquetFile(pa.BufferReader(content), pre_buffer=False).read(use_threads=False)
            rows = table.completed(read)
        except (pa.ArrowException, KeyError, ValueError, OSError) as error:
            raise self._damaged(name, f"it does not fit the format ({str(error).splitlines()[0]})") from error
        if rows.num_rows != expected.rows:
            raise self._damaged(name, f"it has {rows.num_rows} rows instead of {expected.rows}")
        for column in table.columns:
            self._check_row_numbers(name, column, rows)
        return rows

    def _check_row_numbers(self, name: str, column: Column, rows: pa.Table, first: int = 0) -> None:
        """Whoever follows a row number may rely on its being one, and on chains' coming to an end.

        `first` is the number of the first of these rows.
        """
        if not column.rows_of or rows.num_rows == 0:
            return
        numbers = rows.column(column.name).to_numpy()
        target = self.manifest.tables.get(column.rows_of)
        sound = bool(numbers.min() >= -1 and numbers.max() < (0 if target is None else target.rows))
        if column.name == "parent":
            sound = sound and bool(np.all(numbers < np.arange(first, first + rows.num_rows)))
        if column.name == "inlined_in":
            later = numbers > np.arange(first, first + rows.num_rows)
            sound = sound and bool(np.all(later | (numbers == -1)))
        if not sound:
            raise self._damaged(name, f"its column {column.name} names rows that do not exist")

    def _damaged(self, table: str, why: str) -> WhyperfError:
        return WhyperfError(
            f"The recording {self.path} is damaged: the table {table} cannot be used, {why}.",
            f"whyperf record --force -o {self.path} -- {' '.join(self.manifest.command)}",
        )


def _opened(path: Path, manifest_crc32: int, checked: frozenset[str]) -> Recording:
    """A recording that was opened elsewhere, where these tables' checksums were found to hold."""
    if not path.exists():
        raise WhyperfError(
            f"The worker on {platform.node()} cannot see the recording {path}: workers need it under the same path, "
            f"in a filesystem that all share.",
            f"ls {shlex.quote(str(path))}",
        )
    recording = Recording(path)
    if recording._manifest_crc32 != manifest_crc32:
        raise WhyperfError(
            f"The worker on {platform.node()} sees another recording than you under {path}.",
            f"cksum {shlex.quote(str(path / MANIFEST))}",
        )
    recording._checked |= checked
    return recording


def _checksum(file: BinaryIO) -> tuple[int, int]:
    size = checksum = 0
    while piece := file.read(1 << 22):
        size += len(piece)
        checksum = zlib.crc32(piece, checksum)
    return size, checksum


def still_being_written(path: Path) -> WhyperfError:
    return WhyperfError(
        f"The recording {path} is still being written. Wait until its recorder has ended, or stop it with Ctrl-C.",
        f"whyperf info {path}",
    )


def not_a_recording(path: Path) -> WhyperfError:
    if not path.exists():
        return WhyperfError(f"There is no recording {path}.", f"whyperf record -o {path} -- COMMAND")
    good, bad = compared_in(path)
    if good and bad:
        return WhyperfError(
            f"{path} is not a recording but a comparison: {len(good)} good and {len(bad)} bad recordings are in it.",
            f"whyperf diagnose {shlex.quote(str(path))}",
        )
    return WhyperfError(f"{path} is not a recording.", "whyperf record -o NAME -- COMMAND")


def _manifest_text(path: Path) -> bytes:
    if is_open(path):
        if is_being_written(path):
            raise still_being_written(path)
        raise WhyperfError(f"The recording {path} was not sealed: its recorder was killed.", f"whyperf info {path}")
    try:
        return (path / MANIFEST).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise not_a_recording(path) from None
    except OSError as error:
        raise WhyperfError(f"{path / MANIFEST} cannot be read: {error.strerror}.", f"ls -l {path}") from error
