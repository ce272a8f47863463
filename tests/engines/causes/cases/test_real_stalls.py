"""Real programs that stall, recorded and diagnosed by the real command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from bench.causes.cases import CASES, QUEUES, Case

from tests.collect.tracer.recording import Command, needs_bpf

pytestmark = [
    pytest.mark.process,
    needs_bpf,
    pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler"),
]

_NAMES = ("mutex-over-io", "io-uring", "own-executor")
_LONG = ("missing-signal", "two-mutexes", "glib-late", "uv-pool")
STALLS = {case.name: case for case in (*CASES, *QUEUES) if case.name in (*_NAMES, *_LONG)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stalls")


def recorded(command: Command, case: Case) -> None:
    for mode, words in case.commands(command.folder).items():
        command("record", "--trace", "--force", "-o", f"{case.name}.{mode}", "--", *words, status=None)


def diagnosed(command: Command, *recordings: str) -> dict[str, object]:
    done = command("diagnose", *recordings, "--json", "-", status=None)
    loaded: dict[str, object] = json.loads(done.stdout)
    return loaded


def stalls(verdict: dict[str, object]) -> list[dict[str, object]]:
    suspects = verdict["suspects"]
    assert isinstance(suspects, list)
    return [one for one in suspects if any(each["engine"] == "causes" for each in one["evidence"])]


@pytest.mark.parametrize("name", [*_NAMES, *(pytest.param(name, marks=pytest.mark.long) for name in _LONG)])
def test_the_culprit_comes_first(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # GIVEN a program, recorded as it should be and stalled
    case, command = STALLS[name], Command(folder)
    if case.why_not():
        pytest.skip(case.why_not())
    for variable, value in case.environment.items():
        monkeypatch.setenv(variable, value)
    recorded(command, case)
    # WHEN
    verdict = diagnosed(command, f"{name}.normal", f"{name}.stalled")
    # THEN
    first = stalls(verdict)[0]
    assert verdict["verdict"] == "difference"
    assert {first["function"], *first["path"]} & set(case.truth.functions)  # type: ignore[misc]
    assert not case.truth.thread or first["thread"] == case.truth.thread
    detail = next(each["detail"] for each in first["evidence"] if each["engine"] == "causes")  # type: ignore[attr-defined]
    assert not case.truth.ending or detail["ending"] == case.truth.ending


def test_the_same_behaviour_twice_has_no_culprit(folder: Path) -> None:
    case, command = STALLS["mutex-over-io"], Command(folder)
    words = case.commands(folder)["normal"]
    for number in (1, 2):
        command("record", "--trace", "--force", "-o", f"again.{number}", "--", *words)
    assert not stalls(diagnosed(command, "again.1", "again.2"))
