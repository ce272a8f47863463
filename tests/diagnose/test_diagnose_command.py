"""`whyperf diagnose`: arguments, outputs, exit statuses."""

from __future__ import annotations

import argparse
import json

import pytest

from tests.engines.made import recording
from whyperf.cli import diagnose as command
from whyperf.errors import WhyperfError

pytestmark = pytest.mark.process

STACKS = [(("main", "parse"), 2.0), (("main", "store"), 2.0)]
SLOW = [(("main", "parse"), 2.0), (("main", "store"), 8.0)]


@pytest.fixture
def recordings(monkeypatch):
    """Recordings by name instead of from disk."""
    known = {
        **{f"good-{n}": recording(STACKS, path=f"good-{n}") for n in range(3)},
        **{f"bad-{n}": recording(SLOW, path=f"bad-{n}") for n in range(3)},
    }
    monkeypatch.setattr("whyperf.seal.opening.open_recording", lambda path, **_limits: known[str(path)])
    return known


def run(*words):
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return command.run(parser.parse_args(words))


THREE = ("--good", "good-0", "good-1", "good-2", "--bad", "bad-0", "bad-1", "bad-2")


def test_a_difference_is_shown_and_exits_with_0(recordings, capsys):
    assert run(*THREE) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Bad runs use 2.5 times the CPU time")
    assert "store" in shown


def test_two_positional_recordings_are_one_of_each(recordings, capsys):
    assert run("good-0", "bad-0") == 0
    assert "(1+1 runs)" in capsys.readouterr().out


def test_no_difference_exits_with_3(recordings):
    assert run("good-0", "good-1") == 3


def test_insufficient_exits_with_4(recordings):
    recordings["bad-0"] = recording([(words, seconds * 1.2) for words, seconds in STACKS])
    assert run("good-0", "bad-0") == 4


@pytest.mark.parametrize(("percent", "status"), [("10", 5), ("149%", 5), ("151", 0)])
def test_fail_if_slower(recordings, percent, status):
    assert run(*THREE, "--fail-if-slower", percent) == status


def test_fail_if_slower_passes_without_a_difference(recordings):
    assert run("good-0", "good-1", "--fail-if-slower", "0") == 3


@pytest.mark.parametrize("option", [("--at", "12s"), ("--thread", "main"), ("--stack-events", "syscalls")])
def test_options_for_kernel_events_are_refused_where_none_were_recorded(recordings, option):
    with pytest.raises(
        WhyperfError, match=f"{option[0]} is for traced recordings, and good-0 was recorded without"
    ) as said:
        run(*THREE, *option)
    assert "--trace" in (said.value.next_command or "")
    assert said.value.status == 2


def test_json_to_standard_output_is_all_there_is(recordings, capsys):
    assert run(*THREE, "--json", "-") == 0
    assert json.loads(capsys.readouterr().out)["suspects"][0]["function"] == "store"


def test_json_to_a_file_comes_with_the_report(recordings, capsys, tmp_path):
    run(*THREE, "--json", str(tmp_path / "verdict.json"))
    assert json.loads((tmp_path / "verdict.json").read_text())["verdict"] == "difference"
    assert "store" in capsys.readouterr().out


def test_json_to_nowhere_is_a_sentence(recordings, tmp_path):
    with pytest.raises(WhyperfError, match="There is no folder"):
        run(*THREE, "--json", str(tmp_path / "no" / "verdict.json"))
    with pytest.raises(WhyperfError, match="cannot be written"):
        run(*THREE, "--json", "/dev/full")


@pytest.mark.parametrize("pair", [("good-0", "bad-0"), ("good-0", "good-1")])
def test_explain_one_function_with_or_without_a_difference(recordings, capsys, pair):
    run(*pair, "--explain", "parse")
    assert "parse ranks" in capsys.readouterr().out


def test_explain_a_suspect_by_its_number(recordings, capsys):
    run(*THREE, "--explain", "1")
    assert "It already ranks first" in capsys.readouterr().out
    with pytest.raises(WhyperfError, match="No run was ever seen"):
        run(*THREE, "--explain", "99")


def test_explain_an_unknown_function_is_a_sentence(recordings):
    with pytest.raises(WhyperfError, match="No run was ever seen"):
        run(*THREE, "--explain", "nobody")


@pytest.mark.parametrize("words", [(), ("a", "b", "c"), ("--good", "a"), ("x", "--good", "a", "--bad", "b")])
def test_wrong_recordings_are_a_sentence(words):
    with pytest.raises(WhyperfError, match="Name a good and a bad recording") as error:
        run(*words)
    assert error.value.status == 2
