"""Recordings of growing size: real runs repeated in time, many call paths made, deep ones recorded at each size."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.speed import seeds
from bench.speed.made_stacks import make_stacks
from bench.speed.multiplied import count_of, multiplied
from whyperf.recording.sealed.reader import Recording

UNITS = {"values": "values", "stacks": "call paths", "trace": "events", "relations": "executions"}
_TIMES = {"values": (1, 10, 100, 300, 1000), "stacks": (1, 3, 10, 30, 100), "trace": (1, 3, 10, 30, 100)}
_RECORDS = (50, 100, 200, 400, 800)
_QUICK = 3  # sizes
_PATHS = 300  # at the smallest size


@dataclass(frozen=True)
class Sized:
    """Recordings of one size. The size is that of both sides together, in what the kind counts."""

    label: str
    good: Path
    bad: Path
    size: int
    options: tuple[str, ...] = ()  # of `diagnose`


def growing(kind: str, *, quick: bool) -> Iterator[Sized]:
    """Smallest first; what is made for the measurement is gone when the next one is asked for."""
    few = _QUICK if quick else None
    if kind == "relations":
        yield from (_deep(records) for records in _RECORDS[:few])
        return
    for times in _TIMES[kind][:few]:
        with tempfile.TemporaryDirectory(prefix=f"{kind}-", dir=seeds.folder()) as scratch:
            yield _MAKERS[kind](Path(scratch), times)


def _values(scratch: Path, times: int) -> Sized:
    return _repeated(seeds.sampled(), scratch, times, "values")


def _trace(scratch: Path, times: int) -> Sized:
    return _repeated(seeds.traced(), scratch, times, "events")


def _repeated(seed: seeds.Pair, scratch: Path, times: int, counted: str) -> Sized:
    good, bad = (multiplied(one, scratch / side, times) for one, side in zip(seed, ("good", "bad"), strict=True))
    return Sized(f"{times}x", good, bad, count_of(good, counted) + count_of(bad, counted))


def _stacks(scratch: Path, times: int) -> Sized:
    count = times * _PATHS
    good, bad = (make_stacks(scratch / side, count, bad=side == "bad") for side in ("good", "bad"))
    return Sized(f"{times}x", good, bad, count)


def _deep(records: int) -> Sized:
    good, bad = seeds.deep(records)
    size = _executions(good) + _executions(bad)
    return Sized(f"{records} records", good, bad, size, ("--symptom", seeds.DEEP_SYMPTOM))


def _executions(path: Path) -> int:
    deep = Recording(path).manifest.deep
    return deep.executions if deep else 0


_MAKERS: dict[str, Callable[[Path, int], Sized]] = {"values": _values, "stacks": _stacks, "trace": _trace}
