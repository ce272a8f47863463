"""What a table is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa


@dataclass(frozen=True)
class Column:
    name: str
    type: pa.DataType
    meaning: str
    rows_of: str = ""  # the table whose rows it numbers; -1 where there is none
    rising: bool = False  # mostly close to the row before: stored as differences
    absent: Any = None  # what a table means that was written before there was such a column; None: there always was


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
        given = {name: rows.column(name) for name in rows.column_names}
        for column in self.columns:
            if column.absent is not None:
                if column.name not in given:
                    given[column.name] = pa.chunked_array([pa.array([None] * rows.num_rows, column.type)])
                given[column.name] = given[column.name].fill_null(column.absent)
        return pa.table(given).select(self.schema.names).cast(self.schema)
