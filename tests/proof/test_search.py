"""Which of several changes is found, without processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from whyperf.collect.observation.sites import RECORD, WRITE, ObservationLimits, Observed
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.program import Program
from whyperf.proof import rounds
from whyperf.proof.rounds import ProofSide, Put, Trying
from whyperf.proof.search import Search
from whyperf.proof.sentences import ProofClaim
from whyperf.recording.sealed.manifest import Totals

_SIDE = ProofSide(Program("/bin/true", ("/bin/true",)), Lifecycle(), {})


class _Searched(Search[int]):
    """One of the changes removes the excess; there is time for so many runs."""

    def __init__(self, true: set[int], most_runs: int = 100, crashing: int | None = None) -> None:
        super().__init__(_SIDE, _SIDE, Trying(), lambda _kind, _changes: Put())
        self.true, self.most_runs, self.runs = true, most_runs, list[tuple[int, ...]]()
        self.crashing = crashing

    @property
    def is_time_up(self) -> bool:
        return len(self.runs) >= self.most_runs

    def _measure_usual(self) -> bool:
        return True

    def _try(self, changes: Sequence[int]) -> bool | None:
        self.runs.append(tuple(changes))
        return None if self.crashing in changes else self.true <= set(changes)


def _asked_for(asked: list[str], every: Sequence[int]) -> Sequence[int]:
    asked.append("all")
    return every


def test_what_is_likely_is_tried_before_anybody_asks_for_the_rest() -> None:
    asked: list[str] = []
    search = _Searched({7})
    assert search.found([3, 7], lambda: _asked_for(asked, range(50))) == [7]
    assert search.runs == [(3,), (7,)] and not asked


def test_one_of_many_is_found_by_halves() -> None:
    search = _Searched({37})
    assert search.found([3], lambda: range(50)) == [37]
    assert len(search.runs) <= 14


def test_nothing_is_tried_twice() -> None:
    search = _Searched({8, 9})
    assert search.found([1, 2, 8], lambda: [1, 2, 8, 9], lambda: [2, 8, 9]) == [8, 9]
    assert len(search.runs) == len(set(search.runs)) == 7
    search = _Searched({99})
    assert search.found([1], lambda: [1], lambda: [2, 3]) == []
    assert search.runs == [(1,), (2, 3)]


def test_one_is_found_though_another_crashes() -> None:
    search = _Searched({37}, crashing=11)
    assert search.found([], lambda: range(50)) == [37]
    assert len(search.runs) <= 24
    assert _Searched({11}, crashing=11).found([], lambda: range(50)) == []


def test_groups_are_searched_one_after_the_other() -> None:
    asked: list[str] = []
    search = _Searched({37})
    assert search.found([], lambda: range(50), lambda: _asked_for(asked, range(50, 60))) == [37]
    assert not asked
    # WHEN with the first group it never runs, or that is one change which does not help, THEN the next has its turn
    assert _Searched({55}, crashing=11).found([11], lambda: [11, 12], lambda: range(50, 60)) == [55]
    assert _Searched({55}).found([], lambda: [11], lambda: range(50, 60)) == [55]
    assert _Searched({11}).found([], lambda: [11], lambda: range(50, 60)) == [11]


def test_it_gives_up_where_nothing_runs() -> None:
    class Crashing(_Searched):
        def _try(self, changes: Sequence[int]) -> bool | None:
            self.runs.append(tuple(changes))
            return None

    search = Crashing({37})
    assert search.found([], lambda: range(400)) == [] and len(search.runs) < 40


@pytest.mark.parametrize(("many", "found"), [(8, list(range(8))), (9, [])])
def test_few_that_matter_only_together_are_found_together(many: int, found: list[int]) -> None:
    assert _Searched(set(range(many))).found([], lambda: range(many)) == found


@pytest.mark.parametrize("most_runs", [1, 2, 4])
def test_nobody_is_named_where_time_ends_before_one_is_left(most_runs: int) -> None:
    assert _Searched({37}, most_runs).found([], lambda: range(50)) == []


def test_what_is_put_into_a_run_may_not_make_it_endless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in a trial that makes no good and bad runs of its own any more."""
    limited: list[float | None] = []

    def observe(_program: Program, _sites: object, *, limits: ObservationLimits, **_: Any) -> Observed:
        limited.append(limits.seconds)
        amount = 1.0 if len(limited) in fast else 3.0
        totals = Totals(4.0, amount, *[0] * 7)
        return Observed(0, totals, "", (), (), (), np.zeros(0, RECORD), np.zeros(0, WRITE), (), 0)

    fast = {1, 3, 5, 6, 9}  # good and bad twice, forced once; then forced, sham, reverse, twice
    monkeypatch.setattr(rounds, "observe", observe)
    search = Search[int](_SIDE, _SIDE, Trying(), lambda _kind, _changes: Put())
    assert search.found([7], lambda: [7]) == [7]
    search.proof(ProofClaim("f", "m", "", 1, "f", "", ""), [7])
    assert limited[:4] == [None] * 4 and len(limited) > 6 and None not in limited[4:]
