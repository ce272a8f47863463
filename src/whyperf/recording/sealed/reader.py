"""Reading a sealed recording, trusting nothing in it."""

from __future__ import annotations

import platform
import shlex
import zlib
from collections.abc import Callable, Iterator, MutableMapping
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whyperf.errors import WhyperfError
from whyperf.recording.compared import compared_in
from whyperf.recording.layout import MANIFEST, is_being_written, is_open
from whyperf.recording.safe_files.limits import MOST_JSON_BYTES, MOST_ROWS, ROWS_OPTION
from whyperf.recording.safe_files.regular_files import map_regular, read_regular
from whyperf.recording.schemas.schema import Column, Kinds
from whyperf.recording.schemas.tables import table_named
from whyperf.recording.sealed import manifest as manifest_json
from whyperf.recording.sealed.manifest import Manifest
from whyperf.recording.sealed.parquet import ParquetTable, most_bytes
from whyperf.recording.sealed.row_groups import StoredRows
from whyperf.recording.sealed.writer import table_file

# Tables that grow with the run's length. They are let go as soon as nobody uses them: many recordings may be open.
_LONG = frozenset({"samples", "values", "events"})

_MOST_BITS = 62
"""Of what is counted in tables: squares of it do not overflow."""

# Tables that every deep recording of a phase has.
_DEEP = {"sketch": ("sites", "calls", "fanouts"), "zoom": ("sites", "regions", "executions", "dependences")}


class Recording:
    """A sealed recording. Tables are read when first asked for, and checked against the manifest and the schema.

    Tables of more than `max_rows` rows are refused before they are read.
    """

    def __init__(self, path: str | Path, *, max_rows: int = MOST_ROWS) -> None:
        self.path, self.max_rows = Path(path), max_rows
        text = _manifest_text(self.path)
        self.manifest: Manifest = manifest_json.load(text, str(self.path))
        self.manifest_crc32 = zlib.crc32(text)
        self._tables: dict[str, pa.Table] = {}
        self._long_tables: MutableMapping[str, pa.Table] = WeakValueDictionary()
        self._checked: set[str] = set()
        self._check_deep()

    def __reduce__(self) -> tuple[Any, ...]:
        """Recordings travel by name: whoever gets one reads it where it is."""
        return _opened, (self.path.absolute(), self.manifest_crc32, frozenset(self._checked), self.max_rows)

    def __repr__(self) -> str:
        return f"<Recording {self.path}: {' '.join(self.manifest.command)}>"

    def _repr_html_(self) -> str:
        """For notebooks: what was recorded, and the tables there are."""
        import html

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
        try:
            return StoredRows(
                self._checked_file(name),
                table_named(name),
                lambda column, rows, first: self._check_column(name, column, rows, first),
                lambda why: self._damaged(name, why),
            )
        except (pa.ArrowException, ValueError, OSError) as error:
            raise self._misfit(name, error) from error

    def _read(self, name: str) -> pa.Table:
        table = table_named(name)
        if table.optional and name not in self.manifest.tables:
            return table.schema.empty_table()
        try:
            rows = self._checked_file(name).read()
        except (pa.ArrowException, KeyError, ValueError, OSError) as error:
            raise self._misfit(name, error) from error
        for column in table.columns:
            self._check_column(name, column, rows)
        return rows

    def _checked_file(self, name: str) -> ParquetTable:
        """The table's file, which is as large as the manifest says, not decoded yet."""
        expected = self.manifest.tables.get(name)
        if expected is None:
            raise self._damaged(name, "the manifest does not list it")
        if expected.rows > self.max_rows:
            raise WhyperfError(
                f"The table {name} of {self.path} has {expected.rows:,} rows, and {ROWS_OPTION} permits "
                f"{self.max_rows:,}.",
                f"whyperf info {shlex.quote(str(self.path))} {ROWS_OPTION} {expected.rows}",
            )
        table, path = table_named(name), table_file(self.path, name)
        try:
            content = map_regular(path, most_bytes(table, max(0, expected.rows)))
        except FileNotFoundError:
            raise self._damaged(name, "the file is missing") from None
        except OSError as error:
            raise WhyperfError(f"{path} cannot be read: {error.strerror}.", f"ls -l {path}") from error
        if len(content) != expected.bytes:
            raise self._damaged(name, f"it has {len(content)} bytes instead of {expected.bytes}")
        if name not in self._checked:
            if zlib.crc32(content) != expected.crc32:
                raise self._damaged(name, "its checksum does not hold")
            self._checked.add(name)
        return ParquetTable(content, table, expected.rows)

    def _misfit(self, name: str, error: Exception) -> WhyperfError:
        return self._damaged(name, f"it does not fit the format ({next(iter(str(error).splitlines()), '')})")

    def _check_deep(self) -> None:
        """A deep recording is nothing without its tables."""
        deep = self.manifest.deep
        if deep is None:
            return
        if deep.phase not in _DEEP:
            raise self._damaged("sites", "nobody knows what the recording is of: its phase is neither sketch nor zoom")
        for name in _DEEP[deep.phase]:
            if name not in self.manifest.tables:
                raise self._damaged(name, "the manifest does not list it")

    def _check_column(self, name: str, column: Column, rows: pa.Table, first: int = 0) -> None:
        wrong = broken_promise(column, rows, first, self._rows_in)
        if wrong is not None:
            raise self._damaged(name, wrong)

    def _rows_in(self, name: str) -> int:
        described = self.manifest.tables.get(name)
        return 0 if described is None else described.rows

    def _damaged(self, table: str, why: str) -> WhyperfError:
        return WhyperfError(
            f"The recording {self.path} is damaged: the table {table} cannot be used, {why}.",
            f"whyperf record --force -o {self.path} -- {' '.join(self.manifest.command)}",
        )


