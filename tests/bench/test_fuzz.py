"""A short slice of the fuzzer: mutated inputs lead to results or sentences, and what it reports can be repeated."""

from __future__ import annotations

import time

import pytest
from bench.fuzz.fuzzing import Execution, fuzzer
from bench.fuzz.running import run
from bench.fuzz.subjects import SUBJECTS

_CPU_S, _LEAST_EXECUTIONS = 60.0, 100


def test_mutated_inputs_lead_to_results_or_sentences() -> None:
    with fuzzer() as fuzz:
        fuzz.warm_up()
        done: list[Execution] = []
        while sum(one.outcome.seconds for one in done) < _CPU_S or len(done) < _LEAST_EXECUTIONS:
            done.append(fuzz.execute(f"slice:{len(done)}"))
        # THEN nothing crashes, hangs or takes all memory
        assert [f"{one.outcome.problem} ({one.seed})" for one in done if one.outcome.problem] == []
        # AND every kind of input was among them
        assert {one.subject for one in done} == {subject.name for subject in SUBJECTS}
        # AND a seed stands for the same execution each time
        again = fuzz.execute(done[7].seed)
        assert (again.subject, again.mutations, again.command) == (done[7].subject, done[7].mutations, done[7].command)


def test_what_is_no_sentence_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_arguments: object) -> int:
        raise ZeroDivisionError("a mistake")

    monkeypatch.setattr("whyperf.cli.main.main", broken)
    assert run(["info", "x"], 20.0).problem.startswith("ZeroDivisionError")

    def endless(_arguments: object) -> int:
        while True:
            pass

    monkeypatch.setattr("whyperf.cli.main.main", endless)
    assert run(["info", "x"], 0.5).problem.startswith("hang")
    monkeypatch.setattr("whyperf.cli.main.main", lambda _arguments: time.sleep(60))
    assert run(["info", "x"], 0.1).problem.startswith("hang")

    def starved(_arguments: object) -> int:
        time.sleep(1.0)
        return 0

    monkeypatch.setattr("whyperf.cli.main.main", starved)
    assert run(["info", "x"], 0.5).problem == ""

    def greedy(_arguments: object) -> int:
        return len(bytearray(1 << 40))

    monkeypatch.setattr("whyperf.cli.main.main", greedy)
    assert run(["info", "x"], 20.0).problem.startswith("MemoryError")
