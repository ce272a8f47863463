"""Large recordings made for the speed book: runs repeated in time as if they had gone on, and many call paths."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from bench.speed.made_stacks import make_stacks
from bench.speed.made_values import make_large
from bench.speed.multiplied import ONCE, count_of, multiplied
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines.made import recording
from whyperf.diagnose.diagnosis import diagnose
from whyperf.diagnose.verdict import VerdictKind
from whyperf.recording.schemas.events import EVENTS, EventKind
from whyperf.recording.schemas.tables import VALUES, VARIABLES, WORK
from whyperf.recording.sealed.manifest import Deep
from whyperf.recording.sealed.reader import Recording
from whyperf.recording.sealed.writer import write_recording

_KINDS = (EventKind.FORK, EventKind.EXEC, EventKind.SWITCH, EventKind.SYSCALL, EventKind.SYSCALL, EventKind.EXIT)


def _seed(folder: Path, readings: list[tuple[int, int]]) -> Recording:
    """Two variables, read in these (variable, sample) pairs; a few events; ten units of work."""
    made = recording([(["main", "work"], 0.1), (["main"], 0.1)])
    rows = sorted(set(readings))
    names = ("signed", "local", "int", "v", "/src/tool.c", "loop")
    variables = [
        {"variable": number, "function": 0, "module": 0, "order": number, "line": 1,
         **dict(zip(("kind", "scope", "type", "name", "file", "roles"), names, strict=True))}
        for number in range(2)
    ]  # fmt: skip
    values = [{"variable": v, "sample": s, "depth": 0, "frame": 0, "value": 10 * v + s} for v, s in rows]
    begin = made.manifest.start_monotonic
    events = [
        {**dict.fromkeys(EVENTS.schema.names, 0), "time": begin + at, "kind": kind, "other": -1, "stack": -1}
        for at, kind in enumerate(_KINDS)
    ]
    tables = {
        **made.tables,
        "variables": pa.Table.from_pylist(variables, schema=VARIABLES.schema),
        "values": pa.Table.from_pylist(values, schema=VALUES.schema),
        "events": pa.Table.from_pylist(events, schema=EVENTS.schema),
        "work": pa.table({"time": [begin + 5], "unit": ["request"], "count": [10.0]}, schema=WORK.schema),
    }
    write_recording(folder, made.manifest, tables)
    return Recording(folder)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 15)), min_size=1, max_size=20), st.integers(1, 4))
@settings(max_examples=8, deadline=None)
def test_run_goes_on_as_it_was(readings: list[tuple[int, int]], times: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        # GIVEN a sealed recording
        seed = _seed(Path(folder) / "seed", readings)
        # WHEN it is repeated
        longer = Recording(multiplied(seed.path, Path(folder) / "longer", times))
        # THEN its moments follow each other, and there are so many times as many
        for table in ("samples", "work"):
            assert np.all(np.diff(longer.column(table, "time")) >= 0)
            assert count_of(longer.path, table) == times * count_of(seed.path, table)
        # AND each variable's readings are the same series again and again, in the order that readers rely on
        samples = count_of(seed.path, "samples")
        keys = longer.column("values", "variable").astype(np.int64) * 10**9 + longer.column("values", "sample")
        assert np.all(np.diff(keys) > 0)
        for variable in range(2):
            mine, again = (
                one.column("values", "value")[one.column("values", "variable") == variable] for one in (seed, longer)
            )
            np.testing.assert_array_equal(again, np.tile(mine, times))
        assert np.all(longer.column("values", "sample") < times * samples)
        # AND nobody begins or ends twice, while work adds up
        kinds = longer.column("events", "kind")
        assert sum(int(np.sum(kinds == kind)) for kind in ONCE) == sum(kind in ONCE for kind in _KINDS)
        assert int(np.sum(kinds == EventKind.SYSCALL)) == 2 * times
        assert longer.column("work", "count")[-1] == 10.0 * times
        assert longer.manifest.totals.cpu_user_s == pytest.approx(times * seed.manifest.totals.cpu_user_s)
        assert longer.manifest.window.end >= longer.column("samples", "time")[-1]


def test_counted_executions_have_no_time_to_be_repeated(tmp_path: Path) -> None:
    made = recording([(["main"], 0.1)])
    deep = Deep("zoom", "3.19", "", 10, 5, 1)
    write_recording(tmp_path / "seed", replace(made.manifest, deep=deep), made.tables)
    with pytest.raises(ValueError, match="counts executions"):
        multiplied(tmp_path / "seed", tmp_path / "longer", 2)


def test_made_call_paths_are_a_comparison_like_any_other(tmp_path: Path) -> None:
    # GIVEN recordings of many call paths, some of which take longer in the bad one
    good, bad = (Recording(make_stacks(tmp_path / side, 50, bad=side == "bad")) for side in ("good", "bad"))
    assert good.column("functions", "function").size > 40
    # THEN a difference is found
    assert diagnose([good], [bad]).kind is VerdictKind.DIFFERENCE


@pytest.mark.parametrize("bad", [False, True])
def test_values_of_any_size_are_written_piece_by_piece(tmp_path: Path, bad: bool) -> None:
    # GIVEN more values than are made at once
    rows = (3 << 20) // 2
    make_large(tmp_path / "large", rows, bad=bad)
    # WHEN they are read, and so checked
    made = Recording(tmp_path / "large")
    stored = made.rows("values")
    # THEN about so many are there, each variable's together and in the order of samples
    assert 0.8 * rows < stored.count <= rows + len(made.table("variables"))
    whole = made.table("values")
    variable, sample = (whole.column(name).to_numpy().astype(np.int64) for name in ("variable", "sample"))
    assert (np.diff(variable * (1 << 32) + sample) > 0).all()
    assert sample.max() < len(made.table("samples"))
