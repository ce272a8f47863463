"""A table read by row groups: what is larger than memory is walked through, each group decoded once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whyperf.errors import WhyperfError
from whyperf.recording.schemas.schema import Column, Table
from whyperf.recording.sealed.parquet import ParquetTable

Columns = dict[str, npt.NDArray[Any]]

# Decoded groups kept: rows asked for in order need the group at hand and the one before.
_GROUPS_KEPT = 2


class Rows(Protocol):
    """Numeric columns by row number, of a table sorted by one of them."""

    @property
    def count(self) -> int: ...

    def spans(self, name: str) -> dict[int, tuple[int, int]]: ...

    def read(self, start: int, stop: int) -> Columns: ...

    def pieces(self, names: Sequence[str]) -> Iterator[Columns]: ...


class HeldRows:
    """A table that is in memory anyway."""

    def __init__(self, table: pa.Table) -> None:
        self._columns: Columns = {name: table.column(name).to_numpy() for name in table.column_names}
        self._count = table.num_rows

    @property
    def count(self) -> int:
        return self._count

    def spans(self, name: str) -> dict[int, tuple[int, int]]:
        numbers = self._columns[name]
        firsts = np.flatnonzero(np.diff(numbers, prepend=-2))
        ends = [*firsts[1:].tolist(), len(numbers)]
        return {
            number: (first, end)
            for number, first, end in zip(numbers[firsts].tolist(), firsts.tolist(), ends, strict=True)
        }

    def read(self, start: int, stop: int) -> Columns:
        return {name: values[start:stop] for name, values in self._columns.items()}

    def pieces(self, names: Sequence[str]) -> Iterator[Columns]:
        """The named columns of all rows, in order."""
        yield {name: self._columns[name] for name in names}


class StoredRows:
    """Numeric columns of a Parquet file by row number."""

    def __init__(
        self,
        file: ParquetTable,
        table: Table,
        check: Callable[[Column, pa.Table, int], None],
        damaged: Callable[[str], WhyperfError],
    ) -> None:
        self._file, self._table, self._check, self._damaged = file, table, check, damaged
        self._starts = np.concatenate(([0], np.cumsum(np.array(file.groups, np.int64))))
        self._kept: OrderedDict[int, Columns] = OrderedDict()

    @property
    def count(self) -> int:
        return int(self._starts[-1])

    def spans(self, name: str) -> dict[int, tuple[int, int]]:
        """For a column by which the table is sorted: the rows of each of its numbers."""
        found: dict[int, tuple[int, int]] = {}
        latest = -1
        for group in range(len(self._starts) - 1):
            numbers = self._decode(group, [name])[name]
            firsts = np.flatnonzero(np.diff(numbers, prepend=-2))
            begin = int(self._starts[group])
            ends = [*firsts[1:].tolist(), len(numbers)]
            for number, first, end in zip(numbers[firsts].tolist(), firsts.tolist(), ends, strict=True):
                if number < latest:
                    raise self._damaged(f"it is not sorted by {name}")
                latest = number
                start = found[number][0] if number in found else begin + first
                found[number] = (start, begin + end)
        return found

    def read(self, start: int, stop: int) -> Columns:
        """All columns of the rows from `start` up to `stop`."""
        first = int(np.searchsorted(self._starts, start, "right")) - 1
        last = int(np.searchsorted(self._starts, stop, "left")) - 1
        pieces = []
        for group in range(first, last + 1):
            begin = int(self._starts[group])
            columns = self._group(group)
            here = slice(max(0, start - begin), min(int(self._starts[group + 1]), stop) - begin)
            pieces.append({name: values[here] for name, values in columns.items()})
        if len(pieces) == 1:
            return pieces[0]
        names = [column.name for column in self._table.columns]
        return {name: np.concatenate([piece[name] for piece in pieces]) for name in names}

    def pieces(self, names: Sequence[str]) -> Iterator[Columns]:
        """The named columns of all rows, in order, a row group at a time."""
        for group in range(len(self._starts) - 1):
            yield self._decode(group, list(names))

    def _group(self, group: int) -> Columns:
        if group in self._kept:
            self._kept.move_to_end(group)
            return self._kept[group]
        columns = self._decode(group, [column.name for column in self._table.columns])
        self._kept[group] = columns
        while len(self._kept) > _GROUPS_KEPT:
            self._kept.popitem(last=False)
        return columns

    def _decode(self, group: int, names: list[str]) -> Columns:
        try:
            wanted = replace(self._table, columns=tuple(one for one in self._table.columns if one.name in names))
            rows = self._file.read_group(group, wanted)
        except (pa.ArrowException, KeyError, ValueError, OSError) as error:
            raise self._damaged(f"it does not fit the format ({str(error).splitlines()[0]})") from error
        for column in self._table.columns:
            if column.name in names:
                self._check(column, rows, int(self._starts[group]))
        return {name: rows.column(name).to_numpy() for name in names}
