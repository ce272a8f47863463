"""What spares typing: commands without options, guesses, pages that open, a project's usual options, completion."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Whyperf, sentence
from whyperf.cli.main import command_named, parser_for
from whyperf.cli.project_options import add_usual_options

BUSY = "sh -c 'i=0; while [ $i -lt {n} ]; do i=$((i+1)); done'"


def test_two_words_are_the_good_and_the_bad_command(whyperf: Whyperf, tmp_path: Path) -> None:
    done = whyperf(
        "compare", BUSY.format(n=20_000), BUSY.format(n=200_000), "--runs", "1", "-o", str(tmp_path / "both")
    )
    assert done.returncode in (0, 3, 4), done.stderr
    assert (tmp_path / "both" / "good-1").is_dir() and (tmp_path / "both" / "bad-1").is_dir()


@pytest.mark.parametrize("words", [["./a"], ["./a", "./b", "./c"], ["--good", "./a", "./b"]])
def test_other_than_two_commands_are_refused(refused: Whyperf, words: list[str]) -> None:
    done = refused("compare", *words)
    assert "Two commands are needed" in sentence(done, 2)


@pytest.mark.parametrize(
    ("words", "meant"),
    [(["comprae"], "compare"), (["record", "--outptu", "x"], "--output"), (["diagnose", "--jsno=x"], "--json")],
)
def test_misspelled_words_are_guessed(refused: Whyperf, words: list[str], meant: str) -> None:
    done = refused(*words)
    assert f"; the nearest is {meant}." in sentence(done, 2)


def test_nothing_is_guessed_from_what_is_like_nothing(refused: Whyperf) -> None:
    assert "nearest" not in refused("xyzzy").stderr + refused("record", "--xyzzy").stderr


@pytest.mark.parametrize("words", [["attach"], ["record", "-p"]])
def test_a_running_process_is_recorded(whyperf: Whyperf, tmp_path: Path, words: list[str]) -> None:
    with subprocess.Popen(["sleep", "60"]) as running:
        try:
            name, *option = words
            done = whyperf(name, *option, str(running.pid), "--for", "0.3s", "-o", str(tmp_path / "seen"))
            assert done.returncode == 0, done.stderr
            assert running.poll() is None
        finally:
            running.kill()
    assert (tmp_path / "seen" / "manifest.json").is_file()


def test_the_page_is_opened(whyperf: Whyperf, tmp_path: Path) -> None:
    # GIVEN a browser that notes what it is asked for
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/asked\n')
    browser.chmod(browser.stat().st_mode | stat.S_IXUSR)
    os.environ["BROWSER"] = str(browser)
    try:
        done = whyperf("compare", "true", "true", "--runs", "1", "--open", "-o", str(tmp_path / "both"))
    finally:
        del os.environ["BROWSER"]
    assert done.returncode in (3, 4), done.stderr
    page = tmp_path / "both" / "verdict.html"
    assert page.is_file()
    assert (tmp_path / "asked").read_text().strip() == page.as_uri()


def test_usual_options_of_a_project_count_less_than_typed_ones(whyperf: Whyperf, tmp_path: Path) -> None:
    (tmp_path / ".whyperf.toml").write_text("[compare]\nruns = 2\nshow-output = true\n")
    done = whyperf("compare", "echo a", "echo b", "--quick", "-o", "usual", cwd=tmp_path)
    assert "options of .whyperf.toml: --runs 2 --show-output" in done.stderr
    assert done.stdout.splitlines().count("a") == 2 and (tmp_path / "usual" / "bad-2").is_dir()
    (tmp_path / ".whyperf.toml").write_text("[compare]\nruns = 2\nshow-output = true\nbudget = '5m'\n")
    typed = whyperf("compare", "echo a", "echo b", "--quick", "--runs", "1", "-o", "typed", cwd=tmp_path)
    assert typed.stdout.splitlines().count("a") == 1
    assert not (tmp_path / "typed" / "bad-2").exists()


@pytest.mark.parametrize(
    ("usual", "typed", "left"),
    [
        ("prove = true\nruns = 2", ["--quick"], {"runs": 2, "prove": False, "quick": True}),
        ("prove = true", ["--deep"], {"prove": False, "deep": True}),
        ("quick = true", ["--prove"], {"prove": True, "quick": False}),
        ("quick = true", ["--budget=2m"], {"budget": 120.0, "quick": False}),
        ("prove = true", ["--prove", "--quick"], {"prove": True, "quick": True}),
        ("prove = true", [], {"prove": True}),
        ("prove = true", ["--", "./its-own-option", "--quick"], {"prove": True, "quick": False}),
    ],
)
def test_a_typed_option_leaves_out_the_usual_one_that_it_excludes(
    tmp_path: Path, usual: str, typed: list[str], left: dict[str, object]
) -> None:
    (tmp_path / ".whyperf.toml").write_text(f"[compare]\n{usual}\n")
    parser = parser_for("compare", command_named("compare"))
    add_usual_options("compare", parser, tmp_path, typed)
    args = parser.parse_args([*typed, "true", "true"])
    assert {name: getattr(args, name) for name in left} == left


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[compare]\nrnus = 2\n", "rnus is not a known option: runs is"),
        ("[compare]\nruns = true\n", "runs is text or a number"),
        ("[compare]\nruns = 'x'\n", "runs does not fit"),
        ("[compare]\nclock = 'sun'\n", "clock is one of"),
        ("[compare]\ndeep = 1\n", "deep is true or false"),
        ("compare = 1\n", "compare is not a table"),
        ("[compare\n", "is not valid TOML"),
    ],
)
def test_wrong_usual_options_are_told_in_a_sentence(refused: Whyperf, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / ".whyperf.toml").write_text(text)
    done = refused("compare", "true", "true")
    assert said in sentence(done, 2)


def test_options_that_anybody_may_write_are_not_read(whyperf: Whyperf, tmp_path: Path) -> None:
    file = tmp_path / ".whyperf.toml"
    file.write_text('[record]\ndrive = "touch ran"\n')
    file.chmod(0o666)
    done = whyperf("record", "-o", "one", "--", "true", cwd=tmp_path)
    assert "is not read: another user may have written it" in done.stderr
    assert done.returncode == 0 and not (tmp_path / "ran").exists()


def test_fish_takes_the_completion(whyperf: Whyperf, tmp_path: Path) -> None:
    script = tmp_path / "whyperf.fish"
    script.write_text(whyperf("completion", "fish").stdout)
    try:
        asked = [
            "fish",
            "--no-config",
            "-c",
            f"source {script}; complete -C 'whyperf comp'; complete -C 'whyperf compare --bis'",
        ]
        done = subprocess.run(
            asked, capture_output=True, text=True, check=False, env={**os.environ, "HOME": str(tmp_path)}
        )
    except FileNotFoundError:
        pytest.skip("fish is not installed")
    assert done.stderr == ""
    words = [line.split("\t")[0] for line in done.stdout.splitlines()]
    assert words == ["compare", "completion", "--bisect-exit"]


def test_further_runs_keep_to_the_budget(whyperf: Whyperf, tmp_path: Path) -> None:
    sides = (BUSY.format(n=6_000), BUSY.format(n=120_000))
    done = whyperf("compare", *sides, "--budget", "1ms", "-o", "short")
    assert done.returncode == 0, done.stderr
    assert "skipped counting calls: it needs about" in done.stderr
    assert not (tmp_path / "short" / "good-4").exists()
    done = whyperf("compare", *sides, "--quick", "-o", "quick")
    assert "counting" not in done.stderr
    done = whyperf("compare", *sides, "-o", "whole")
    assert (tmp_path / "whole" / "good-4").is_dir() and (tmp_path / "whole" / "bad-4").is_dir(), done.stderr
