"""Sequences of readings as real variables give them: far from independent of each other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Behaviour = Callable[[np.random.Generator, int, bool], np.ndarray]


def loop_counter(rng: np.random.Generator, count: int, changed: bool) -> np.ndarray:
    """Runs through its range again and again; changed, the range is half as long again."""
    limit = 4500.0 if changed else 3000.0
    return ((rng.random() * limit + np.cumsum(rng.random(count) * 20)) % limit).astype(np.int64)


def independent(rng: np.random.Generator, count: int, changed: bool) -> np.ndarray:
    return (rng.random(count) * (26 if changed else 20)).astype(np.int64)


def sticky_pointer(rng: np.random.Generator, count: int, changed: bool) -> np.ndarray:
    """Stays at one of many for a while; changed, it comes from a larger pool."""
    moves = rng.random(count) < 0.1
    moves[0] = True
    return rng.integers(0, 400 if changed else 200, moves.sum())[np.cumsum(moves) - 1] * 64


def slow_change(rng: np.random.Generator, count: int, changed: bool) -> np.ndarray:
    moves = rng.random(count) < 0.01
    moves[0] = True
    return rng.integers(0, 90 if changed else 50, moves.sum())[np.cumsum(moves) - 1]


def slow_drift(rng: np.random.Generator, count: int, changed: bool) -> np.ndarray:
    """A reflected random walk: hardly more than a few independent values in a whole run."""
    limit = 200 if changed else 100
    walk = np.cumsum(rng.integers(-1, 2, count)) + rng.integers(0, limit)
    folded = np.abs(walk) % (2 * limit)
    return np.where(folded >= limit, 2 * limit - 1 - folded, folded)


def correlated(rng: np.random.Generator, count: int, changed: bool) -> np.ndarray:
    noise = rng.standard_normal(count) * 3.12 * (1.6 if changed else 1.0)
    values = np.empty(count)
    latest = rng.standard_normal() * 10
    for at in range(count):
        latest = 0.95 * latest + noise[at]
        values[at] = latest
    return np.floor(values).astype(np.int64)


def run_constant(rng: np.random.Generator, count: int, changed: bool) -> np.ndarray:
    """A process id, a port, a seed: different in every run, and none of them changed."""
    return np.full(count, rng.integers(1000, 60000))


def setting(rng: np.random.Generator, count: int, changed: bool) -> np.ndarray:
    return np.full(count, 4096 if changed else 512)


def flag(rng: np.random.Generator, count: int, changed: bool) -> np.ndarray:
    return (rng.random(count) < (0.5 if changed else 0.1)).astype(np.int64)


def clock(rng: np.random.Generator, count: int, changed: bool) -> np.ndarray:
    """Nanoseconds since some day: samples of made recordings are one apart."""
    return rng.integers(10**15, 10**16) + np.arange(count)


def counter(rng: np.random.Generator, count: int, changed: bool) -> np.ndarray:
    """From zero on, a little at a time; changed, twice as much."""
    return np.cumsum(rng.integers(0, 9 if changed else 5, count))


BEHAVIOURS: dict[str, Behaviour] = {
    function.__name__: function
    for function in (
        loop_counter,
        independent,
        sticky_pointer,
        slow_change,
        slow_drift,
        correlated,
        run_constant,
        setting,
        flag,
        clock,
        counter,
    )
}

# Whatever happens, these do not change between good and bad.
NEVER_CHANGED = frozenset({"run_constant", "clock"})