def _opened(path: Path, manifest_crc32: int, checked: frozenset[str], max_rows: int) -> Recording:
    """A recording that was opened elsewhere, where these tables' checksums were found to hold."""
    if not path.exists():
        raise WhyperfError(
            f"The worker on {platform.node()} cannot see the recording {path}: workers need it under the same path, "
            f"in a filesystem that all share.",
            f"ls {shlex.quote(str(path))}",
        )
    recording = Recording(path, max_rows=max_rows)
    if recording.manifest_crc32 != manifest_crc32:
        raise WhyperfError(
            f"The worker on {platform.node()} sees another recording than you under {path}.",
            f"cksum {shlex.quote(str(path / MANIFEST))}",
        )
    recording._checked |= checked
    return recording


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
        return read_regular(path / MANIFEST, MOST_JSON_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        raise not_a_recording(path) from None
    except OSError as error:
        raise WhyperfError(f"{path / MANIFEST} cannot be read: {error.strerror}.", f"ls -l {path}") from error


def broken_promise(column: Column, rows: pa.Table, first: int, rows_in: Callable[[str], int]) -> str | None:
    """What is wrong with a column of these rows; None if nothing is.

    `first` is the number of the first of these rows, `rows_in` says how many rows a table has.
    """
    if rows.num_rows == 0 or not pa.types.is_primitive(column.type):
        return None
    return next(_broken(column, rows.column(column.name).to_numpy(), first, rows_in), None)


def _broken(column: Column, values: npt.NDArray[Any], first: int, rows_in: Callable[[str], int]) -> Iterator[str]:
    name = f"its column {column.name}"
    if column.rows_of and not _are_rows(column, values, first, rows_in(column.rows_of)):
        yield f"{name} names rows that do not exist"
    if column.own_number and not np.array_equal(values, np.arange(first, first + len(values))):
        yield f"{name} does not number its rows"
    if column.firsts_in and not _are_firsts(values, rows_in(column.firsts_in)):
        yield f"{name} names rows that do not exist, or not in order"
    if column.one_of is not None and not _are_members(column.one_of, values):
        yield f"{name} holds kinds that do not exist"
    if np.issubdtype(values.dtype, np.floating) and not np.isfinite(values).all():
        yield f"{name} holds what is no number"
    if np.issubdtype(values.dtype, np.floating) and np.abs(values).max() > 2**_MOST_BITS:
        yield f"{name} holds numbers above 2^{_MOST_BITS}"
    if column.least is not None and values.min() < column.least:
        yield f"{name} holds numbers below {column.least}"


def _are_rows(column: Column, numbers: npt.NDArray[np.int64], first: int, count: int) -> bool:
    """-1 is none; chains come to an end."""
    if numbers.min() < -1 or numbers.max() >= count:
        return False
    own = np.arange(first, first + len(numbers))
    if column.name == "parent":
        return bool(np.all(numbers < own))
    if column.name == "inlined_in":
        return bool(np.all((numbers > own) | (numbers == -1)))
    return True


def _are_members(kinds: Kinds, values: npt.NDArray[Any]) -> bool:
    members = sorted(int(member) for member in kinds)
    if members == list(range(members[0], members[-1] + 1)):  # quicker than looking each up
        return bool(values.min() >= members[0] and values.max() <= members[-1])
    return bool(np.isin(values, members).all())


def _are_firsts(numbers: npt.NDArray[np.int64], count: int) -> bool:
    return bool(numbers[0] >= 0 and numbers[-1] <= count and np.all(np.diff(numbers) >= 0))
