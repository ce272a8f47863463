"""`whyperf ci`: what it compares, what it refuses, and what a budget, a failure or Ctrl-C leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S
from whyperf.ci.base import default_base
from whyperf.cli.main import main
from whyperf.errors import WhyperfError
from whyperf.revisions.git import find_repository

from .conftest import Project, commit, git

Done = subprocess.CompletedProcess[str]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A commit on main, and one on a branch."""
    path = tmp_path / "repository"
    path.mkdir()
    git(path, "init", "-q", "-b", "main")
    (path / "run.sh").write_text("#!/bin/sh\nexit 0\n")
    (path / "run.sh").chmod(0o755)
    commit(path, "Begin")
    git(path, "checkout", "-q", "-b", "change")
    (path / "more").touch()
    commit(path, "Change")
    return path


def configure(path: Path, text: str) -> None:
    (path / ".whyperf.toml").write_text(text)


def environment(path: Path) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "CI_", "GIT_"))}
    return {**inherited, "XDG_CACHE_HOME": str(path.parent / "cache")}


def whyperf_ci(path: Path, *arguments: str) -> Done:
    command = [sys.executable, "-m", "whyperf", "ci", *arguments]
    return subprocess.run(command, cwd=path, env=environment(path), capture_output=True, text=True, check=False)


def benchmarks(done: Done) -> dict[str, tuple[str, str]]:
    return {one["name"]: (one["state"], one["sentence"]) for one in json.loads(done.stdout)["benchmarks"]}


def test_a_head_that_fails_is_told_from_a_base_that_does(repository: Path) -> None:
    configure(
        repository,
        """\
[[benchmark]]
name = "does not build"
command = "./run.sh"
build = "test ! -e more"
[[benchmark]]
name = "crashes"
command = "sh -c 'test ! -e more'"
runs = 3
[[benchmark]]
name = "is new"
command = "sh -c 'test -e more'"
runs = 3
[[benchmark]]
name = "is absent"
command = "./absent"
""",
    )
    done = whyperf_ci(repository, "--json", "-")
    assert done.returncode == 1, done.stderr
    found = benchmarks(done)
    assert {name: state for name, (state, _) in found.items()} == {
        "does not build": "failed",
        "crashes": "failed",
        "is new": "not enough data",
        "is absent": "failed",
    }
    assert "The head cannot be measured: The build of" in found["does not build"][1]
    assert "ended with status 1, the base's did not" in found["crashes"][1]
    assert "The base cannot be measured" in found["is new"][1]
    assert whyperf_ci(repository, "--only", "does not build", "--fail-on", "never").returncode == 0


def test_the_budget_ends_what_hangs_and_leaves_nothing_out(repository: Path) -> None:
    marked = f"301.{os.getpid()}"  # seconds of sleep that only this test asks for
    configure(
        repository, f"[[benchmark]]\nname='hangs'\ncommand='sleep {marked}'\n[[benchmark]]\nname='b'\ncommand='true'\n"
    )
    began = time.monotonic()
    done = whyperf_ci(repository, "--budget", "2s", "--fail-on", "any-doubt", "--json", "-")
    assert time.monotonic() - began < 200
    assert done.returncode == 4, done.stderr
    found = benchmarks(done)
    assert list(found) == ["hangs", "b"]
    for state, sentence in found.values():
        assert state == "not enough data" and "The time budget of 2.00 s has ended: no pair of runs" in sentence
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert f"sleep {marked}" not in listed


def test_ctrl_c_keeps_what_is_finished(repository: Path) -> None:
    configure(repository, "[[benchmark]]\nname='a'\ncommand='./absent'\n[[benchmark]]\nname='b'\ncommand='sleep 30'\n")
    command = [sys.executable, "-m", "whyperf", "ci", "--json", "report.json"]
    with subprocess.Popen(
        command, cwd=repository, env=environment(repository), stderr=subprocess.PIPE, text=True
    ) as job:
        assert job.stderr is not None
        for line in job.stderr:
            if "b: run 1" in line:
                break
        time.sleep(0.5)
        job.send_signal(signal.SIGINT)
        said = job.stderr.read()
        assert job.wait(PATIENCE_S) == 130
    assert "Interrupted: what was finished is in the report." in said
    report = json.loads((repository / "report.json").read_text())
    assert report["interrupted"] is True
    sentences = [one["sentence"] for one in report["benchmarks"]]
    assert "absent" in sentences[0] and sentences[1] == "Interrupted before it was judged."


def test_the_users_tree_stays_as_it_is(project: Project) -> None:
    folder = project.at(project.slow)
    before = git(folder, "status", "--porcelain"), git(folder, "rev-parse", "HEAD"), git(folder, "stash", "list")
    command = [sys.executable, "-m", "whyperf", "ci", "--base", project.base, "--json", "-", "--budget", "1ms"]
    subprocess.run(command, cwd=folder, env=project.environment, capture_output=True, check=False)
    assert (
        git(folder, "status", "--porcelain"),
        git(folder, "rev-parse", "HEAD"),
        git(folder, "stash", "list"),
    ) == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "There is no .whyperf.toml"),
        (["--config", "x.toml"], "There is no x.toml"),
        (["--only", "b"], "has no benchmark 'b'; it has a"),
        (["--base", "HEAD"], "Base and head are the same commit"),
        (["--base", "absent"], "There is no revision absent"),
        (["--base=--output=x"], "is not a revision"),
        (["--json", "no/folder/x.json"], "There is no folder no/folder for --json"),
        (["--budget", "soon"], "is not a time"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(
    repository: Path,
    arguments: list[str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    if arguments:
        configure(repository, "[[benchmark]]\nname = 'a'\ncommand = 'true'\n")
    monkeypatch.chdir(repository)
    assert main(["ci", *arguments]) == 2
    printed = capfd.readouterr().err
    assert said in printed and len(printed.strip().splitlines()) == 2


def test_the_base_is_where_the_head_left_its_target(repository: Path) -> None:
    head, main = git(repository, "rev-parse", "HEAD"), git(repository, "rev-parse", "main")
    found = find_repository(repository)
    git(repository, "checkout", "-q", "main")
    (repository / "later").touch()
    later = commit(repository, "Meanwhile")
    assert default_base(found, head, {}) == main
    assert default_base(found, later, {}) == main  # on the branch itself: what was before
    git(repository, "branch", "target", later)
    for name in ("GITHUB_BASE_REF", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME"):
        assert default_base(found, head, {name: "target"}) == main
    assert default_base(found, head, {"CI_MERGE_REQUEST_DIFF_BASE_SHA": main}) == main
    git(repository, "branch", "-m", "main", "elsewhere")
    with pytest.raises(WhyperfError, match="cannot be told here"):
        default_base(found, head, {})
