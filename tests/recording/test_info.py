"""`whyperf info` says what is in a recording, whatever is in it."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.recording.made import MANIFEST, ROWS, make_recording, tables
from whyperf.cli import info
from whyperf.diagnose.losses import lost_in
from whyperf.errors import WhyperfError
from whyperf.recording.sealed.manifest import Losses, Manifest, Unfollowed
from whyperf.recording.sealed.writer import write_recording


def shown(path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    parser = argparse.ArgumentParser()
    info.add_arguments(parser)
    assert info.run(parser.parse_args([str(path), *options])) == 0
    return capsys.readouterr().out


def make(path: Path, manifest: Manifest) -> Path:
    write_recording(path, manifest, tables())
    return path


def test_the_essentials(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(make_recording(tmp_path / "rec"), capsys)
    assert "./tool 'big file.txt'" in text
    assert "the program ended (status 0)" in text
    assert "500 of running threads (200 Hz, cpu-timer)" in text
    assert "100.0%  tool (program, full debug information)" in text
    assert "the outer end of 2 stacks: stack memory unreadable" in text
    assert "not followed 3 times: /bin/s (static)" in text
    assert "\x1b" not in text


def test_nothing_lost_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(make(tmp_path / "rec", replace(MANIFEST, losses=Losses())), capsys)
    assert "lost        nothing" in text


def test_a_program_that_was_started_once_is_said_to_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    losses = Losses(unfollowed=(Unfollowed("/bin/s", "static", 1),))
    text = shown(make(tmp_path / "rec", replace(MANIFEST, losses=losses)), capsys)
    assert "not followed once: /bin/s (static)" in text


def test_everything_lost_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    losses = replace(
        Losses(11, 22, 33, 4.5, {"reason": 55}, 66, (Unfollowed("/p", "why", 77),), 88),
        unsampled_cpu_s=9.9,
        threads_without_faults=99,
        threads_limited=2,
        notes=("odd",),
    )
    text = shown(make(tmp_path / "rec", replace(MANIFEST, losses=losses)), capsys)
    for number in (
        "11 samples",
        "22 records",
        "33 sampling",
        "4.5 s",
        "55 stacks",
        "66 threads: no ring",
        "2 threads were sampled only until the program limited queued signals",
        "77 times",
        "88 dam",
        "9.90 s CPU",
        "page faults of 99 threads",
    ):
        assert number in text
    assert "note        odd" in text


def test_one_thread_is_not_said_to_be_several(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    losses = Losses(threads_unsampled=1, threads_limited=1)
    text = shown(make(tmp_path / "rec", replace(MANIFEST, losses=losses)), capsys)
    assert "1 thread: no ring" in text
    assert "1 thread was sampled only until the program limited queued signals" in text
    # AND a report says the same
    assert list(lost_in(replace(MANIFEST, losses=losses))) == [
        "1 thread could not be sampled.",
        "1 thread was sampled only until the program limited queued signals.",
    ]


def test_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = json.loads(shown(make_recording(tmp_path / "rec"), capsys, "--json"))
    assert facts["command"] == list(MANIFEST.command)
    assert (facts["samples"], facts["threads"], facts["processes"]) == (500, 1, 1)
    assert facts["modules"][0]["share"] == 1.0
    assert facts["losses"]["stacks_cut"] == {"stack memory unreadable": 2}


def test_text_from_the_recording_cannot_steer_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hostile = replace(MANIFEST, command=("\x1b[2J[bold]x",), stopped_by="\x07", start_real=1 << 64, exit_signal=999)
    text = shown(make(tmp_path / "rec", hostile), capsys)
    assert "\x1b" not in text and "\x07" not in text
    assert "[bold]x" in text


def test_an_empty_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = make_recording(tmp_path / "rec", **{name: [] for name in ROWS})
    assert "0 of running threads" in shown(path, capsys)


def test_what_is_no_recording_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(WhyperfError, match="There is no recording"):
        shown(tmp_path / "absent", capsys)
