"""Tables from columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from whyperf.recording.schemas.schema import Table
from whyperf.recording.schemas.tables import WORK
from whyperf.recording.sealed.manifest import Manifest
from whyperf.seal.checked_numbers import number, words
from whyperf.seal.evidence import RawEvidence


def table_of(table: Table, **columns: Iterable[Any]) -> pa.Table:
    given = {field.name: pa.array(columns[field.name], field.type) for field in table.schema if field.name in columns}
    return table.completed(pa.table(given))


def work_table(evidence: RawEvidence, manifest: Manifest) -> pa.Table:
    """What the driver or a counted function said; a run is one unit where nobody said anything."""
    said = [value for value in evidence.said if value.get("type") == "work"]
    rows = [(int(number(v.get("time"))), words(v.get("unit", "unit")), number(v.get("count"))) for v in said]
    rows = rows or [(manifest.end_monotonic, "run", 1.0)]
    time, unit, count = zip(*rows, strict=True)
    return table_of(WORK, time=list(time), unit=list(unit), count=list(count))


def texts(table: pa.Table, name: str) -> list[str]:
    return [str(text) for text in table.column(name).to_pylist()]


def with_column(table: pa.Table, name: str, column: Any) -> pa.Table:
    """Another column in the place of the one of that name."""
    at = table.schema.get_field_index(name)
    field = table.schema.field(at)
    return table.set_column(at, field, pa.array(column, field.type))
