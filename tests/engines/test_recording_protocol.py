"""Columns of stored tables, however their rows are grouped."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines.made import Made, recording
from whyperf.engines.recording_protocol import columns_of, rows_of
from whyperf.errors import WhyperfError
from whyperf.recording.schemas.tables import SAMPLES, STACKS
from whyperf.recording.sealed.reader import Recording
from whyperf.recording.sealed.writer import write_recording

_NAMES = ("time", "stack", "clock")


def _sealed(made: Made, samples: pa.Table, folder: Path, groups: list[int]) -> Recording:
    """With these samples, written in row groups of these sizes."""
    starts = np.cumsum([0, *groups]).tolist()
    batches = [
        batch
        for start, size in zip(starts, groups, strict=False)
        for batch in samples.slice(start, size).combine_chunks().to_batches()
    ]
    stream = pa.RecordBatchReader.from_batches(SAMPLES.schema, batches)
    write_recording(folder, made.manifest, {**made.tables, "samples": stream})
    return Recording(folder)


@pytest.mark.thorough
@given(st.lists(st.integers(1, 30), min_size=1, max_size=6))
@settings(max_examples=12, deadline=None)
def test_columns_are_those_of_the_table_however_rows_are_grouped(groups: list[int]) -> None:
    # GIVEN samples stored in groups of any size
    made = recording([(["main", f"work@{number % 7}"], 0.01) for number in range(sum(groups))])
    samples = made.table("samples").slice(0, sum(groups))
    with tempfile.TemporaryDirectory() as folder:
        sealed = _sealed(made, samples, Path(folder) / "sealed", groups)
        # WHEN columns are asked for
        held = columns_of(sealed, "samples", _NAMES)
        # THEN they hold what the table holds, and the table itself was never in memory
        assert rows_of(sealed, "samples").count == samples.num_rows
        assert "samples" not in sealed._tables
        for name in _NAMES:
            expected = samples.column(name).to_numpy()
            assert held[name].dtype == expected.dtype
            np.testing.assert_array_equal(held[name], expected)


def test_columns_of_a_recording_in_memory_are_taken_as_they_are() -> None:
    made = recording([(["main"], 0.01), (["main", "work"], 0.02)])
    np.testing.assert_array_equal(
        columns_of(made, "samples", ["weight"])["weight"], made.table("samples").column("weight").to_numpy()
    )


@pytest.mark.thorough
@given(st.lists(st.integers(1, 5), min_size=2, max_size=5), st.data())
@settings(max_examples=12, deadline=None)
def test_chains_are_checked_across_groups(groups: list[int], data: st.DataObject) -> None:
    # GIVEN a chain of stack nodes, each the child of the one before, stored in groups of any size
    made = recording([([f"f{depth}" for depth in range(sum(groups))], 0.01)])
    stacks = made.table("stacks").slice(0, sum(groups))
    batches = [
        batch
        for start, size in zip(np.cumsum([0, *groups]).tolist(), groups, strict=False)
        for batch in stacks.slice(start, size).combine_chunks().to_batches()
    ]
    broken = data.draw(st.integers(0, len(batches) - 1))
    rows = [{**row, "parent": stacks.num_rows - 1} for row in batches[broken].to_pylist()]
    forward = pa.RecordBatch.from_pylist(rows, schema=STACKS.schema)
    with tempfile.TemporaryDirectory() as folder:
        tables = {**made.tables, "stacks": pa.RecordBatchReader.from_batches(STACKS.schema, batches)}
        write_recording(Path(folder) / "sound", made.manifest, tables)
        tables["stacks"] = pa.RecordBatchReader.from_batches(
            STACKS.schema, [*batches[:broken], forward, *batches[broken + 1 :]]
        )
        write_recording(Path(folder) / "broken", made.manifest, tables)
        # WHEN parents are read THEN those of whole chains are as they were
        held = columns_of(Recording(Path(folder) / "sound"), "stacks", ["parent"])
        np.testing.assert_array_equal(held["parent"], stacks.column("parent").to_numpy())
        # and those that lead forward, so that a chain may not come to its end, are refused
        with pytest.raises(WhyperfError, match="column parent names rows that do not exist"):
            columns_of(Recording(Path(folder) / "broken"), "stacks", ["parent"])


def test_columns_of_an_empty_table_are_empty(tmp_path: Path) -> None:
    made = recording([(["main"], 0.01)])
    write_recording(tmp_path / "empty", made.manifest, {**made.tables, "samples": SAMPLES.schema.empty_table()})
    held = columns_of(Recording(tmp_path / "empty"), "samples", _NAMES)
    assert [len(held[name]) for name in _NAMES] == [0, 0, 0]
    assert held["time"].dtype == np.int64
