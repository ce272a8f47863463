"""What a table is made of."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import pyarrow as pa

Kinds = type[IntEnum]


@dataclass(frozen=True)
class Column:
    name: str
    type: pa.DataType
    meaning: str
    rows_of: str = ""  # the table whose rows it numbers; -1 where there is none
    rising: bool = False  # mostly close to the row before: stored as differences
    absent: Any = None  # what a table means that was written before there was such a column; None: there always was
    firsts_in: str = ""  # the table in which a row's own rows begin here, and end where the next row's begin
    one_of: Kinds | None = None  # whose members it holds
    least: int | None = None  # the smallest number possible
    own_number: bool = False  # it numbers the rows of its own table


@dataclass(frozen=True)
class Table:
    name: str
    meaning: str
    columns: tuple[Column, ...]
    optional: bool = False
    """Only some recordings have it; in the others it is read as one without rows."""

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([pa.field(c.name, c.type, nullable=False) for c in self.columns])

    def completed(self, rows: pa.Table) -> pa.Table:
        """The rows in this schema: columns that were added since they were made get what their absence means."""
        given: dict[str, Any] = {name: rows.column(name) for name in rows.column_names}
        for column in self.columns:
            if column.absent is not None:
                kind: Any = column.type  # the stubs know every type by its name only
                known = given.get(column.name, pa.nulls(rows.num_rows, kind))
                given[column.name] = known.fill_null(column.absent)
        return pa.table(given).select(self.schema.names).cast(self.schema)
