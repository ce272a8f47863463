"""hyperfine's exports, Criterion's files, and which framework a command belongs to."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from whyperf.adapters.criterion import adapt as adapt_criterion
from whyperf.adapters.criterion import iterations_under
from whyperf.adapters.detection import adapt
from whyperf.adapters.hyperfine import choose, read_export
from whyperf.adapters.pytest_benchmark import is_pytest
from whyperf.cli.main import main
from whyperf.errors import WhyperfError


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What hyperfine itself writes."""
    file = tmp_path_factory.mktemp("hyperfine") / "times.json"
    command = ["hyperfine", "--runs", "3", "--warmup", "1", "--export-json", str(file), "sleep 0.05", "sleep 0.001"]
    subprocess.run(command, check=True, capture_output=True)
    return file


def test_of_two_commands_the_faster_one_is_good(export: Path) -> None:
    timed = read_export(export)
    assert choose(timed, export, None, None) == ("sleep 0.001", "sleep 0.05")
    assert choose(timed, export, "1", "sleep 0.001") == ("sleep 0.05", "sleep 0.001")


def test_more_commands_must_be_chosen_from(export: Path) -> None:
    timed = [*read_export(export), *read_export(export)]
    for good, bad, said in ((None, None, "choose two"), ("1", None, "choose two"), ("1", "9", "no command '9'")):
        with pytest.raises(WhyperfError, match=said):
            choose(timed, export, good, bad)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"results": 3}', '{"results": [{"command": 3}]}'])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(WhyperfError, match="is not what hyperfine"):
        read_export(tmp_path / "x.json")


def test_compare_runs_what_hyperfine_timed(
    export: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ["compare", "--quick", "--from-hyperfine", str(export), "--runs", "1", "--no-values", "-o", "out"]
    assert main(arguments) in (0, 3, 4)
    said = capfd.readouterr().err
    assert "good: sleep 0.001\n" in said and "bad: sleep 0.05\n" in said
    manifest = json.loads((tmp_path / "out" / "bad-1" / "manifest.json").read_text())
    assert "0.05" in json.dumps(manifest)


def test_criterions_samples_are_added_up(tmp_path: Path) -> None:
    """As Criterion.rs 0.3 and later lay them out."""
    for folder, name, counts in (("a_b", "a/b", [1.0, 2.0, 3.0]), ("c", "c", [5.0])):
        new = tmp_path / folder / "new"
        new.mkdir(parents=True)
        (new / "benchmark.json").write_text(json.dumps({"group_id": name, "full_id": name, "directory_name": folder}))
        (new / "sample.json").write_text(json.dumps({"sampling_mode": "Linear", "iters": counts, "times": counts}))
    assert iterations_under(tmp_path, "a/b") == 6.0
    assert iterations_under(tmp_path, "absent") is None
    (tmp_path / "c" / "new" / "sample.json").write_text('{"iters": "x"}')
    assert iterations_under(tmp_path, "c") is None


def test_criterions_run_is_found_once(tmp_path: Path) -> None:
    adapted = adapt_criterion(["./bench"], "a", tmp_path)
    assert adapted.command[-1] == "^a$" and "--bench" in adapted.command and adapted.ready is not None
    new = tmp_path / "results" / "a" / "new"
    new.mkdir(parents=True)
    (new / "benchmark.json").write_text('{"full_id": "a"}')
    (new / "sample.json").write_text('{"iters": [4.0]}')
    assert adapted.iterations is not None
    assert [adapted.iterations(tmp_path), adapted.iterations(tmp_path)] == [4.0, None]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["pytest", "x.py"], True),
        (["/usr/bin/py.test"], True),
        (["python3.11", "-m", "pytest"], True),
        (["python", "-m", "unittest"], False),
        (["./pytest.sh"], False),
        (["python", "-m"], False),
    ],
)
def test_pytest_is_known_by_its_name(words: list[str], expected: bool) -> None:
    assert is_pytest(words) is expected


def test_what_belongs_to_no_framework_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WhyperfError, match="neither a google-benchmark or Criterion program nor pytest"):
        adapt(["/bin/true"], "x", os.environ, tmp_path)
    with pytest.raises(WhyperfError, match="cargo would be recorded too"):
        adapt(["cargo", "bench"], "x", os.environ, tmp_path)
    (tmp_path / "bench").write_bytes(b"#!/bin/sh\n# CRITERION_HOME\n")
    (tmp_path / "bench").chmod(0o755)
    assert adapt([str(tmp_path / "bench")], "x", os.environ, tmp_path).ready is not None


@pytest.mark.parametrize("option", ["--drive ./x", "--work-count f", "--ready tcp:1", "--show-output", "--deep"])
def test_options_that_count_otherwise_are_refused(option: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--benchmark", "x", "--good", "true", "--bad", "true", *option.split()]) == 2
    assert "does not go with " + option.partition(" ")[0] in capfd.readouterr().err
