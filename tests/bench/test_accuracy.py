"""Non-bugs and repetitions: which pairs are made, what counts as right, what is printed."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from bench.accuracy.nonbugs import Pair, half_a_cpu, markdown, twice, with_different_goods
from bench.accuracy.repeats import Repeated
from bench.accuracy.repeats import markdown as repeats_markdown
from bench.cache import BENCH
from bench.cases.case import Case, all_cases
from bench.tool import record
from hypothesis import given
from hypothesis import strategies as st

CASES = all_cases()


def test_a_good_side_that_cases_share_is_tried_once() -> None:
    first = CASES[0]
    shared = replace(first, id="other", bad="something else")
    assert with_different_goods([first, shared, CASES[1]]) == [first, CASES[1]]


@pytest.mark.parametrize("case", [case for case in CASES if twice(case) is not None], ids=lambda case: case.id)
def test_twice_the_load_differs_from_the_good_side_by_numbers_alone(case: Case) -> None:
    more = twice(case)
    assert more is not None
    good, other = ((one.good + one.good_drive).split() for one in (case, more))
    assert good != other
    # THEN programs and options are the same, whatever is repeated
    assert {word for word in good if not word.isdigit()} == {word for word in other if not word.isdigit()}


def test_twenty_pairs_can_be_made_of_twice_and_same_alone() -> None:
    different = with_different_goods(CASES)
    assert len(different) + sum(twice(case) is not None for case in different) >= 20


def test_half_a_cpu_is_for_what_is_started_meanwhile_and_no_longer() -> None:
    asked = [sys.executable, "-c", "import os; print(len(os.sched_getaffinity(0)))"]
    before = os.sched_getaffinity(0)
    with half_a_cpu():
        told = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "1"
    assert os.sched_getaffinity(0) == before


def test_any_suspect_is_wrong_whatever_the_verdict() -> None:
    right = Pair("a", "same", "insufficient", 1.0, ())
    wrong = Pair("b", "half", "difference", 1.9, ("innocent",))
    told = markdown([right, wrong])
    assert "| same | 1 | 1 (100%)" in told
    assert "| half | 1 | 0 (0%)" in told
    assert "| all | 2 | 1 (50%)" in told
    assert "| b | half | 1.90 | `innocent` |" in told
    assert "No pair yields a suspect." in markdown([right])


@given(st.lists(st.one_of(st.none(), st.integers(1, 4)), min_size=1, max_size=10))
def test_the_usual_rank_is_the_most_frequent(ranks: list[int | None]) -> None:
    one = Repeated("a", tuple(ranks))
    assert all(ranks.count(one.usual) >= ranks.count(other) for other in ranks)
    assert 0 < one.unchanged <= 1


def test_steady_cases_are_counted() -> None:
    told = repeats_markdown([Repeated("a", (1,) * 9 + (2,)), Repeated("b", (1, 2, None, 2))])
    assert "| a | 1 1 1 1 1 1 1 1 1 2 | 1 | 90% |" in told
    assert "| b | 1 2 - 2 | 2 | 50% |" in told
    assert "1 of 2 cases; in 11 of 14 repetitions" in told


def test_a_case_that_does_not_exist_is_said() -> None:
    asked = [sys.executable, "-m", "bench.accuracy", "--only", "no-such-case"]
    told = subprocess.run(asked, capture_output=True, text=True, check=False, cwd=BENCH.parent)
    assert (told.returncode, told.stderr) == (2, "No case is called no-such-case.\n")


def test_a_diagnosis_is_not_charged_with_the_memory_of_who_asks_for_it(tmp_path: Path) -> None:
    # GIVEN somebody who holds far more than a diagnosis of two short runs takes
    for side in ("good-1", "bad-1"):
        record(tmp_path / side, ["true"])
    held_mb = 1024
    asking = f"""
held = b"x" * ({held_mb} << 20)
from pathlib import Path
from bench.accuracy.comparing import measured, recordings_in
print(measured(recordings_in(Path({str(tmp_path)!r})))[1].memory_mb)
"""
    # WHEN they measure it
    asked = [sys.executable, "-c", asking]
    told = subprocess.run(asked, capture_output=True, text=True, check=True, cwd=BENCH.parent)
    # THEN its memory is its own
    assert 20 < float(told.stdout) < held_mb / 2
