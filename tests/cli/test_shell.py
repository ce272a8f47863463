"""Commands given as one string."""

from __future__ import annotations

import os
import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyperf.collect.shell import command_line, needs_shell


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
