"""A deep recording made of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from tests.engines import made
from whyperf.recording.schemas.deep_tables import DEEP_TABLES


def deep_recording(rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> made.Made:
    """Tables that are not given are empty."""
    empty = made.recording([(["main"], 0.0)])
    tables = dict(empty.tables)
    for table in (*made.TABLES, *DEEP_TABLES):
        if table.name in rows:
            tables[table.name] = pa.Table.from_pylist(list(rows[table.name]), schema=table.schema)
        elif table in DEEP_TABLES:
            tables[table.name] = table.schema.empty_table()
    return made.Made(empty.path, empty.manifest, tables)
