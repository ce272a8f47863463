"""Manual and completion are made from the parsers: every command is in them."""

from __future__ import annotations

import subprocess

import pytest

from whyperf.cli.main import COMMANDS, main
from whyperf.cli.reference import commands_document, overview


def test_every_command_has_its_section():
    document = commands_document()
    for name in COMMANDS:
        assert f"## whyperf {name}\n" in document


def test_the_overview_leads_to_every_command_and_can_be_pasted():
    page = overview()
    for name, summary in COMMANDS.items():
        assert f".BR whyperf\\-{name} (1)\n{summary.partition('-')[0]}" in page
    requests = {line.split()[0] for line in page.splitlines() if line.startswith((".", "'"))}
    assert requests <= {".TH", ".SH", ".TP", ".BR", ".B", ".I", ".RI", ".nf", ".fi"}
    assert 'whyperf compare "./tool small.txt" "./tool big.txt"' in page


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
