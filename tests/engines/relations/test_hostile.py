"""Deep recordings whose checksums hold and whose tables do not fit together are refused with a sentence."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tests.engines.relations.stored import stored_sketch, stored_zoom
from tests.recording.repaired import Plain, repair, replace_table
from whyperf.cli.main import main
from whyperf.recording.schemas.tables import table_named
from whyperf.recording.sealed.reader import Recording


@pytest.fixture(autouse=True)
def tracebacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHYPERF_DEBUG", "1")


def test_whole_ones_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, make in (("sketch", stored_sketch), ("zoom", stored_zoom)):
        good, bad = make(tmp_path / f"{name}-good"), make(tmp_path / f"{name}-bad", 120 if name == "sketch" else 2)
        assert main(["info", str(good)]) == 0
        assert main(["diagnose", str(good), str(bad)]) in (0, 3, 4)
    assert "dependences for instructions" in capsys.readouterr().out


@pytest.mark.parametrize("phase", ["zoom", "sketch"])
def test_tables_that_the_manifest_does_not_list(tmp_path: Path, phase: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = stored_zoom(tmp_path / "rec") if phase == "zoom" else stored_sketch(tmp_path / "rec")
    missing = "dependences" if phase == "zoom" else "calls"

    def change(plain: Plain) -> None:
        del plain["tables"][missing]

    repair(path, change=change)
    assert main(["info", str(path)]) == 1
    assert f"the table {missing} cannot be used, the manifest does not list it" in capsys.readouterr().err


def test_a_phase_that_there_is_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = stored_zoom(tmp_path / "rec")

    def change(plain: Plain) -> None:
        plain["deep"]["phase"] = "scan"

    repair(path, change=change)
    assert main(["info", str(path)]) == 1
    assert "neither sketch nor zoom" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "column", "value", "words"),
    [
        ("regions", "kind", 6, "kinds that do not exist"),
        ("regions", "kind", -1, "kinds that do not exist"),
        ("sites", "kind", 77, "kinds that do not exist"),
        ("dependences", "kind", 4, "kinds that do not exist"),
        ("executions", "dependences", 1 << 40, "rows that do not exist, or not in order"),
        ("executions", "dependences", -1, "rows that do not exist, or not in order"),
    ],
)
def test_columns_that_break_their_promise(
    tmp_path: Path, name: str, column: str, value: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = stored_zoom(tmp_path / "good"), stored_zoom(tmp_path / "bad", 2)
    rows = Recording(bad).table(name).to_pylist()
    rows[-1] = {**rows[-1], column: value}
    replace_table(bad, name, pa.Table.from_pylist(rows, table_named(name).schema))
    assert main(["diagnose", str(good), str(bad)]) == 1
    said = capsys.readouterr().err
    assert f"the table {name} cannot be used" in said and words in said


def test_more_activations_than_a_run_can_have(tmp_path: Path) -> None:
    paths = [stored_sketch(tmp_path / "good", 60), stored_sketch(tmp_path / "bad", 240)]
    for path in paths:
        rows = [{**row, "activations": (1 << 63) - 1} for row in Recording(path).table("fanouts").to_pylist()]
        replace_table(path, "fanouts", pa.Table.from_pylist(rows * 3, table_named("fanouts").schema))
    assert main(["diagnose", *map(str, paths)]) in (0, 3, 4)
