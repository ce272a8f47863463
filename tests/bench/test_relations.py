"""Cases of changed relations are complete, and what they are scored by is told on verdicts made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bench.cases.case import CASES
from bench.relations import run as runs
from bench.relations.case import Lines, RelationsCase, lines_of, relations_cases, same_behaviour
from bench.relations.cost import Phase, Plain
from bench.relations.outcome import answer_of, is_right, score
from bench.relations.report import markdown
from bench.relations.run import Comparison, Result
from bench.subjects import PROGRAMS, SUBJECTS

OURS = [case for case in relations_cases() if not {build.subject for build in case.builds.values()} & set(SUBJECTS)]
TRUTH = (Lines("mark", "collect.c", 26, 26), Lines("mark", "collect.c", 32, 32))


def suspect(function: str, line: int, **detail: Any) -> dict[str, Any]:
    evidence = [{"engine": "relations", "rank": 1, "score": 1.0, "detail": detail}]
    return {
        "function": function,
        "file": "/elsewhere/collect.c",
        "line": line,
        "share": 0.9,
        "why": "",
        "evidence": evidence,
    }


def verdict(*suspects: dict[str, Any]) -> dict[str, Any]:
    kind = "difference" if suspects else "none"
    return {"verdict": kind, "symptom": {"good": 2.0, "bad": 5.0}, "suspects": list(suspects)}


@pytest.mark.parametrize("case", relations_cases(), ids=lambda case: case.id)
def test_case_is_complete(case: RelationsCase) -> None:
    assert (CASES / case.id / "README.md").read_text().startswith(f"# {case.id}\n")
    assert case.good and case.bad and case.same
    assert bool(case.ready) == bool(case.good_drive) == bool(case.bad_drive)
    for build in case.builds.values():
        assert build.subject in SUBJECTS or (PROGRAMS / build.subject).is_dir()
        assert not build.patch or (CASES / case.id / build.patch).is_file()


@pytest.mark.parametrize("case", OURS, ids=lambda case: case.id)
def test_every_decision_is_a_line_of_a_function_of_that_name(case: RelationsCase) -> None:
    for decision in case.decisions:
        found = [lines for lines in lines_of(case) if lines.function == decision.function]
        assert found, decision


def test_real_programs_and_one_without_a_cause_are_among_them() -> None:
    cases = relations_cases()
    assert {build.subject for case in cases for build in case.builds.values()} >= {"coreutils", "redis", "sqlite"}
    assert [case.id for case in cases if not case.decisions] == ["store-disk"]


def test_same_behaviour_has_nothing_to_be_found() -> None:
    for case in relations_cases():
        twin = same_behaviour(case)
        assert not twin.decisions
        assert twin.bad_drive == case.good_drive


def test_true_candidate_counts_by_its_decision_and_by_its_line() -> None:
    # GIVEN candidates of which the second is the true one, off by the line that a compiler may be off by
    answer = answer_of(verdict(suspect("sweep_span", 60), suspect("mark", 33), suspect("main", 3)))
    scored = score(answer, TRUTH, also=["sweep_span"])
    # THEN its rank is 2, and that is not right
    assert (scored.rank, scored.on_the_line, scored.also) == (2, True, 1)
    assert not is_right(answer, scored, TRUTH)
    assert answer.change == 2.5


def test_cause_counts_as_named_and_nothing_else_of_the_evidence() -> None:
    place = {"function": "mark", "file": "collect.c", "line": 90}
    assert score(answer_of(verdict(suspect("main", 3, cause=None, graph=[place]))), TRUTH, also=()).rank is None
    answer = answer_of(verdict(suspect("main", 3, cause=place)))
    scored = score(answer, TRUTH, also=())
    assert (scored.rank, scored.on_the_line) == (1, False)


def test_more_than_three_candidates_or_one_too_many_are_not_right() -> None:
    many = answer_of(verdict(*(suspect("mark", 26) for _ in range(4))))
    assert not is_right(many, score(many, TRUTH, ()), TRUTH)
    one = answer_of(verdict(suspect("mark", 26)))
    assert not is_right(one, score(one, (), ()), ())
    none = answer_of(verdict())
    assert is_right(none, score(none, (), ()), ())


def test_suspects_of_other_engines_are_no_candidates() -> None:
    other = {**suspect("mark", 26), "evidence": [{"engine": "excess", "rank": 1, "score": 1.0, "detail": {}}]}
    assert not answer_of(verdict(other)).candidates


def test_result_is_read_back_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # GIVEN a stored result
    monkeypatch.setattr(runs, "cache_folder", lambda: tmp_path)
    answer = answer_of(verdict(suspect("mark", 26)))
    zoom = Phase("zoom-bad", "zoom", 3.0, 2.0, 5_000_000, 300, 4_000_000, 12_000_000, 0)
    told = Comparison(answer, score(answer, TRUTH, ()), True, 12.5, 7.5, (zoom,))
    result = Result("go-909", "var:heap_size", "mark:26", told, None, None, told, (Plain(0.1, 0.5, 2.0),) * 2)
    runs.write(result)
    # THEN it is the same when read again, and its table has the figures
    assert runs.read(runs.stored("go-909")) == result
    shown = markdown([result])
    assert "| go-909 | var:heap_size | 2.50 | 1/1* |" in shown
    assert "4.00 M | 2.00 M | 3.0" in shown
    assert "Right (the true one first among at most three, or rightly none): 1 of 1" in shown
