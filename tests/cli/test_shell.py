"""Commands given as one string."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyperf.collect.target.program import Program, Redirection
from whyperf.collect.target.shell import (
    command_line,
    needs_only_redirections,
    program_name,
    typed,
    without_shell,
)
from whyperf.collect.target.shell_syntax import needs_shell
from whyperf.collect.target.spawn import spawn
from whyperf.errors import WhyperfError


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("echo a  b", ("echo", "a", "b")),
        ("echo 'a * b' \"c|d\"", ("echo", "a * b", "c|d")),
        ("echo \\$HOME", ("echo", "$HOME")),
        ("echo $HOME", ("/bin/sh", "-c", "exec echo $HOME")),
        ('echo "$HOME"', ("/bin/sh", "-c", 'exec echo "$HOME"')),
        ("echo a > /dev/null", ("/bin/sh", "-c", "exec echo a > /dev/null")),
        ("echo a | wc", ("/bin/sh", "-c", "echo a | wc")),
        ("A=1 env", ("/bin/sh", "-c", "A=1 env")),
        ("true && false", ("/bin/sh", "-c", "true && false")),
    ],
)
def test_what_is_started(command: str, expected: tuple[str, ...]) -> None:
    assert command_line(command, os.environ).command == expected


@given(st.lists(st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0")), min_size=1))
def test_quoted_words_never_need_a_shell(words: list[str]) -> None:
    command = shlex.join(["echo", *words])
    assert not needs_shell(command)
    assert command_line(command, os.environ).command == ("echo", *words)


@pytest.mark.parametrize(
    "command", ["printf %s a\\ b", "printf '%s' \"x y\"", "printf %s $((1+2))", "A=5 sh -c 'printf $A'"]
)
def test_it_means_what_it_means_to_a_shell(command: str) -> None:
    program = command_line(command, os.environ)
    ours = subprocess.run(program.command, executable=program.path, capture_output=True, check=True)
    shells = subprocess.run(["sh", "-c", command], capture_output=True, check=True)
    assert ours.stdout == shells.stdout


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("/bin/echo a", "echo"),
        ("/bin/cat < /dev/null > out", "cat"),
        ("sh -c 'cat < /dev/null'", "sh"),
        ("echo a | wc", "sh"),
        ("< /dev/null", "sh"),
    ],
)
def test_a_program_is_called_as_the_user_calls_it(command: str, name: str) -> None:
    assert program_name(command_line(command, os.environ).command) == name


def _started(program: Program, folder: Path) -> tuple[int, str]:
    """Status and output of a program with the streams it is given."""
    child = spawn(replace(program, folder=folder), os.environ, mask=())
    while not child.poll():
        time.sleep(0.01)
    written = folder / "out"
    return child.status or 0, written.read_text() if written.exists() else ""


@pytest.mark.parametrize(
    "command",
    [
        "cat < 'a b' > out",
        "cat <'a b' >out",
        "cat 0< 'a b' 1> out",
        "cat < 'a b' >> out",
        "cat missing > out 2>&1",
        "cat missing 2> out",
        "printf 2 > out",
        "printf '<x>' > out",
    ],
)
def test_redirections_are_made_without_a_shell(command: str, tmp_path: Path) -> None:
    results = []
    for name, make in (
        ("ours", lambda program: without_shell(program, os.environ)),
        ("shell", lambda program: program),
    ):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "a b").write_text("hello\n")
        program = make(command_line(command, os.environ))
        assert program is not None
        results.append(_started(program, folder))
    assert results[0] == results[1] and results[0][1]


@pytest.mark.parametrize(
    "command", ["cat < $HOME/x", "cat < a | wc", "A=1 cat < a", "cat < a &", "cat < *", "cat <<EOF"]
)
def test_what_else_a_shell_does_needs_one(command: str) -> None:
    program = command_line(command, os.environ)
    assert without_shell(program, os.environ) is None and not needs_only_redirections(program.command)


@pytest.mark.parametrize("command", ["cat a", "cat < a", "cat a | wc", "A=1 env", "printf '%s' 'a b'"])
def test_a_command_is_shown_as_it_was_typed(command: str) -> None:
    shown = typed(command_line(command, os.environ).command)
    assert command_line(shown, os.environ) == command_line(command, os.environ)
    assert "/bin/sh" not in shown


def test_an_input_that_is_not_there_is_named(tmp_path: Path) -> None:
    program = replace(command_line("cat", os.environ), redirections=(Redirection(0, "missing", os.O_RDONLY),))
    with pytest.raises(WhyperfError, match="missing could not be opened"):
        _started(program, tmp_path)
