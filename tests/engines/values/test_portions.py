"""Values are read some variables at a time: how many changes nothing but what has to be held."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines.made import recording
from tests.engines.values.made import Read, with_values
from whyperf.engines.functions import FunctionIndex
from whyperf.engines.run import Run
from whyperf.engines.values import loading
from whyperf.engines.values.compare import compare
from whyperf.engines.values.loading import SideReadings, portions
from whyperf.engines.values.variables import VariableIndex

_STACKS = [(("main@5", "work@20"), 0.2), (("main@6", "rest@9"), 0.1), (("main@5", "work@21", "leaf@30"), 0.2)]
_NAMES = ("x", "y", "z")


def run_of(rng: np.random.Generator, *, changed: bool, names=_NAMES) -> Run:
    made = recording(_STACKS)
    samples = 80
    reads = [Read("work", name, rng.integers(0, 40 if changed and name == "x" else 9, samples)) for name in names]
    return Run(with_values(made, *reads, Read("leaf", "n", rng.integers(0, 3, 40))))


def sides(seed: int = 1):
    rng = np.random.default_rng(seed)
    good = [run_of(rng, changed=False) for _ in range(3)]
    # Not every run has every variable, nor in the same order.
    return good, [run_of(rng, changed=True, names=names) for names in (_NAMES, _NAMES[::-1], _NAMES[1:])]


def test_how_much_is_held_at_once_changes_no_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    all_at_once = compare(*sides())
    assert [one.variable.name for one in all_at_once.abnormal] == ["x"]
    for readings, variables, samples in ((1, 512, 0), (1 << 19, 1, 0), (200, 2, 1 << 20)):
        monkeypatch.setattr(loading, "_READINGS_AT_ONCE", readings)
        monkeypatch.setattr(loading, "_VARIABLES_AT_ONCE", variables)
        monkeypatch.setattr(loading, "_SAMPLES_KEPT", samples)
        in_pieces = compare(*sides())
        assert in_pieces.outcomes == all_at_once.outcomes
        assert in_pieces.abnormal == all_at_once.abnormal


@pytest.mark.thorough
@settings(deadline=None, max_examples=30)
@given(st.integers(0, 1000), st.data())
def test_variables_read_together_are_what_they_are_alone(seed, data):
    good, bad = sides(seed)
    functions = FunctionIndex(good, bad)
    index = VariableIndex(functions)
    side = SideReadings(bad, functions, index)
    numbers = data.draw(st.permutations(range(len(index.variables))))
    together = side.load(numbers)
    for number in numbers:
        alone = side.load([number])
        for one, other in (
            (together.of(number), alone.of(number)),
            (together.succession(number), alone.succession(number)),
        ):
            assert all(np.array_equal(getattr(one, name), getattr(other, name)) for name in vars(one))


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 50), max_size=40), st.integers(1, 60), st.integers(1, 6))
def test_portions_are_all_variables_in_order_and_never_too_many(counts, readings, variables):
    class Counted:
        def count(self, number):
            return counts[number]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(loading, "_READINGS_AT_ONCE", readings)
        patched.setattr(loading, "_VARIABLES_AT_ONCE", variables)
        found = list(portions(range(len(counts)), [Counted()]))
    assert [number for portion in found for number in portion] == list(range(len(counts)))
    for portion in found:
        assert len(portion) <= variables
        assert len(portion) == 1 or sum(counts[number] for number in portion) <= readings


def test_only_as_many_timelines_are_kept_as_permitted(monkeypatch: pytest.MonkeyPatch) -> None:
    good, _ = sides()
    kept = loading._Timelines()
    size = len(kept.of(good[0]))
    monkeypatch.setattr(loading, "_SAMPLES_KEPT", 2 * size)
    first = kept.of(good[0])
    kept.of(good[1])
    assert kept.of(good[0]) is first
    kept.of(good[2])  # which is one too many: that of the second goes
    assert list(kept._kept) == [good[0], good[2]]
    assert not pickle.loads(pickle.dumps(kept))._kept
