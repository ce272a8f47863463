"""`whyperf doctor --fix`: what it runs, and that it asks first."""

from __future__ import annotations

import os
import pty
from pathlib import Path

import pytest

from tests.cli.conftest import Whyperf, sentence
from whyperf.cli import doctor, doctor_fixes
from whyperf.cli.doctor_fixes import commands_of, run_fixes, runnable
from whyperf.collect.machine import Check, CheckState
from whyperf.optional import INSTALL_NUMBA

PACKAGES = "sudo apt-get install valgrind gcc libc6-dev"
SETTING = "sudo sysctl kernel.perf_event_paranoid=2"


def checks(*fixes: str | None) -> list[Check]:
    return [Check(f"check {number}", CheckState.LIMITED, "not here", fix) for number, fix in enumerate(fixes)]


def test_only_commands_that_repair_something_are_run_and_each_once() -> None:
    advice = ("sudo whyperf record ...", "export XDG_CACHE_HOME=$(mktemp -d)", "df -h .", None)
    assert runnable(checks(PACKAGES, *advice, SETTING, PACKAGES, INSTALL_NUMBA)) == [PACKAGES, SETTING, INSTALL_NUMBA]


def test_packages_are_installed_without_a_second_question_and_with_lists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install = ["apt-get", "install", "--yes", "--no-install-recommends", "valgrind", "gcc", "libc6-dev"]
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert commands_of(PACKAGES, tmp_path) == [["sudo", "apt-get", "update"], ["sudo", *install]]
    assert commands_of(SETTING) == [SETTING.split()]
    # AND root needs no sudo
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    (tmp_path / "mirror_dists_main_Packages.lz4").touch()
    assert commands_of(PACKAGES, tmp_path) == [install]


def test_what_was_not_agreed_to_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    for name in ("sysctl", "sudo"):
        (tmp_path / name).write_text(f'#!/bin/sh\necho "$@" >> {log}\n')
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    other = "sudo sysctl kernel.yama.ptrace_scope=0"
    assert run_fixes(checks(SETTING, other), lambda fix: fix == other)
    assert log.read_text().split()[-1] == "kernel.yama.ptrace_scope=0" and "paranoid" not in log.read_text()
    assert not run_fixes(checks(SETTING), lambda _: False)


def test_a_command_that_fails_does_not_stop_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    (tmp_path / "sysctl").write_text("#!/bin/sh\necho tried $1; exit 3\n")
    (tmp_path / "sysctl").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert run_fixes(checks(SETTING, "sudo sysctl a=b"), lambda _: True)
    said = capfd.readouterr()
    assert "tried a=b" in said.out and said.err.count("failed with status 3") == 2


@pytest.mark.parametrize(("typed", "agreed"), [("y\n", True), ("\n", False), ("no\n", False), ("", False)])
def test_the_question_says_who_needs_root(
    typed: str, agreed: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    reader, writer = pty.openpty()
    if typed:
        os.write(reader, typed.encode())
    else:
        os.write(reader, b"\x04")
    with os.fdopen(writer) as terminal:
        monkeypatch.setattr("sys.stdin", terminal)
        assert doctor_fixes.ask(SETTING) is agreed
    os.close(reader)
    said = capsys.readouterr().out
    assert SETTING in said and "needs root" in said and "until the next boot" in said


def test_yes_does_not_cover_settings_of_the_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor._agrees(PACKAGES) and not doctor._agrees(SETTING)
    assert "run it yourself" in capsys.readouterr().out


@pytest.mark.process
def test_without_a_terminal_nothing_is_asked_or_run(whyperf: Whyperf) -> None:
    done = whyperf("doctor", "--fix")
    assert "no terminal to ask on" in sentence(done, 2)
    assert "--yes belongs to --fix" in sentence(whyperf("doctor", "--yes"), 2)
    assert "--fix prints no JSON" in sentence(whyperf("doctor", "--fix", "--json"), 2)
