"""Memory whose writer no observed run shows: every run has other addresses, threads read, plain pointers write."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from whyperf.collect.dependences.last_writers import LastWriters, Reader
from whyperf.collect.target.program import Program
from whyperf.diagnose.origin import ChainEnd, HopKind, Origin
from whyperf.errors import WhyperfError
from whyperf.origin import search as searching
from whyperf.origin.search import search
from whyperf.origin.starts import start_at_variable

from .conftest import Build, line_of

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed"),
]
SOURCE = "tangled.c"


# Copies are calls of the library, however small they are.
FLAGS = ("-pthread", "-fno-builtin-memcpy")


def _search(build: Build, way: str, *, deep: bool, **options: Any) -> Origin:
    program = build(SOURCE, *FLAGS)
    good, bad = (Program(str(program), (str(program), way, mode)) for mode in ("0", "1"))
    start = start_at_variable(program, "spin", "rounds")
    return search(start, good, bad, environment=dict(os.environ), deep=deep, **options).origin


def _stores(origin: Origin) -> list[tuple[str, int, bool]]:
    return [(hop.function, hop.line, hop.deep) for hop in origin.hops if hop.kind in (HopKind.STORED, HopKind.LOADED)]


def test_without_valgrind_the_way_ends_at_the_read(build: Build) -> None:
    origin = _search(build, "plain", deep=False)
    assert origin.end is ChainEnd.NOT_FOLLOWED
    assert {hop.function for hop in origin.hops} <= {"spin", "walk"} and not any(hop.deep for hop in origin.hops)


def test_with_it_the_store_is_found_and_its_value_followed(build: Build) -> None:
    origin = _search(build, "plain", deep=True)
    # THEN a hop says that Valgrind showed who wrote
    store = ("put", line_of(SOURCE, "the store"), True)
    assert store in _stores(origin), origin
    [said] = [hop.sentence for hop in origin.hops if hop.deep]
    assert said.endswith("A run under Valgrind shows that this is what was read.")
    # AND what it writes is followed as everywhere else, past the other numbers that the same instruction writes
    turned = origin.hops[origin.turn]
    assert (turned.function, turned.good, turned.bad) == ("planned", "50", "5,000"), origin
    assert origin.end is ChainEnd.OUTSIDE and "argument 2 is `1`, was `0`" in origin.sentence


def test_copies_by_a_library_lead_to_who_wrote_the_copied(build: Build) -> None:
    origin = _search(build, "copied", deep=True)
    assert [(function, line) for function, line, deep in _stores(origin) if deep] == [
        ("put_copy", line_of(SOURCE, "the copy")),
        ("put", line_of(SOURCE, "the store")),
    ], origin
    assert origin.hops[origin.turn].function == "planned"


def test_a_writer_that_writes_more_often(build: Build) -> None:
    """Both stores write the same number in both runs; one of them does so for more members now."""
    origin = _search(build, "marked", deep=True)
    [(function, line)] = [(function, line) for function, line, deep in _stores(origin) if deep]
    assert (function, line) == ("mark", line_of(SOURCE, "the mark")), origin
    [counted] = [hop for hop in origin.hops if hop.deep]
    assert (counted.good, counted.bad) == ("40 times", "360 times")
    assert origin.end is ChainEnd.OUTSIDE and "argument 2 is `1`, was `0`" in origin.sentence


def test_where_the_same_is_written_another_object_is_read(build: Build) -> None:
    origin = _search(build, "chosen", deep=True)
    # THEN the way leads through its address to who chose it, not to who writes the same numbers in both runs
    assert "put" not in {hop.function for hop in origin.hops}
    last = origin.hops[-1]
    assert (last.function, last.line) == ("choose", line_of(SOURCE, "the choice")), origin


def test_too_slow_under_valgrind_is_said(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []

    def too_slow(*_: object, seconds: float, **__: object) -> LastWriters:
        given.append(seconds)
        raise WhyperfError("Under Valgrind a run did not end.")

    monkeypatch.setattr(searching, "last_writers", too_slow)
    origin = _search(build, "plain", deep=True, budget_s=1000.0)
    assert origin.end is ChainEnd.NOT_FOLLOWED
    # THEN the sentence tells what was tried before; Valgrind got half of what was left, and no second chance
    before = _search(build, "plain", deep=False).sentence
    assert origin.sentence == f"{before} Under Valgrind a run did not end."
    assert len(given) == 1 and given[0] <= 500


def test_runs_under_valgrind_are_runs(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Reader, Sequence[Path]]] = []

    def nobody(
        program: Program, reader: Reader, modules: Sequence[Path], **_: Mapping[str, object] | object
    ) -> LastWriters:
        assert program.command[-1] in ("0", "1")
        asked.append((reader, modules))
        return LastWriters({}, 0)

    monkeypatch.setattr(searching, "last_writers", nobody)
    before, after = _search(build, "plain", deep=False), _search(build, "plain", deep=True)
    assert after.runs == before.runs + len(asked) == before.runs + 2
    assert "the instruction that reads it did not run" in after.sentence
    # AND only the program's own files act in their own name
    program = build(SOURCE, *FLAGS)
    assert all(reader.path == program and list(modules) == [program] for reader, modules in asked)
    # AND they are not made where no more are allowed
    del asked[:]
    bounded = _search(build, "plain", deep=True, most_runs=before.runs)
    assert "no more runs are allowed" in bounded.sentence and not asked
