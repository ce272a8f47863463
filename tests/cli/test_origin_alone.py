"""`whyperf origin` with one recording, as users meet it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import jsonschema
import pytest

from tests.cli.conftest import Whyperf, sentence
from tests.schemas import verdict_schema

SOURCE = Path(__file__).parents[1] / "origin" / "programs" / "ways.c"


@pytest.fixture
def slow(whyperf: Whyperf, tmp_path: Path) -> str:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    program = tmp_path / "ways"
    subprocess.run(["gcc", "-O2", "-g", SOURCE, "-o", program], check=True)
    done = whyperf("record", "-q", "-o", "slow", "--", str(program), "option", "300000")
    assert done.returncode == 0, done.stderr
    return "slow"


@pytest.mark.process
def test_one_recording_is_followed_to_its_option(whyperf: Whyperf, slow: str, tmp_path: Path) -> None:
    wanted = (slow, "--variable", "spin.rounds")
    done = whyperf("origin", *wanted, "--json", "chain.json", environment={"COLUMNS": "80"})
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80 and "runs of one command" in lines[0]
    assert lines[-1].strip() == "It is an option of the command line: argument 2 is `300000`."
    assert "was" not in done.stdout.split() and "turns bad here" not in done.stdout
    # AND the JSON says that there is no other side
    found = json.loads((tmp_path / "chain.json").read_text())["origin"]
    jsonschema.validate(found, verdict_schema()["$defs"]["origin"])
    assert found["turn"] is None and {hop["good"] for hop in found["hops"]} == {None}
    assert {(hop["bad"], hop["share"]) for hop in found["hops"]} == {("300,000", 1.0)}


@pytest.mark.process
def test_code_that_did_not_run_is_said(whyperf: Whyperf, slow: str, tmp_path: Path) -> None:
    done = whyperf("origin", slow, "--variable", "set_limit.mode", "--json", "chain.json")
    assert done.returncode == 4 and done.stderr.endswith("whyperf: None of the code that reads it ran.\n")
    # AND the JSON holds a chain without hops
    found = json.loads((tmp_path / "chain.json").read_text())["origin"]
    jsonschema.validate(found, verdict_schema()["$defs"]["origin"])
    assert found["hops"] == []


@pytest.mark.process
def test_two_recordings_that_hold_the_same_values(whyperf: Whyperf, slow: str, tmp_path: Path) -> None:
    # GIVEN the same command on both sides: that nothing differs is known
    shutil.copytree(tmp_path / slow, tmp_path / "again")
    done = whyperf("origin", slow, "again", "--variable", "spin.rounds", "--json", "chain.json")
    assert done.returncode == 3 and "Its values are the same in good and bad runs." in done.stderr
    found = json.loads((tmp_path / "chain.json").read_text())["origin"]
    jsonschema.validate(found, verdict_schema()["$defs"]["origin"])
    assert (found["end"], found["hops"], found["turn"]) == ("no-difference", [], None)
    # BUT of code that did not run, nothing is known
    done = whyperf("origin", slow, "again", "--variable", "set_limit.mode")
    assert done.returncode == 4 and "None of the code that reads it ran in bad runs." in done.stderr
    # AND neither is it where too few runs are allowed
    assert whyperf("origin", slow, "again", "--variable", "spin.rounds", "--most-runs", "1").returncode == 4


def test_a_recording_that_is_not_there(refused: Whyperf) -> None:
    done = refused("origin", "nowhere", "--variable", "spin.rounds")
    sentence(done, 1)
    assert "nowhere" in done.stderr
