"""Outcomes on disk: a case's stays valid until it is run anew, so that a run can be taken up and shared out."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.accuracy.blocks import BlockDistance
from bench.accuracy.outcome import Cost, Outcome, Ranks
from bench.cache import cache_folder


def stored(case: str, part: str = "ranks") -> Path:
    folder = cache_folder() / "results" / part
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{case}.json"


def write(outcomes: Iterable[Outcome], path: Path) -> None:
    """A line a case."""
    path.write_text("[\n" + ",\n".join(json.dumps(asdict(outcome)) for outcome in outcomes) + "\n]\n")


def read(path: Path) -> list[Outcome]:
    """KeyError or TypeError where another version wrote it."""
    return [_outcome(told) for told in json.loads(path.read_text())]


def take_over(path: Path) -> None:
    """Makes another machine's outcomes ours, where a case has none here."""
    for outcome in read(path):
        if not stored(outcome.case).exists():
            write([outcome], stored(outcome.case))


def _outcome(told: dict[str, Any]) -> Outcome:
    ranks = {name: Ranks(**told[name]) for name in ("ours", "without_values", "paper")}
    blocks = told["blocks_away"]
    return Outcome(
        **{
            **told,
            **ranks,
            "suspects": tuple(told["suspects"]),
            "single": tuple(Ranks(**one) for one in told["single"]),
            "peers": {name: Ranks(**one) for name, one in told["peers"].items()},
            "blocks_away": BlockDistance(**blocks) if blocks else None,
            "cost": Cost(**told["cost"]),
        }
    )


@contextmanager
def held(case: str) -> Iterator[bool]:
    """Whether the case is ours now: another runner may be at it."""
    with stored(case).with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
