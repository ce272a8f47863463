"""Deep comparison end to end: known causes first, nothing for the same behaviour, through the command line."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from bench.cases.case import CASES, commands
from bench.relations.case import RelationsCase, lines_of, load, same_behaviour
from bench.relations.outcome import Answer, answer_of, is_right, score
from bench.tool import whyperf, whyperf_argument

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed"),
]


def smaller(case: str, good: str, bad: str) -> RelationsCase:
    return replace(load(CASES / case), good=good, bad=bad, same=good)


def compared(case: RelationsCase, folder: Path, symptom: str = "") -> Answer:
    wanted = commands(case)
    sides = ["--good", whyperf_argument(wanted.good.command), "--bad", whyperf_argument(wanted.bad.command)]
    asked = ["--symptom", symptom] if symptom else []
    return answer_of(whyperf("compare", "--deep", *asked, *sides, "-o", str(folder / "recordings")))


def assert_right(case: RelationsCase, answer: Answer) -> None:
    truth = lines_of(case)
    assert is_right(answer, score(answer, truth, case.also), truth), answer


@pytest.mark.long
def test_extra_call_per_restoration_is_named(tmp_path: Path) -> None:
    """MongoDB-57221: the loop over plans runs twice where it ran once."""
    case = smaller("mongo-57221", "{documents} 200 up created", "{documents} 200 up created latest")
    assert_right(case, compared(case, tmp_path, case.symptom))


def test_value_that_a_release_clears_is_named_across_two_builds(tmp_path: Path) -> None:
    """MongoDB-44991: `info->size = 0` reaches the decision through memory."""
    case = smaller("mongo-44991", "{before} 80", "{after} 80")
    answer = compared(case, tmp_path, case.symptom)
    assert_right(case, answer)
    assert score(answer, lines_of(case), ()).on_the_line


def test_same_behaviour_twice_has_no_candidate(tmp_path: Path) -> None:
    case = same_behaviour(smaller("mongo-44991", "{before} 80", "{after} 80"))
    assert_right(case, compared(case, tmp_path))
