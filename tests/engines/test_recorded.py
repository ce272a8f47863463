"""Columns of stored tables, however their rows are grouped."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines.made import Made, recording
from whyperf.engines.recorded import columns_of, rows_of
from whyperf.recording.reader import Recording
from whyperf.recording.tables import SAMPLES
from whyperf.recording.writer import write_recording

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
