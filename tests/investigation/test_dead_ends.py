"""Where nothing could be followed, the verdict says why."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.report import verdicts
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.program import find_program
from whyperf.diagnose.origin import ChainEnd, Origin, ProofFinding
from whyperf.diagnose.verdict import Verdict
from whyperf.errors import WhyperfError
from whyperf.investigation import investigate as investigating
from whyperf.investigation.investigate import FollowedSuspect, investigate
from whyperf.investigation.proving import Tried
from whyperf.investigation.subject import ProofBounds, Subject
from whyperf.origin.search import FoundOrigin
from whyperf.origin.starts import StartAtLine, StartAtVariable

pytestmark = pytest.mark.process


def _investigated(verdict: Verdict, binary: Path | None, ends_in: float = 100.0) -> Verdict:
    program = find_program(["/bin/true"], os.environ)
    subject = Subject(program, program, (Lifecycle(), Lifecycle()), dict(os.environ))
    return investigate(
        verdict,
        subject,
        lambda _module: binary,
        ProofBounds(time.monotonic() + ends_in),
        lambda _what: None,
        again="whyperf prove good bad",
    )


def test_suspects_without_a_beginning() -> None:
    found = _investigated(verdicts.difference(), None)
    assert found.notes[-1].startswith("No value was forced. The suspects have no variable")
    assert found.suspects == verdicts.difference().suspects


def test_reasons_are_said_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    def follow(*_: object) -> FoundOrigin:
        asked.append(1)
        if len(asked) < 3:
            raise WhyperfError("No code reads it.")
        return FoundOrigin(Origin((), ChainEnd.NOT_FOLLOWED, "Its values are the same.", None, 2, 1.0), (), ())

    asked: list[int] = []
    monkeypatch.setattr(investigating, "follow", follow)
    found = _investigated(verdicts.difference(), Path("/bin/true"))
    said, _, of_branches = found.notes[-1].partition(" No branch was forced. ")
    assert len(asked) >= 3 and said == "No value was forced. No code reads it. Its values are the same."
    # AND why no branch was, of a program without source lines
    assert of_branches.startswith("No function of /bin/true ")


def test_a_chain_of_one_hop_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    hops = verdicts.proven().suspects[0].origin.hops  # type: ignore[union-attr]

    def follow(*_: object) -> FoundOrigin:
        made = hops[:shown]
        return FoundOrigin(Origin(made, ChainEnd.CONSTANT, "It is 7.", 0, 2, 1.0), ((),) * shown, (False,) * shown)

    monkeypatch.setattr(investigating, "follow", follow)
    # GIVEN a chain that ends where it begins
    shown = 1
    found = _investigated(verdicts.difference(), Path("/bin/true"))
    # THEN only its end is told
    assert {one.origin for one in found.suspects} == {None}
    assert found.notes[-1].partition(" No branch was forced. ")[0] == "No value was forced. It is 7."
    # GIVEN one hop more
    shown = 2
    found = _investigated(verdicts.difference(), Path("/bin/true"))
    assert [len(one.origin.hops) for one in found.suspects if one.origin is not None] == [2]


def test_what_has_the_same_values_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    # GIVEN starts that hold the same values in good and bad runs, which others need not do
    def follow(*given: object) -> FoundOrigin:
        starts.append(given[0])
        same = "Its values are the same in good and bad runs."
        return FoundOrigin(Origin((), ChainEnd.NO_DIFFERENCE, same, None, 2, 1.0), (), ())

    starts: list[object] = []
    monkeypatch.setattr(investigating, "follow", follow)
    note = _investigated(verdicts.difference(), Path("/bin/true")).notes[-1]
    # THEN it is said whose values those are
    assert "Its values" not in note
    named = [one.variable for one in starts if isinstance(one, StartAtVariable)]
    lines = [one.line for one in starts if isinstance(one, StartAtLine)]
    assert named or lines
    assert any(f"The values of `{name}` in " in note for name in named) or any(
        f"line {one} of" in note for one in lines
    )


def test_values_that_are_few_where_the_way_begins_do_not_end_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    # GIVEN chains that say where many values become few: the first one at its beginning, the second further back
    hops = verdicts.proven().suspects[0].origin.hops  # type: ignore[union-attr]
    turns = iter((0, 1))

    def follow(*_: object) -> FoundOrigin:
        asked.append(1)
        origin = Origin(hops, ChainEnd.ADDRESS, "", next(turns), 2, 1.0, narrows=True)
        return FoundOrigin(origin, tuple(() for _ in hops), tuple(False for _ in hops), tuple(() for _ in hops))

    asked: list[int] = []
    monkeypatch.setattr(investigating, "follow", follow)
    found = _investigated(verdicts.difference(), Path("/bin/true"))
    # THEN both are followed, no further one is, and the second is shown
    shown = next(one.origin for one in found.suspects if one.origin is not None)
    assert len(asked) == 2 and shown.turn == 1


def _followed(hops: int, end: ChainEnd, turn: int, *findings: ProofFinding) -> FollowedSuspect:
    suspect = verdicts.proven().suspects[0]
    assert suspect.origin is not None
    origin = Origin(suspect.origin.hops[:1] * hops, end, "", turn, 2, 1.0, narrows=turn > 0)
    tried = tuple(Tried(0, replace(suspect.proofs[0], finding=finding)) for finding in findings)
    return FollowedSuspect(suspect, FoundOrigin(origin, (), ()), tried)


def test_which_chain_is_shown() -> None:
    in_order = [
        _followed(9, ChainEnd.CONSTANT, 2, ProofFinding.REFUTED),
        _followed(2, ChainEnd.NOT_FOLLOWED, 0),
        _followed(5, ChainEnd.NOT_FOLLOWED, 0),
        _followed(2, ChainEnd.CONSTANT, 0),
        _followed(3, ChainEnd.ADDRESS, 1),
        _followed(2, ChainEnd.ADDRESS, 0, ProofFinding.SUPPORTED),
    ]
    assert sorted([*in_order[3:], *in_order[:3]], key=lambda one: one.worth) == in_order


def test_too_many_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def follow(_start: object, _subject: object, bounds: ProofBounds, *_: object) -> FoundOrigin:
        allowed.append(bounds.runs)
        return FoundOrigin(Origin((), ChainEnd.CONSTANT, "Its values are the same.", None, 10, 1.0), (), ())

    allowed: list[int] = []
    monkeypatch.setattr(investigating, "follow", follow)
    found = _investigated(verdicts.difference(), Path("/bin/true"))
    assert allowed == [20, 10]
    assert (found.notes[-2], found.notes[-1].partition(" No branch")[0]) == (
        "20 runs followed or forced values, and something was left untried. "
        "`whyperf prove good bad --most-runs 60` tries more.",
        "No value was forced. Its values are the same. There were no runs left to follow one.",
    )


def test_too_little_time() -> None:
    found = _investigated(verdicts.difference(), Path("/bin/true"), ends_in=-1.0)
    assert found.notes[-1] == "No value was forced. There was no time left to follow one."


def test_devices_that_forced_runs_could_remove_are_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    note = "Forced runs can remove device files: /dev could not be made read-only for them (why)."
    for why, notes in (("why", [note]), ("", [])):
        monkeypatch.setattr(investigating, "why_not_read_only", lambda why=why: why)
        assert [one for one in _investigated(verdicts.difference(), None).notes if "/dev" in one] == notes


def test_what_cannot_be_measured_in_a_trial_is_left_as_it_is() -> None:
    verdict = verdicts.difference()
    deep = replace(verdict, symptom=replace(verdict.symptom, measure="instructions"))
    assert _investigated(deep, Path("/bin/true")) is deep
