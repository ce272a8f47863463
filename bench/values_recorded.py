"""False discoveries and power among the variables of real recordings.

A family is one comparison of good with bad runs, three of each. Nothing differs between its sides: whatever it reports
is a false discovery. Then some of its variables are changed, and the share of wrong ones among the reported counts.
The rate is the mean over families. They are of three kinds: `disjoint` ones share no recording, `shuffled` ones are
drawn from all recordings of a program, `resampled` ones are made of blocks of samples of six different recordings.
Beside them `single` ones, of one run a side, which share no recording either.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.intervals import mean_upper_bound, rate_upper_bound
from bench.values_planted import CHANGES, Planted, plant, resampled
from bench.values_pools import Pair, disjoint, programs, record_pool, shuffled
from whyperf.engines.run import Run
from whyperf.engines.values.compare import Values, compare
from whyperf.recording.sealed.reader import Recording

THREE_A_SIDE = ("disjoint", "shuffled", "resampled")
SINGLE = "single"
KINDS = (*THREE_A_SIDE, SINGLE)
PLANTED_SHARE = 0.1
_GOAL = 0.10
_SEED = 1
READINGS = {0: "below 30", 30: "30 to 99", 100: "100 and more"}

Cell = tuple[str, str, int]  # a change, its size, and from how many readings a run on


@dataclass(frozen=True)
class Family:
    kind: str
    pair: Pair
    number: int

    @property
    def seed(self) -> int:
        return zlib.crc32(f"{self.kind} {self.pair.program} {self.number}".encode())


@dataclass(frozen=True)
class Judged:
    """What came of one family, before and after changes were planted."""

    kind: str
    program: str
    variables: int  # judged
    false_alone: tuple[str, ...]  # reported though nothing differs
    reported: int
    wrong: tuple[str, ...]
    planted: Counter[Cell]
    found: Counter[Cell]

    @property
    def wrong_share(self) -> float:
        return len(self.wrong) / max(1, self.reported)


def show_recorded(pool: int, more: int, jobs: int, *, reuse: bool, only: Sequence[str]) -> bool:
    """Records, compares and prints; whether the goal is met."""
    wanted: list[Family] = []
    recordings = 0
    chosen = [one for one in programs() if not only or one.name in only]
    for program in chosen:
        paths = record_pool(program, pool, reuse=reuse)
        recordings += len(paths)
        wanted += families(program.name, paths, more=more, seed=_SEED)
    judged = judge_all(wanted, jobs)
    print(f"{recordings} recordings of {', '.join(one.name for one in chosen)}")
    good = print_rates(judged)
    print_power(judged)
    return good


def families(program: str, pool: Sequence[Path], *, more: int, seed: int) -> list[Family]:
    """All disjoint pairs of a pool, and so many of either further kind."""
    rng = np.random.default_rng((seed, zlib.crc32(program.encode())))
    pairs = {
        "disjoint": list(disjoint(program, pool)),
        "shuffled": list(shuffled(program, pool, more, rng)),
        "resampled": list(shuffled(program, pool, more, rng)),
        SINGLE: list(disjoint(program, pool, 1)),
    }
    return [Family(kind, pair, number) for kind in KINDS for number, pair in enumerate(pairs[kind])]


def judge(family: Family) -> Judged:
    rng = np.random.default_rng(family.seed)
    runs = []
    for path in (*family.pair.good, *family.pair.bad):
        recording = Recording(path)
        runs.append(Run(resampled(rng, recording) if family.kind == "resampled" else recording))
    good, bad = runs[: len(family.pair.good)], runs[len(family.pair.good) :]
    alone = _compared(good, bad)
    changed, planted = plant(rng, alone, good, bad, PLANTED_SHARE)
    values = _compared(good, changed)
    reported = {one.variable for one in values.abnormal}
    return Judged(
        kind=family.kind,
        program=family.pair.program,
        variables=sum(one.screened for one in alone.outcomes),
        false_alone=tuple(one.variable.name for one in alone.abnormal),
        reported=len(reported),
        wrong=tuple(sorted(one.name for one in reported - planted.keys())),
        planted=Counter(_cell(what) for what in planted.values()),
        found=Counter(_cell(what) for one, what in planted.items() if one in reported),
    )


def judge_all(wanted: Sequence[Family], jobs: int) -> list[Judged]:
    with ProcessPoolExecutor(jobs) as workers:
        return list(workers.map(judge, wanted, chunksize=4))


def print_rates(judged: Sequence[Judged]) -> bool:
    """The table of rates; whether all of them are within the goal."""
    good = True
    print(
        "| families | number | variables judged | with a false discovery | 95% bound | rate with 10% changed | bound |"
    )
    print("|---|---|---|---|---|---|---|")
    rows = {**{kind: (kind,) for kind in THREE_A_SIDE}, "all of these": THREE_A_SIDE, SINGLE: (SINGLE,)}
    for kind, among in rows.items():
        chosen = [one for one in judged if one.kind in among]
        if not chosen:
            continue
        alone = sum(bool(one.false_alone) for one in chosen)
        shares = np.array([one.wrong_share for one in chosen])
        median = int(np.median([one.variables for one in chosen]))
        print(
            f"| {kind} | {len(chosen)} | {median} | {alone} ({alone / len(chosen):.1%}) | "
            f"{rate_upper_bound(alone, len(chosen)):.1%} | {shares.mean():.1%} | {mean_upper_bound(shares):.1%} |"
        )
        good &= alone / len(chosen) <= _GOAL and float(shares.mean()) <= _GOAL
    for one in judged:
        if one.false_alone or one.wrong:
            print(f"  false: {one.program} ({one.kind}): alone {one.false_alone}, beside planted {one.wrong}")
    return good


def print_power(judged: Sequence[Judged]) -> None:
    """Found of planted changes, by how often the variable was read in a run; with three runs a side."""
    chosen = [one for one in judged if one.kind in THREE_A_SIDE]
    planted = sum((one.planted for one in chosen), Counter[Cell]())
    found = sum((one.found for one in chosen), Counter[Cell]())
    print(f"| change | size | {' | '.join(f'{name} readings a run' for name in READINGS.values())} |")
    print("|---|---|" + "---|" * len(READINGS))
    for change in CHANGES:
        cells = [(change.name, change.size, fewest) for fewest in READINGS]
        shown = [f"{found[cell] / max(1, planted[cell]):.0%} of {planted[cell]}" for cell in cells]
        print(f"| {change.name} | {change.size} | {' | '.join(shown)} |")


def _cell(what: Planted) -> Cell:
    return what.change.name, what.change.size, max(fewest for fewest in READINGS if what.readings >= fewest)


def _compared(good: Sequence[Run], bad: Sequence[Run]) -> Values:
    values = compare(good, bad)
    assert values is not None
    return values
