"""Tables that were written before a column was added."""

from __future__ import annotations

import pyarrow as pa
import pytest

from whyperf.recording.schemas.schema import Column, Table

_TABLE = Table("things", "", (Column("thing", pa.int32(), ""), Column("since", pa.string(), "", absent="always")))


def test_an_older_table_gets_what_the_absence_of_a_column_means() -> None:
    completed = _TABLE.completed(pa.table({"thing": pa.array([1, 2], pa.int32())}))
    assert completed.to_pylist() == [{"thing": 1, "since": "always"}, {"thing": 2, "since": "always"}]
    assert completed.schema == _TABLE.schema


def test_what_is_there_is_kept_and_unknown_columns_are_passed_over() -> None:
    rows = pa.table({"newer": [0, 0], "since": ["today", None], "thing": pa.array([1, 2], pa.int32())})
    assert _TABLE.completed(rows).to_pylist() == [{"thing": 1, "since": "today"}, {"thing": 2, "since": "always"}]


def test_a_column_that_always_was_there_must_be_there() -> None:
    with pytest.raises(KeyError):
        _TABLE.completed(pa.table({"since": ["today"]}))
