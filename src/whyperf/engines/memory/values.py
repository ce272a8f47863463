"""What variables of the deciding function hold while it allocates: sizes, counts, capacities, good against bad.

They were read with each sampled allocation. A variable is told where every bad run's median is beyond every good run's,
and where all readings together differ beyond chance: by the rank sum test, corrected for how many variables were looked
at. Of a counter that grows in good and bad runs alike readings are not independent: only how far it gets is compared,
which is known to within the gap between two readings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import erfc, factorial, prod, sqrt

import numpy as np

from whyperf.engines.memory.contexts import MemoryContexts, PlacedHoldings
from whyperf.engines.quantities import count
from whyperf.engines.run import Floats, Ints, column, texts

_LEVEL = 0.05
_FEWEST = 5  # readings of a side: with fewer the test says nothing
_NUMBERS = ("signed", "unsigned", "size", "enum")
_SHOWN = 2


@dataclass(frozen=True)
class ChangedValue:
    name: str
    good: float  # medians; of one that only grows the last
    bad: float
    only_grows: bool

    @property
    def sentence(self) -> str:
        if self.only_grows:
            return f"`{self.name}` only grows, to {count(self.bad)}; good runs end at {count(self.good)}."
        return f"`{self.name}` is {count(self.bad)} there, was {count(self.good)}."


@dataclass(frozen=True, eq=False)
class _Readings:
    """Of one variable, a column for each run in the order of time."""

    good: Sequence[Floats]
    bad: Sequence[Floats]


def changed_values(contexts: MemoryContexts, function: int, nodes: Ints) -> list[ChangedValue]:
    """Counters that only grow first, then what differs most."""
    read = _read(contexts, function, nodes)
    told = [(name, one, _p(one)) for name, one in read.items()]
    changed = [(p, _changed(name, one)) for name, one, p in told if p <= _LEVEL / max(len(told), 1) and _differs(one)]
    return [one for _, one in sorted(changed, key=lambda row: (not row[1].only_grows, row[0], row[1].name))][:_SHOWN]


def _read(contexts: MemoryContexts, function: int, nodes: Ints) -> dict[str, _Readings]:
    sides = [[dict(_of_run(contexts, one, function, nodes)) for one in side] for side in (contexts.good, contexts.bad)]
    names = set[str]().union(*(run for side in sides for run in side))
    found: dict[str, _Readings] = {}
    for name in sorted(names):
        good, bad = ([run[name] for run in side if name in run] for side in sides)
        everywhere = len(good) == len(contexts.good) and len(bad) == len(contexts.bad)
        if everywhere and min(sum(map(len, good)), sum(map(len, bad))) >= _FEWEST:
            found[name] = _Readings(good, bad)
    return found


def _of_run(contexts: MemoryContexts, one: PlacedHoldings, function: int, nodes: Ints) -> Iterator[tuple[str, Floats]]:
    recording = one.run.recording
    variables, values = recording.table("variables"), recording.table("values")
    number = contexts.index.of_row[one.run]
    names = {
        row: name
        for row, (kind, owner, name) in enumerate(
            zip(
                texts(variables, "kind"),
                column(variables, "function").tolist(),
                texts(variables, "name"),
                strict=True,
            )
        )
        if kind in _NUMBERS and number.get(owner) == function
    }
    samples = one.held.sample[np.isin(one.node, nodes)]
    variable, sample, value = (column(values, name) for name in ("variable", "sample", "value"))
    rows = np.flatnonzero(np.isin(variable, np.array(list(names), np.int64)) & np.isin(sample, samples))
    by_name: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
    for row in rows.tolist():
        by_name[names[int(variable[row])]].append((int(sample[row]), float(value[row])))
    for name, readings in by_name.items():
        yield name, np.array([held for _, held in sorted(readings)])


def _p(one: _Readings) -> float:
    """Of the rank sum test, by its normal approximation with ties."""
    good, bad = np.concatenate(one.good), np.concatenate(one.bad)
    _, where, counts = np.unique(np.concatenate((good, bad)), return_inverse=True, return_counts=True)
    rank = (np.cumsum(counts) - (counts - 1) / 2)[where]
    n, m = len(good), len(bad)
    total = n + m
    ties = float((counts.astype(np.float64) ** 3 - counts).sum())
    variance = n * m / 12 * (total + 1 - ties / (total * (total - 1)))
    if variance <= 0:
        return 1.0
    statistic = float(rank[n:].sum()) - m * (m + 1) / 2 - n * m / 2
    return erfc(abs(statistic) / sqrt(2 * variance))


def _differs(one: _Readings) -> bool:
    if not (_only_grows(one.good) and _only_grows(one.bad)):
        return _separated(one)
    gap = max(float(np.diff(run).max(initial=0.0)) for run in (*one.good, *one.bad))
    return min(float(run[-1]) for run in one.bad) > max(float(run[-1]) for run in one.good) + gap


def _only_grows(runs: Sequence[Floats]) -> bool:
    """In more readings than are in order by chance: of n one order in n! rises."""
    by_chance = 1 / prod(factorial(min(len(run), _FEWEST)) for run in runs)
    return (
        by_chance <= _LEVEL and all((np.diff(run) >= 0).all() for run in runs) and any(run[-1] > run[0] for run in runs)
    )


def _separated(one: _Readings) -> bool:
    good, bad = ([float(np.median(run)) for run in side] for side in (one.good, one.bad))
    return min(bad) > max(good) or max(bad) < min(good)


def _changed(name: str, one: _Readings) -> ChangedValue:
    grows = _only_grows(one.bad)
    good, bad = ([float(run[-1]) if grows else float(np.median(run)) for run in side] for side in (one.good, one.bad))
    return ChangedValue(name, float(np.median(good)), float(np.median(bad)), grows)
