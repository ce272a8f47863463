"""Recordings of many functions and call paths: what repeating a run in time does not add."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

from tests.engines.made import recording

from whyperf.recording.sealed.writer import write_recording

_SAMPLE_S = 0.005
_DEEPEST = 12
_SLOWER, _EVERY = 20, 10  # in bad runs one path of so many takes so many times as long


def make_stacks(path: Path, count: int, *, bad: bool) -> Path:
    """So many distinct call paths over as many functions, the same in good and bad runs."""
    chance = random.Random(1)
    stacks = []
    for number in range(count):
        functions = [f"f{chance.randrange(count)}@{chance.randint(20, 60)}" for _ in range(chance.randint(2, _DEEPEST))]
        times = _SLOWER if bad and number % _EVERY == 0 else 1
        stacks.append((["main", *functions], times * _SAMPLE_S))
    made = recording(stacks)
    spent = sum(seconds for _, seconds in stacks)
    totals = replace(made.manifest.totals, wall_s=spent, cpu_user_s=spent, cpu_system_s=0.0)
    write_recording(path, replace(made.manifest, totals=totals), made.tables)
    return path
