"""What `compare` keeps of its verdict comes back as it was."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines.made import recording
from tests.report import verdicts
from whyperf.diagnose.verdict import Verdict
from whyperf.engines.finding import Detail
from whyperf.errors import WhyperfError
from whyperf.recording.compared import keep
from whyperf.recording.safe_files.dataclass_json import MisfitError
from whyperf.recording.safe_files.limits import MOST_ROWS
from whyperf.report import kept_verdict
from whyperf.report.html.build import Examined, page_model
from whyperf.report.json import to_json
from whyperf.report.kept_verdict import KeptVerdict, as_plain, read_plain
from whyperf.report.terminal import show

NAMES = ("difference", "proven", "two_builds", "waiting", "joined", "nothing")


@pytest.mark.parametrize("name", NAMES)
def test_a_verdict_comes_back_as_it_was(name: str) -> None:
    verdict: Verdict = getattr(verdicts, name)()
    kept = KeptVerdict("0.1.0", "out", (1, 2), verdict)
    assert read_plain(json.loads(json.dumps(as_plain(kept)))) == kept


def test_details_of_all_engines_are_known() -> None:
    def kinds(of: type[Detail]) -> set[type[Detail]]:
        return {of}.union(*(kinds(one) for one in of.__subclasses__()))

    abstract = {"LayerDetail", "CulpritDetail"}
    known = kept_verdict._DETAILS
    assert {kind.__name__ for kind in kinds(Detail)} - abstract == set(known)
    for kind in known.values():
        assert is_dataclass(kind) and get_type_hints(kind).keys() == {one.name for one in fields(kind)}


def test_what_is_no_verdict_is_refused() -> None:
    plain = as_plain(KeptVerdict("0.1.0", "out", (), verdicts.proven()))
    plain["verdict"]["suspects"][0]["evidence"][0]["detail"]["class"] = "KeptVerdict"
    with pytest.raises(MisfitError):
        read_plain(plain)
    plain["verdict"]["kind"] = "guilty"
    with pytest.raises(MisfitError):
        read_plain(plain)


@pytest.mark.parametrize(("turn", "is_refused"), [(0, False), (99, True), (-1, True)])
def test_a_turn_is_one_of_the_hops(turn: int, is_refused: bool) -> None:
    plain = _plain("proven")
    plain["verdict"]["suspects"][0]["origin"]["turn"] = turn
    if is_refused:
        with pytest.raises(ValueError, match="none of the hops"):
            read_plain(plain)
    else:
        assert read_plain(plain).verdict.suspects[0].origin.turn == turn


def test_a_suspect_without_evidence_is_read() -> None:
    plain = _plain("proven")
    del plain["verdict"]["suspects"][0]["evidence"]
    assert read_plain(plain).verdict.suspects[0].evidence == ()


def test_a_next_command_that_no_shell_could_read_is_damage(tmp_path: Path) -> None:
    plain = _plain("proven")
    plain["verdict"]["next_command"] = 'whyperf view "x'
    assert keep(tmp_path, [tmp_path / "good-1"], [tmp_path / "bad-1"], plain)
    with pytest.raises(WhyperfError, match="damaged"):
        kept_verdict.kept_verdict(tmp_path, ([], []), max_rows=MOST_ROWS)


@pytest.mark.parametrize("runs", [[3], [3, 3, 3], []])
def test_runs_are_those_of_two_sides(runs: list[int]) -> None:
    plain = _plain("difference")
    plain["verdict"]["symptom"]["runs"] = runs
    with pytest.raises(MisfitError, match="instead of 2"):
        read_plain(plain)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_changed_verdict_is_refused_or_shown(data: st.DataObject) -> None:
    # GIVEN one thing in a kept verdict that no engine said
    plain = _plain(data.draw(st.sampled_from(NAMES)))
    holder, key = data.draw(st.sampled_from(list(_places(plain["verdict"]))))
    numbers = st.sampled_from((-1, 0, 1, 10**6, 1 << 70, 10**400, 0.5, 1e308, -1e308))
    if isinstance(holder, dict) and data.draw(st.booleans()):
        del holder[key]
    else:
        holder[key] = data.draw(numbers | st.none() | st.text(max_size=30) | st.sampled_from(([], {}, [[]])))
    try:
        verdict = read_plain(plain).verdict
    except ValueError:
        return
    show(verdict, file=io.StringIO(), width=80, colour=False)
    to_json(verdict)
    page_model(verdict, _examined())


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """All objects and lists in it, with what they hold."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield value, key
        yield from _places(item)


def _plain(name: str) -> dict[str, Any]:
    return json.loads(_texts()[name])


@cache
def _texts() -> dict[str, str]:
    kept = {name: KeptVerdict("0.1.0", "out", (1, 2), getattr(verdicts, name)()) for name in NAMES}
    return {name: json.dumps(as_plain(one)) for name, one in kept.items()}


@cache
def _examined() -> Examined:
    nothing = recording([(("main", "find"), 1.0)])
    return Examined([nothing], [nothing])
