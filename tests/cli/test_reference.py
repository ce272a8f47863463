"""Manual and completion are made from the parsers: every command is in them."""

from __future__ import annotations

import subprocess

import pytest

from whyperf.cli.main import COMMANDS, main
from whyperf.cli.reference import commands_document


def test_every_command_has_its_section():
    document = commands_document()
    for name in COMMANDS:
        assert f"## whyperf {name}\n" in document


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion_knows_every_command(shell, capsys):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(name in script for name in COMMANDS)
    assert "fail" in script  # an option of one of them


def test_bash_completes_by_it(capsys):
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    asked = 'COMP_WORDS=(whyperf diag); COMP_CWORD=1; _shtab_whyperf whyperf diag whyperf; echo "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", f"{script}\n{asked}"], capture_output=True, text=True, check=False)
    assert "diagnose" in done.stdout, done.stderr
