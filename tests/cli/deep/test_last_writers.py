"""`origin --deep` as users meet it: runs under Valgrind say who wrote what is read."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Whyperf

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed"),
    pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler"),
]
SOURCE = Path(__file__).parents[2] / "origin" / "programs" / "tangled.c"


@pytest.fixture
def recordings(whyperf: Whyperf, tmp_path: Path) -> list[str]:
    """A good and a bad one of a program whose members lie elsewhere in every run."""
    program = tmp_path / "tangled"
    subprocess.run(["gcc", "-O2", "-g", "-pthread", SOURCE, "-o", program], check=True)
    for name, mode in (("good", "0"), ("bad", "1")):
        done = whyperf("record", "-o", name, "--", str(program), "plain", mode)
        assert done.returncode == 0, done.stderr
    return ["good", "bad", "--variable", "spin.rounds"]


def test_a_chain_goes_on_with_runs_under_valgrind(whyperf: Whyperf, recordings: list[str]) -> None:
    without = whyperf("origin", *recordings)
    assert without.returncode == 4 and "Valgrind" not in without.stdout, without.stdout + without.stderr
    done = whyperf("origin", *recordings, "--deep", "--json", "-")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["origin"]
    # THEN one hop is by Valgrind, and the way ends at the option
    [deep] = [hop for hop in found["hops"] if hop["deep"]]
    assert deep["function"] == "put" and deep["source"].startswith("*(long *)where = value;"), found
    turned = found["hops"][found["turn"]]
    assert (turned["function"], turned["good"], turned["bad"]) == ("planned", "50", "5,000")
    assert found["end"] == "outside" and "argument 2 is `1`, was `0`" in found["sentence"]


def test_what_is_told_on_the_terminal(whyperf: Whyperf, recordings: list[str]) -> None:
    done = whyperf("origin", *recordings, "--deep", environment={"COLUMNS": "200"})
    assert done.returncode == 0, done.stderr
    [told] = [line for line in done.stdout.splitlines() if "by a run under Valgrind" in line]
    assert told.split()[:2] == ["<-", "put"], done.stdout
    assert done.stdout.rstrip().endswith("It is an option of the command line: argument 2 is `1`, was `0`.")
