"""The symptom from ordinary recordings beside: their costliest suspect."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Whyperf, sentence
from tests.engines import made
from whyperf.cli import symptom_from
from whyperf.cli.symptom_from import costliest
from whyperf.recording.symptom import SymptomKind


def test_costliest_suspect_is_what_is_explained(whyperf: Whyperf, shelf: Path) -> None:
    # GIVEN ordinary recordings, in which searching takes the time
    done = whyperf(
        "compare", "--quick", "--good", f"{shelf} 9 9", "--bad", f"{shelf} 20000 9000", "--runs", "2", "-o", "sampled"
    )
    assert "find" in done.stdout, done.stderr
    # WHEN the same program is compared deeply
    sides = ("--good", f"{shelf} 100 50", "--bad", f"{shelf} 1000 50")
    done = whyperf("compare", "--deep", "--symptom-from", "sampled", *sides, "-o", "deep", "--json", "-")
    # THEN
    verdict = json.loads(done.stdout)
    assert verdict["symptom"]["sentence"].startswith("More instructions in find: ")
    assert any("The symptom is instructions:find" in note for note in verdict["notes"])
    assert verdict["suspects"][0]["function"] in ("find", "main")
    # AND what was recorded can be asked the same
    again = whyperf("diagnose", "deep", "--symptom-from", "sampled/good-1", "sampled/bad-1", "--json", "-")
    assert json.loads(again.stdout)["suspects"] == verdict["suspects"]
    # AND deep recordings are none to choose by
    refused = whyperf("diagnose", "deep", "--symptom-from", "deep")
    assert "holds deep recordings" in sentence(refused, 2)


def test_suspects_that_the_program_does_not_have_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    good = [made.recording([(["main", "a"], 2.0), (["main", "b"], 2.0)]) for _ in range(3)]
    bad = [made.recording([(["main", "a"], 4.0), (["main", "b"], 9.0)]) for _ in range(3)]
    monkeypatch.setattr(symptom_from, "_sides", lambda paths: (good, bad))
    assert costliest([Path("beside")], lambda spec: True).spec.name == "b"
    assert costliest([Path("beside")], lambda spec: spec.name == "a").spec.name == "a"
    none = costliest([Path("beside")], lambda spec: False)
    assert none.spec.kind is SymptomKind.INSTRUCTIONS and not none.spec.name and "all instructions" in none.note


def test_one_symptom_at_a_time(whyperf: Whyperf, shelf: Path) -> None:
    sides = ("--good", str(shelf), "--bad", str(shelf))
    done = whyperf("compare", "--deep", "--symptom", "memory", "--symptom-from", "x", *sides)
    assert sentence(done, 2) == "--symptom and --symptom-from exclude each other."
    done = whyperf("compare", "--deep", "--symptom-from", "x", *sides)
    assert sentence(done, 1) == "x does not hold good and bad recordings."


def test_explaining_needs_samples(whyperf: Whyperf, shelf: Path) -> None:
    sides = ("--good", str(shelf), "--bad", str(shelf))
    done = whyperf("compare", "--deep", "--explain", "find", *sides)
    assert "--explain tells of the time that was sampled" in sentence(done, 2)
    assert "--symptom instructions:find" in done.stderr
