"""A program whose input comes from a file, under the real Valgrind tool."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Whyperf

_SOURCE = Path(__file__).parents[1] / "programs" / "batches.c"


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_the_program_and_not_the_shell_is_looked_into(whyperf: Whyperf, tmp_path: Path) -> None:
    subprocess.run(["gcc", "-g", "-O2", _SOURCE, "-o", tmp_path / "batches"], check=True)
    (tmp_path / "few").write_text("5\n")
    (tmp_path / "many").write_text("40\n")
    done = whyperf("compare", "--deep", "./batches < few", "./batches < many", "--json", "-")
    assert done.returncode == 0, done.stderr
    verdict = json.loads(done.stdout)
    assert verdict["suspects"][0]["function"] == "plan"
    assert verdict["next_command"].startswith("whyperf view --open ")
    refused = whyperf("compare", "--deep", "cat few | ./batches", "cat many | ./batches")
    assert refused.returncode == 2 and "more of the shell's syntax than redirections" in refused.stderr
