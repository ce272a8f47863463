"""The search finds the commit that an oracle has in mind, in spite of its noise."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from whyperf.revisions.noise import Batch, noise_of
from whyperf.revisions.search import SearchEnding, SearchResult, SearchSettings, Unmeasurable, alike, find, next_commit

Disturbance = Callable[[random.Random], float]


class Oracle:
    """Times of commits of which those from `first` on are slow."""

    def __init__(
        self, first: int, slower: float, noise: Disturbance, chance: random.Random, broken: frozenset[int]
    ) -> None:
        self._first, self._gap, self._noise, self._chance, self._broken = first, math.log(slower), noise, chance, broken

    def ends(self) -> tuple[float, float]:
        return self._time(False), self._time(True)

    def beside_ends(self, commit: int) -> tuple[float, float, float]:
        if commit in self._broken:
            raise Unmeasurable("It does not build.")
        return self._time(False), self._time(commit >= self._first), self._time(True)

    def is_over(self) -> bool:
        return False

    def is_slow(self, commit: int) -> bool:
        """As plain bisection asks: one run, a fixed threshold in the middle."""
        return self._time(commit >= self._first) > self._gap / 2

    def _time(self, slow: bool) -> float:
        return (self._gap if slow else 0.0) + self._noise(self._chance)


def drifting() -> Disturbance:
    """A machine that is slower for some time, and then is not."""
    level = 0.0

    def noise(chance: random.Random) -> float:
        nonlocal level
        if chance.random() < 0.15:
            level = math.log(chance.choice((1.0, 1.0, 1.3, 2.0)))
        return level + chance.gauss(0, 0.05)

    return noise


def uneven(chance: random.Random) -> float:
    """Two runs of five are disturbed."""
    return abs(chance.gauss(0, 0.03)) + (math.log(chance.uniform(1, 3)) if chance.random() < 0.4 else 0.0)


def found(oracle: Oracle, commits: int, prior: list[float] | None = None) -> SearchResult:
    *_, last = find(prior or [1 / commits] * commits, oracle, SearchSettings())
    assert isinstance(last, SearchResult)
    return last


def plainly(oracle: Oracle, commits: int) -> int:
    low, high = -1, commits - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if oracle.is_slow(middle) else (middle, high)
    return high


@given(
    st.integers(1, 40).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n - 1), st.sets(st.integers(0, n - 1))))
)
@settings(max_examples=60, deadline=None)
@example((20, 19, set(range(18))))  # nearly all that there is, before anybody has looked
def test_without_noise_it_is_right_whatever_does_not_build(case: tuple[int, int, set[int]]) -> None:
    commits, first, broken = case
    oracle = Oracle(first, 3.0, lambda _: 0.0, random.Random(1), frozenset(broken))
    answer = found(oracle, commits)
    assert answer.ending is SearchEnding.FOUND
    named = answer.state.answer
    assert named.first <= first <= named.last
    # Only commits that do not build, or follow one, are named together.
    assert set(range(named.first, named.last)) <= broken
    assert len(answer.state.comparisons) <= math.ceil(math.log2(commits)) + 1


@pytest.mark.parametrize("noise", [lambda: lambda chance: chance.gauss(0, 0.12), drifting, lambda: uneven])
def test_with_noise_it_is_right_more_often_than_plain_bisection(noise: Callable[[], Disturbance]) -> None:
    commits, repetitions = 60, 30
    right = plain = within = 0
    for seed in range(repetitions):
        chance = random.Random(seed)
        first = chance.randrange(commits)
        oracle = Oracle(first, 1.8, noise(), chance, frozenset({chance.randrange(commits - 1)}))
        answer = found(oracle, commits)
        named = answer.state.answer
        right += named.first <= first <= named.last
        within += len(answer.state.comparisons) <= 10
        plain += plainly(oracle, commits) == first
    assert right >= 0.9 * repetitions
    assert within >= 0.9 * repetitions
    assert right > plain


def test_what_it_says_of_its_sureness_holds() -> None:
    """Far noisier than any decision needs: it is right about as often as it says."""
    commits, repetitions = 16, 40
    right, said = 0, 0.0
    for seed in range(repetitions):
        chance = random.Random(seed)
        first = chance.randrange(commits)
        answer = found(Oracle(first, 1.5, lambda c: c.gauss(0, 0.25), chance, frozenset()), commits)
        if answer.ending is SearchEnding.NO_GAP:
            continue
        named = answer.state.answer
        right += named.first <= first <= named.last
        said += named.probability
    assert right >= said - 3 * math.sqrt(said * 0.1)


def test_equal_ends_are_no_search() -> None:
    answer = found(Oracle(5, 1.0, lambda _: 0.0, random.Random(1), frozenset()), 10)
    assert answer.ending is SearchEnding.NO_GAP and not answer.state.comparisons


def test_likely_commits_come_first() -> None:
    prior = [0.01] * 20 + [0.61] + [0.01] * 19
    oracle = Oracle(20, 3.0, lambda chance: chance.gauss(0, 0.05), random.Random(1), frozenset())
    assert len(found(oracle, 40, prior).state.comparisons) == 2
    # AND an unlikely one is found as well
    oracle = Oracle(33, 3.0, lambda chance: chance.gauss(0, 0.05), random.Random(1), frozenset())
    answer = found(oracle, 40, prior)
    assert (answer.state.answer.first, answer.state.answer.last) == (33, 33)


def test_limits_end_it() -> None:
    class Late(Oracle):
        def is_over(self) -> bool:
            return True

    late = Late(5, 3.0, lambda _: 0.0, random.Random(1), frozenset())
    assert found(late, 10).ending is SearchEnding.BUDGET
    *_, last = find(
        [0.1] * 10, Oracle(5, 3.0, lambda _: 0.0, random.Random(1), frozenset()), SearchSettings(most_comparisons=1)
    )
    assert (
        isinstance(last, SearchResult) and last.ending is SearchEnding.COMPARISONS and len(last.state.comparisons) == 1
    )


def test_commits_that_cannot_be_told_apart() -> None:
    assert alike(5, []) == [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)]
    assert alike(5, [1, 2]) == [(0, 0), (1, 3), (4, 4)]
    assert alike(3, [0, 1, 2]) == [(0, 2)]
    assert next_commit([0.25] * 4, []) == 1
    assert next_commit([0.25] * 4, [0, 1, 2]) is None


def test_a_batch_is_judged_by_its_own_ends() -> None:
    # GIVEN quiet runs, and later a machine that is twice as slow
    quiet = Batch((0.0, 0.01, -0.01), (0.7, 0.71, 0.69))
    slow_machine = math.log(2.0)
    fast = Batch(
        (slow_machine, slow_machine + 0.01), (slow_machine + 0.7, slow_machine + 0.71), (slow_machine, slow_machine)
    )
    # THEN a fast candidate is fast, although it takes as long as slow ones did
    assert noise_of([quiet, fast]).log_ratio(fast) < -3
