"""Pools of recordings with values of one behaviour each, and how they are dealt into good and bad sides."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench import subjects
from bench.cache import cache_folder
from bench.tool import record
from bench.workloads import Workload, all_workloads

RUNS = 3  # a side, as `compare` records them


@dataclass(frozen=True)
class Pair:
    """Two sides of one behaviour: whatever a comparison finds is wrong."""

    program: str
    good: tuple[Path, ...]
    bad: tuple[Path, ...]


def programs() -> list[Workload]:
    """Real programs and our own, C and C++, threads and a server: about a second of CPU time each."""
    known = {one.name: one for one in all_workloads()}
    return [
        known["redis"],
        known["sqlite"],
        _own("cascade", "2500", "12", "1"),
        _own("ledger", "recover", "150000", "8192", "1"),
        _own("pool", "3", "120000", "60", "64"),
        _own("kv", "cluster", "4", "3000"),
        _own("catalogue", "400", "12000", "10"),
        _own("planner", "1200", "200"),
    ]


def record_pool(program: Workload, count: int, *, reuse: bool) -> list[Path]:
    """`reuse` takes what is there already, and records only what is missing."""
    folder = cache_folder() / "recordings" / "values" / program.name
    if not reuse:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{number:03}.whyperf" for number in range(count)]
    for number, path in enumerate(paths):
        if not (path / "manifest.json").exists():
            record_run(program, path)
            print(f"\r{program.name}: {number + 1}/{count} recorded ", end="", file=sys.stderr, flush=True)
    return paths


def record_run(program: Workload, path: Path) -> None:
    options: list[str] = []
    if program.drive:
        options += ["--ready", f"tcp:{program.port}", "--drive", shlex.join(program.drive)]
    path.parent.mkdir(parents=True, exist_ok=True)
    record(path, program.command(""), *options)


def disjoint(program: str, pool: Sequence[Path], runs: int = RUNS) -> Iterator[Pair]:
    """Consecutive recordings dealt in turn, as `compare` alternates them: no recording is in two pairs."""
    for first in range(0, len(pool) - 2 * runs + 1, 2 * runs):
        dealt = pool[first : first + 2 * runs]
        yield Pair(program, tuple(dealt[::2]), tuple(dealt[1::2]))


def shuffled(program: str, pool: Sequence[Path], pairs: int, rng: np.random.Generator) -> Iterator[Pair]:
    """Pairs drawn at random from the whole pool: more of them, which share recordings."""
    for _ in range(pairs):
        drawn = [pool[at] for at in rng.permutation(len(pool))[: 2 * RUNS]]
        yield Pair(program, tuple(drawn[:RUNS]), tuple(drawn[RUNS:]))


def _own(program: str, *arguments: str) -> Workload:
    return Workload(program, lambda flags: [str(subjects.own(program, flags)), *arguments], [])
