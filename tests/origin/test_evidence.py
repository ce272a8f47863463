"""Pairs of runs, with a pretended observer: what is looked at once, what again, and when there are no runs left."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whyperf.collect.observation.sites import RECORD, WRITE, Observed, ObservedSite
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.program import Program
from whyperf.debuginfo.slices.definitions import MemoryOperand
from whyperf.origin.command_line import is_start_text, option_of, options_that_differ
from whyperf.origin.evidence import Bounds, KnownPlaces, Looked, Observing, OriginEvidence, OutOfBudgetError, Targets
from whyperf.origin.outside import end_at
from whyperf.origin.points import Point
from whyperf.origin.program_code import BuildSide, ProgramCode
from whyperf.recording.sealed.manifest import Totals

_HERE = Path(__file__)
_AT = Point(_HERE, 0x10)


class _Pretended:
    """Each site is passed as often as its address says."""

    def __init__(self) -> None:
        self.asked: list[list[ObservedSite]] = []

    def __call__(self, _program: Program, sites: Sequence[ObservedSite], **_: Any) -> Observed:
        self.asked.append(list(sites))
        records = np.zeros(sum(site.address for site in sites), RECORD)
        records["site"] = np.repeat(np.arange(len(sites)), [site.address for site in sites])
        hits = tuple(site.address for site in sites)
        placed = tuple(True for _ in sites)
        return Observed(0, Totals(0.1, 0.1, *[0] * 7), "", hits, placed, placed, records, np.zeros(0, WRITE), (), 0)


def _targets(good: tuple[str, ...] = ("p",), bad: tuple[str, ...] = ("p",), **environment: str) -> Targets:
    programs = (Program("p", good), Program("p", bad))
    return Targets(programs, (Lifecycle(), Lifecycle()), environment)


def _evidence(
    observe: _Pretended, most_runs: int = 20, seconds: float = 60, known: KnownPlaces | None = None
) -> OriginEvidence:
    bounds = Bounds(most_runs, time.monotonic() + seconds, seconds)
    return OriginEvidence(ProgramCode(_HERE, _HERE, _HERE.parent), _targets(), bounds, Observing(observe), known)


def test_a_place_is_looked_at_once() -> None:
    observe = _Pretended()
    evidence = _evidence(observe)
    evidence.look([_AT, Point(_HERE, 0x20)], "")
    evidence.look([_AT], "")
    assert evidence.runs == 2 and len(observe.asked) == 2
    looked = evidence.looked(_AT.key, BuildSide.BAD)
    assert looked is not None and (looked.total, len(looked.rows)) == (0x10, 0x10)


def test_searches_share_what_was_looked_at_but_not_what_it_cost() -> None:
    observe, known = _Pretended(), KnownPlaces()
    _evidence(observe, known=known).look([_AT], "")
    second = _evidence(observe, most_runs=2, known=known)
    second.look([_AT], "")
    assert second.runs == 0 and second.looked(_AT.key, BuildSide.GOOD) is not None
    second.look([Point(_HERE, 0x20)], "")
    assert second.runs == 2 and len(observe.asked) == 4


def test_a_run_that_was_stopped_because_time_was_up_shows_nothing() -> None:
    class Stopped(_Pretended):
        def __call__(self, program: Program, sites: Sequence[ObservedSite], **_: Any) -> Observed:
            time.sleep(0.02)
            return replace(super().__call__(program, sites), stopped_by="for")

    known = KnownPlaces()
    with pytest.raises(OutOfBudgetError, match="used up"):
        _evidence(Stopped(), seconds=0.01, known=known).look([_AT], "")
    assert not known.looked


def test_what_was_not_asked_of_a_place_is_looked_at_again_and_joined() -> None:
    observe = _Pretended()
    evidence = _evidence(observe)
    evidence.look([Point(_HERE, 0x10, after=True, register=3)], "")
    evidence.look([Point(_HERE, 0x10, is_entry=True)], "")
    assert evidence.runs == 4
    assert observe.asked[-1] == [ObservedSite(_HERE, 0x10, True, 3, None, True)]


def test_one_look_serves_two_wishes() -> None:
    observe = _Pretended()
    memory = MemoryOperand(1, None, 1, 8, 4)
    _evidence(observe).look([_AT, Point(_HERE, 0x10, memory=memory)], "")
    [site] = observe.asked[0]
    assert site.memory is not None and (site.memory.base, site.memory.displacement, site.memory.size) == (1, 8, 4)


def test_no_more_runs_than_allowed() -> None:
    evidence = _evidence(_Pretended(), most_runs=3)
    evidence.look([_AT], "")
    with pytest.raises(OutOfBudgetError, match="no more runs are allowed"):
        evidence.look([Point(_HERE, 0x20)], "")


def test_no_run_when_the_time_is_up() -> None:
    with pytest.raises(OutOfBudgetError, match="used up"):
        _evidence(_Pretended(), seconds=0).look([_AT], "")


def _text(word: str) -> int:
    return int.from_bytes(word.encode()[:8].ljust(8, b"\0"), "little")


def test_a_text_is_an_option_by_its_first_bytes() -> None:
    targets = _targets(("p", "--size=64", "quick"), ("p", "--size=4096", "quick"), MODE="elaborate-one")
    assert option_of(targets, _text("4096")) == (
        "It is an option of the command line: argument 1 is `--size=4096`, was `--size=64`."
    )
    assert "as in good runs" in option_of(targets, _text("quick"))
    assert option_of(targets, _text("elaborate-one")) == "It comes from the environment: MODE."
    assert option_of(targets, _text("other")) == ""
    assert "argument 1" in options_that_differ(targets)


def test_arguments_lie_at_the_top_of_the_stack() -> None:
    targets = _targets(("p", "1"), ("p", "2"))
    assert is_start_text(targets, 0xFFFFFFFFF000 - 40) and is_start_text(targets, 0x7FFFFFFFF000 - 40)
    assert not is_start_text(targets, 0xFFFFFFFFF000 - 40_000) and not is_start_text(targets, 0xAAAAAAAB2000)


@pytest.mark.parametrize(
    ("name", "end"),
    [("strtoul", "outside"), ("getenv", "outside"), ("read", "outside"), ("rand", "chance"), ("malloc", "address")],
)
def test_what_libraries_return_ends_a_way(name: str, end: str) -> None:
    found = end_at(name)
    assert found is not None and found[0].value == end


def test_what_is_not_known_of_a_library_does_not() -> None:
    assert end_at("compress2") is None


def test_a_place_that_the_good_build_lacks_is_not_counted() -> None:
    none = np.zeros(0, RECORD)
    assert Looked(none, 0, complete=True).is_counted
    assert Looked(none, 2000, complete=False).is_counted
    assert not Looked(none, 0, complete=False).is_counted
