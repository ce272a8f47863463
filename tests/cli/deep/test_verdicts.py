"""Deep recordings through the command line: what is answered, and how."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.cli.conftest import Done, Whyperf, sentence
from tests.schemas import verdict_schema
from whyperf.recording.zoom import read_plan


def compared(whyperf: Whyperf, shelf: Path, good: str, bad: str, *options: str) -> tuple[Done, dict[str, Any]]:
    sides = ("--good", f"{shelf} {good}", "--bad", f"{shelf} {bad}")
    done = whyperf("compare", "--deep", *options, *sides, "-o", "compared", "--json", "-")
    assert done.stdout, done.stderr
    verdict = json.loads(done.stdout)
    jsonschema.validate(verdict, verdict_schema())
    return done, verdict


def test_all_phases_in_one_command(whyperf: Whyperf, shelf: Path, tmp_path: Path) -> None:
    done, verdict = compared(whyperf, shelf, "100 50", "1000 50")
    assert done.returncode == 0 and verdict["verdict"] == "difference"
    assert verdict["symptom"]["measure"] == "instructions"
    suspect = verdict["suspects"][0]
    assert suspect["kind"] == "relation" and suspect["function"] in ("main", "find")
    assert suspect["evidence"][0]["engine"] == "relations"
    # Each phase was announced, with what it will take where that is known.
    said = done.stderr
    assert said.index("sketch of the good run") < said.index("sketch of the bad run") < said.index("zoom of the good")
    assert "left" in said[said.index("zoom of the bad run") :]
    # All recordings and the plan are kept, and can be asked again.
    kept = {path.name for path in (tmp_path / "compared").iterdir()}
    assert kept == {"good-sketch", "bad-sketch", "good-zoom", "bad-zoom", "plan.json"}
    again = whyperf("diagnose", "compared", "--json", "-")
    assert json.loads(again.stdout)["suspects"] == verdict["suspects"]


def test_sketches_answer_from_counts_and_name_the_command_that_zooms(
    whyperf: Whyperf, shelf: Path, tmp_path: Path
) -> None:
    for name, books in (("good", "100"), ("bad", "1000")):
        assert whyperf("record", "-q", "--deep", "-o", name, "--", str(shelf), books, "50").returncode == 0
    done = whyperf("diagnose", "good", "bad", "--symptom", "function:put", "--plan", "plan.json", "--json", "-")
    verdict = json.loads(done.stdout)
    assert done.returncode == 0 and (verdict["symptom"]["good"], verdict["symptom"]["bad"]) == (100, 1000)
    assert verdict["suspects"][0]["function"] == "main"
    assert verdict["next_command"].startswith("whyperf compare --deep --symptom function:put --good ")
    # AND the plan can be zoomed by.
    plan = read_plan(tmp_path / "plan.json")
    assert plan.symptom == "function:put" and {"main", "put"} <= {function.name for function in plan.functions}


def test_the_same_behaviour_is_no_difference_and_is_not_zoomed_into(
    whyperf: Whyperf, shelf: Path, tmp_path: Path
) -> None:
    done, verdict = compared(whyperf, shelf, "100 50", "100 50")
    assert done.returncode == 3 and verdict["verdict"] == "none" and not verdict["suspects"]
    assert not (tmp_path / "compared" / "good-zoom").exists()


def test_a_small_difference_is_not_called_none(whyperf: Whyperf, shelf: Path) -> None:
    done, verdict = compared(whyperf, shelf, "100 50", "113 50", "--symptom", "function:put")
    assert done.returncode == 3
    assert "Too small a difference to be explained: 113" in verdict["symptom"]["sentence"]


def test_a_symptom_that_never_happened_in_the_good_run(whyperf: Whyperf, shelf: Path) -> None:
    done, verdict = compared(whyperf, shelf, "100 0", "100 50", "--symptom", "function:find")
    assert done.returncode == 0 and (verdict["symptom"]["good"], verdict["symptom"]["bad"]) == (0, 50)
    assert verdict["suspects"][0]["function"] == "main"


def test_a_symptom_that_never_happened_in_the_bad_run(whyperf: Whyperf, shelf: Path) -> None:
    done, verdict = compared(whyperf, shelf, "100 50", "100 0", "--symptom", "function:find")
    assert done.returncode == 0 and verdict["symptom"]["sentence"] == "Fewer calls of find: 0, not 50."


def test_a_symptom_that_never_happened(whyperf: Whyperf, shelf: Path) -> None:
    for name in ("good", "bad"):
        assert whyperf("record", "-q", "--deep", "-o", name, "--", str(shelf), "20", "9").returncode == 0
    done = whyperf("diagnose", "good", "bad", "--symptom", "function:take")
    assert "take" in sentence(done, 1)


def test_runs_that_are_too_short(whyperf: Whyperf, shelf: Path) -> None:
    done, verdict = compared(whyperf, shelf, "100 1", "100 4", "--symptom", "function:find")
    assert done.returncode == 4 and "too short" in verdict["symptom"]["sentence"]


@pytest.mark.parametrize(
    ("symptom", "measure", "grown"),
    [("var:shelf.weight", "change", 3 * 400), ("memory", "bytes", 16 * 400), ("line:shelf.c:21", "executions", 400)],
)
def test_other_symptoms(whyperf: Whyperf, shelf: Path, symptom: str, measure: str, grown: int) -> None:
    done, verdict = compared(whyperf, shelf, "100 5", "500 5", "--symptom", symptom)
    assert done.returncode == 0, done.stderr
    found = verdict["symptom"]
    assert found["measure"] == measure and found["bad"] - found["good"] == grown
    # The loop that puts books on the shelf is in main.
    assert verdict["suspects"][0]["function"] == "main" and verdict["suspects"][0]["share"] > 0.9


def test_line_that_is_executed_as_often_as_before_is_no_difference(whyperf: Whyperf, shelf: Path) -> None:
    """Although the sketches differ."""
    done, verdict = compared(whyperf, shelf, "100 20", "500 20", "--symptom", "line:shelf.c:27")
    assert (verdict["symptom"]["good"], verdict["symptom"]["bad"]) == (20, 20)
    assert done.returncode == 3 and verdict["verdict"] == "none" and not verdict["suspects"]


def test_a_stripped_program_is_compared_by_its_functions_addresses(
    whyperf: Whyperf, shelf: Path, tmp_path: Path
) -> None:
    subprocess.run(["strip", shelf, "-o", tmp_path / "stripped"], check=True)
    symbols = subprocess.run(["nm", shelf], capture_output=True, text=True, check=True).stdout.split("\n")
    entry = {line.split()[2]: int(line.split()[0], 16) for line in symbols if len(line.split()) == 3}
    find = f"stripped+0x{entry['find']:x}"
    # GIVEN no memory of what the program was before, so that nothing but its code is known
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "DEBUGINFOD_URLS": ""}
    sides = ("--good", "./stripped 100 50", "--bad", "./stripped 1000 50")
    asked = ("compare", "--deep", "--symptom", f"instructions:{find}", *sides, "-o", "compared", "--json", "-")
    # WHEN
    done = whyperf(*asked, environment=environment)
    # THEN
    verdict = json.loads(done.stdout)
    assert verdict["suspects"][0]["function"] == find and verdict["suspects"][0]["share"] > 0.9, done.stderr
    assert "runs" in verdict["suspects"][0]["why"]
