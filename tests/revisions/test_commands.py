"""`compare --rev`, `compare --bisect-exit` and `bisect` as users call them."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from tests.cli.conftest import Whyperf, refused, sentence, whyperf
from tests.revisions.conftest import History
from tests.revisions.programs import tool
from tests.schemas import verdict_schema

__all__ = ["refused", "whyperf"]  # fixtures

FAST, SLOW = 16, 64


@pytest.fixture
def slower(history: History) -> History:
    """Fast at v1, and slow since the commit before the last."""
    history.commit("Fast", tool(FAST))
    history.git("tag", "v1")
    history.commit("Reword", tool(FAST, "Adds up neighbours."))
    history.commit("Look further", tool(SLOW, "Adds up neighbours."))
    history.commit("Ignore what make makes", {".gitignore": "/tool\n"})
    return history


def test_two_revisions_are_compared_and_the_commit_is_named(slower: History, whyperf: Whyperf, tmp_path: Path) -> None:
    # GIVEN changes of the user's own, and an input that git does not know
    (slower.folder / "tool.c").write_text("not C\n")
    (slower.folder / "count").write_text("5000000\n")
    before = slower.state()
    out, page = tmp_path / "out", tmp_path / "page.html"
    options = ["--build", "make", "-o", str(out), "--json", "-", "--html", str(page)]
    done = whyperf(
        "compare", "--quick", "--rev", "v1", "--rev", "HEAD", *options, "--", "./tool", "count", cwd=slower.folder
    )
    # THEN the verdict has the hunk and the commit
    assert done.returncode == 0, done.stderr
    verdict = json.loads(done.stdout)
    jsonschema.validate(verdict, verdict_schema())
    first = verdict["suspects"][0]
    assert (first["function"], first["file"]) == ("look_up", "tool.c")
    (commit,) = first["commits"]
    wanted = slower.git("rev-parse", "HEAD~1")
    assert (commit["commit"], commit["subject"]) == (wanted, "Look further")
    assert commit["author"] == "Ada <ada@example.org>"
    changed = [(one["build"], one["text"].strip()) for one in first["change"]["hunks"][0] if one["build"] != "both"]
    assert changed == [(side, f"for (int i = 0; i < {n}; i++)") for side, n in (("good", FAST), ("bad", SLOW))]
    assert verdict["revisions"]["good"]["subject"] == "Fast" and verdict["revisions"]["bad"]["revision"] == "HEAD"
    assert "taken from your own tree: count" in done.stderr
    assert "uncommitted changes are in neither revision" in done.stderr
    assert page.stat().st_size > 0
    # AND the user's repository is what it was
    assert slower.state() == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--rev", "v1", "--good", "true", "--", "true"], "--rev compares revisions, --good and --bad commands"),
        (["--rev", "v1", "--rev", "HEAD"], "What shall be run in both revisions"),
        (["--rev", "v1", "--", "true"], "Two revisions are needed"),
        (["--rev", "HEAD..HEAD", "--", "true"], "are the same commit"),
        (["--rev", "v1", "--rev", "v9", "--", "true"], "There is no revision v9"),
        (["--rev=--all", "--rev", "HEAD", "--", "true"], "'--all' is not a revision"),
        (["--rev=--all..HEAD", "--", "true"], "Two revisions are needed"),
        (["--good", "true", "--bad", "true", "extra"], "Two commands are needed"),
        (["--good", "true", "--bad", "true", "--build", "make"], "--build builds the revisions of --rev"),
        (["--good", "true"], "Two commands are needed"),
    ],
)
def test_what_compare_refuses(
    history: History, refused: Whyperf, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    history.commit("First", {"a": "1\n"})
    history.git("tag", "v1")
    history.commit("Second", {"a": "2\n"})
    monkeypatch.chdir(history.folder)
    assert said in sentence(refused("compare", *arguments), 2)


def test_outside_of_a_repository(refused: Whyperf) -> None:
    assert "is not in a git repository" in sentence(refused("compare", "--rev", "a..b", "--", "true"), 2)


def test_a_build_that_fails_is_one_sentence(slower: History, whyperf: Whyperf) -> None:
    done = whyperf(
        "compare", "--rev", "v1..HEAD", "--build", "echo no such rule; exit 2", "--", "./tool", cwd=slower.folder
    )
    lines = done.stderr.strip().splitlines()
    assert done.returncode == 1
    assert "ended with status 2: no such rule (" in lines[-2] and lines[-1].startswith("  try: less ")


BISECT_EXITS = {
    "slower": (["--rev", "v1..HEAD"], 1),
    "faster": (["--rev", "HEAD", "--rev", "v1"], 0),
    "alike": (["--rev", "v1..HEAD~2"], 0),
    "unbuildable": (["--rev", "v1..HEAD", "--build", "exit 1"], 125),
    "not run": (["--rev", "v1..HEAD", "--build", "true"], 125),
    "used wrongly": (["--rev", "v1", "--rev", "nothing"], 128),
    "unknown option": (["--reev", "v1"], 128),
}


@pytest.mark.parametrize("case", BISECT_EXITS)
def test_exit_codes_for_git_bisect(slower: History, whyperf: Whyperf, tmp_path: Path, case: str) -> None:
    arguments, status = BISECT_EXITS[case]
    build = [] if "--build" in arguments else ["--build", "make"]
    options = ["--bisect-exit", "--runs", "3", "-o", str(tmp_path / "out")]
    done = whyperf("compare", "--quick", *arguments, *build, *options, "--", "./tool", cwd=slower.folder)
    # What noise leaves open is 125, which git bisect skips.
    assert done.returncode == status or (case == "alike" and done.returncode == 125), done.stderr


def test_bisect_names_the_commit(history: History, whyperf: Whyperf, tmp_path: Path) -> None:
    # GIVEN eight commits after a fast one: the sixth is slow, the one before it does not build
    history.commit("Base", tool(FAST))
    history.git("tag", "v1")
    for number in range(1, 9):
        source = tool(FAST if number < 6 else SLOW, f"Remark {number}.")
        if number == 5:
            source["tool.c"] += "int does not build;\n"
        history.commit(f"Commit {number}", source)
    slow, before = history.git("rev-parse", "HEAD~2"), history.state()
    options = ["--build", "make", "-o", str(tmp_path / "out"), "--json", str(tmp_path / "found.json")]
    done = whyperf("bisect", "--good", "v1", "--bad", "main", *options, "--", "./tool", cwd=history.folder)
    assert done.returncode == 0, done.stderr
    # THEN it is among those named: it, and the one that could not be built
    found = json.loads((tmp_path / "found.json").read_text())
    named = [one["commit"] for one in found["first_slow"]]
    assert named[-1] == slow and len(named) <= 2
    assert found["probability"] >= 0.95 and len(found["comparisons"]) <= 8
    assert sum(one["probability"] for one in found["posterior"]) == pytest.approx(1)
    if len(named) == 2:
        (skipped,) = found["skipped"]
        assert skipped["commit"] == named[0] and "ended with status" in skipped["why"]
    # AND the verdict is that between it and the last one before it that builds
    jsonschema.validate(found["verdict"], verdict_schema())
    assert found["verdict"]["revisions"]["bad"]["commit"] == slow
    assert found["verdict"]["revisions"]["good"]["subject"] == "Commit 4"
    assert found["verdict"]["suspects"][0]["function"] == "look_up"
    assert slow in done.stdout and "Author: Ada <ada@example.org>" in done.stdout
    assert history.state() == before


def test_ends_that_are_alike_are_not_searched(history: History, whyperf: Whyperf, tmp_path: Path) -> None:
    history.commit("Base", tool(FAST))
    history.commit("Reword", tool(FAST, "Adds up neighbours."))
    options = ["--build", "make", "-o", str(tmp_path / "out")]
    done = whyperf("bisect", "--good", "HEAD~1", "--bad", "HEAD", *options, "--", "./tool", cwd=history.folder)
    assert done.returncode in (3, 4), done.stderr
    assert "there is no commit to look for" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--good", "HEAD", "--bad", "HEAD", "--", "true"], "There is no commit after HEAD up to HEAD"),
        (["--good", "HEAD", "--bad", "HEAD~1", "--", "true"], "does not descend from"),
        (["--good", "HEAD~1", "--bad", "HEAD"], "What shall be run"),
        (["--good", "HEAD~1", "--bad", "HEAD", "--sure", "100", "--", "true"], "is not a percentage"),
    ],
)
def test_what_bisect_refuses(
    history: History, refused: Whyperf, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    history.commit("First", {"a": "1\n"})
    history.commit("Second", {"a": "2\n"})
    monkeypatch.chdir(history.folder)
    assert said in sentence(refused("bisect", *arguments), 2)
