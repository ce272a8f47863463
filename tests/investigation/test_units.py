"""Trials count the units of work that recordings counted; where they cannot, nothing is forced."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.engines.made import Made, recording
from tests.report import verdicts
from whyperf.cli.investigating import recorded
from whyperf.collect.runs import work_count
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.program import find_program
from whyperf.diagnose.verdict import PEAK_BYTES
from whyperf.errors import WhyperfError
from whyperf.investigation.investigate import investigate, investigate_functions
from whyperf.investigation.subject import ProofBounds, Subject, UnitsOfWork
from whyperf.investigation.trials import Investigated
from whyperf.investigation.units import why_not_counted
from whyperf.recording.sealed.manifest import RunOptions

pytestmark = pytest.mark.process


def _subject(units: UnitsOfWork) -> Subject:
    program = find_program(["/bin/true"], os.environ)
    return Subject(program, program, (Lifecycle(), Lifecycle()), dict(os.environ), units=units)


def _recorded(folder: Path, unit: str = "call", **options: str) -> Made:
    made = recording([(("main", "work"), 1.0)])
    asked = RunOptions(folder=str(folder), **options)  # type: ignore[arg-type]
    return replace(made, manifest=replace(made.manifest, command=("/bin/true",), options=asked, work_unit=unit))


def test_what_recordings_counted_is_counted_in_trials(tmp_path: Path) -> None:
    called, timed = _recorded(tmp_path, work_count="handle"), _recorded(tmp_path, latency="serve")
    subject = recorded(called, timed, ())
    assert subject.units == UnitsOfWork(("handle", "serve"), are_timed=True)
    sides = Investigated(subject, "cpu_s", ProofBounds(time.monotonic()), lambda _what: None).sides
    assert [one.counted_calls for one in sides] == ["handle", "serve"]
    # THEN a driver counts by itself, and a run is one unit
    driven, plain = _recorded(tmp_path, "request", drive="./load"), _recorded(tmp_path, "run")
    assert recorded(driven, driven, ()).units == recorded(plain, plain, ()).units == UnitsOfWork()
    # THEN what the program itself reports is known by its name
    reported = _recorded(tmp_path, "iteration")
    assert recorded(reported, reported, ()).units == UnitsOfWork(reported="iteration")


@pytest.mark.parametrize(
    ("units", "measure", "said"),
    [
        (UnitsOfWork(), "latency_p99_s", ""),
        (UnitsOfWork(("f", "f"), are_timed=True), "latency_p99_s", "The latency is that of `f` calls, "),
        (UnitsOfWork(("no_such", "no_such")), "cpu_s", "cannot count the units of work, calls of `no_such`. "),
        (UnitsOfWork(reported="iteration"), PEAK_BYTES, "that the program reports (iteration)."),
    ],
)
def test_where_units_cannot_be_counted_there_is_a_reason(units: UnitsOfWork, measure: str, said: str) -> None:
    why = why_not_counted(_subject(units), measure)
    assert said in why and bool(said) == bool(why) and "--work-count" not in why


def test_whether_calls_can_be_counted_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[str]()

    def refuse(calls: str, *_where: object) -> None:
        asked.append(calls)
        raise WhyperfError("There is no such function.")

    monkeypatch.setattr(work_count, "counter_again", refuse)
    subject = _subject(UnitsOfWork(("f", "f")))
    assert why_not_counted(subject, "cpu_s") == why_not_counted(subject, "wall_s") != ""
    assert asked == ["f"]


def test_then_nothing_is_forced() -> None:
    verdict, subject = verdicts.difference(), _subject(UnitsOfWork(reported="iteration"))
    bounds = ProofBounds(time.monotonic() + 100)
    said = list[str]()
    found = investigate(verdict, subject, lambda _module: Path("/bin/true"), bounds, said.append, again="whyperf prove")
    assert found.notes[-1].startswith("No value was forced. Runs that force values do not see the units of work")
    assert found.suspects == verdict.suspects and not said
    other = find_program(["/bin/false"], os.environ)
    assert investigate_functions(verdict, replace(subject, bad=other), bounds, said.append) is None and not said
