"""What a table is made of."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class Column:
    name: str
    type: pa.DataType
    meaning: str
    rows_of: str = ""  # the table whose rows it numbers; -1 where there is none
    rising: bool = False  # mostly close to the row before: stored as differences


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
