"""Changes planted into real recordings, and new runs resampled from them: what the truth is, is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from whyperf.engines.recording_protocol import Recorded
from whyperf.engines.run import Run
from whyperf.engines.values.compare import Values
from whyperf.engines.values.counters import Tracking
from whyperf.engines.values.kinds import ValueKind
from whyperf.engines.values.variable_comparison import VariableOutcome
from whyperf.engines.values.variables import Variable, VariableIndex
from whyperf.recording.schemas.tables import TABLES, VALUES
from whyperf.recording.sealed.manifest import Manifest

Array = np.ndarray[Any, Any]
Apply = Callable[[np.random.Generator, Array, Array], Array]  # of one run's values and of all runs'

_STRETCH = 10.0  # readings for which a planted mode lasts
_BLOCK = 40.0  # samples that a resampled run takes in a row
_NOTHING_IN_COMMON = 0.99  # distance of runs of one kind


@dataclass(frozen=True)
class Held:
    """A recording of which some tables were replaced."""

    path: Path
    manifest: Manifest
    tables: Mapping[str, pa.Table]

    def table(self, name: str) -> pa.Table:
        return self.tables[name]


@dataclass(frozen=True)
class Change:
    name: str
    size: str
    suits: Callable[[VariableOutcome, Array], bool]  # what is known of the variable, and what it held in all runs
    apply: Apply


@dataclass(frozen=True)
class Planted:
    change: Change
    readings: int  # in the run that has fewest


def _numeric(outcome: VariableOutcome, pooled: Array) -> bool:
    return outcome.variable.kind.numeric and outcome.growth.tracking is Tracking.NO and np.ptp(pooled) > 0


def _varies(outcome: VariableOutcome, pooled: Array) -> bool:
    return outcome.growth.tracking is Tracking.NO and np.ptp(pooled) > 0


def _counts(outcome: VariableOutcome, pooled: Array) -> bool:
    """A plain amount: a size, a length, a number of things."""
    whole = outcome.variable.kind in (ValueKind.SIGNED, ValueKind.UNSIGNED, ValueKind.SIZE)
    return whole and outcome.growth.tracking is Tracking.NO and pooled.min() >= 0 and 8 <= pooled.max() < 1e15


def _is_counter(outcome: VariableOutcome, _pooled: Array) -> bool:
    return outcome.growth.tracking is Tracking.SAME


def _shifted(by: float) -> Apply:
    return lambda _rng, values, pooled: values + max(1.0, by * float(pooled.std()))


def _other_mode(share: float) -> Apply:
    """Now and then another value, for a while."""

    def apply(rng: np.random.Generator, values: Array, pooled: Array) -> Array:
        stretch = np.cumsum(rng.random(len(values)) < 1 / _STRETCH)
        taken = rng.random(int(stretch[-1]) + 1) < share
        return np.where(taken[stretch], pooled.max() + 1, values)

    return apply


def _stuck(share: float) -> Apply:
    """From some point of the run on one value, the same in all runs."""

    def apply(_rng: np.random.Generator, values: Array, pooled: Array) -> Array:
        found, counts = np.unique(pooled, return_counts=True)
        stuck = values.copy()
        stuck[int(len(values) * (1 - share)) :] = found[np.argmin(counts)]
        return stuck

    return apply


def _grown(factor: float) -> Apply:
    return lambda _rng, values, _pooled: values * factor


def _steeper(factor: float) -> Apply:
    return lambda _rng, values, _pooled: values[0] + (values - values[0]) * factor


CHANGES: tuple[Change, ...] = (
    *(Change("mean shift", f"{by:g} deviations", _numeric, _shifted(by)) for by in (0.5, 1.0, 2.0)),
    *(Change("another mode", f"{share:.0%} of the time", _varies, _other_mode(share)) for share in (0.1, 0.3, 0.6)),
    *(Change("stuck", f"{share:.0%} of the run", _varies, _stuck(share)) for share in (0.3, 0.6, 1.0)),
    *(Change("grown size", f"x {factor:g}", _counts, _grown(factor)) for factor in (1.25, 2.0, 4.0)),
    *(Change("counter's slope", f"x {factor:g}", _is_counter, _steeper(factor)) for factor in (1.5, 2.0, 4.0)),
)


def held(recording: Recorded, **replaced: pa.Table) -> Held:
    tables = {table.name: recording.table(table.name) for table in TABLES if table.name not in replaced}
    return Held(recording.path, recording.manifest, tables | replaced)


def plant(
    rng: np.random.Generator, values: Values, good: Sequence[Run], bad: Sequence[Run], share: float
) -> tuple[list[Run], dict[Variable, Planted]]:
    """The bad runs with changes in a share of those variables that were judged; and which those are.

    Every change is as likely as every other: a kind of change first, then a variable that it suits. Times and ids,
    which no two runs have in common, are left alone: nobody can tell whether they changed.
    """
    index = VariableIndex(values.functions)
    numbers = {variable: number for number, variable in enumerate(index.variables)}
    judged = [one for one in values.outcomes if one.screened]
    held_by = {one.variable: _held(index, numbers[one.variable], (*good, *bad)) for one in judged}
    pooled = {variable: np.concatenate(pieces) for variable, pieces in held_by.items()}
    shared = [one for one in judged if one.tests[0].within < _NOTHING_IN_COMMON]
    left = [shared[at] for at in rng.permutation(len(shared))]
    planted: dict[Variable, Planted] = {}
    for _ in range(max(1, round(share * len(judged)))):
        change = CHANGES[rng.integers(len(CHANGES))]
        chosen = next((one for one in left if change.suits(one, pooled[one.variable])), None)
        if chosen is not None:
            left.remove(chosen)
            planted[chosen.variable] = Planted(change, min(len(piece) for piece in held_by[chosen.variable]))
    changed = []
    for run in bad:
        table = run.recording.table("values")
        variable, stored = table.column("variable").to_numpy(), table.column("value").to_numpy().copy()
        for one, what in planted.items():
            rows = np.flatnonzero(variable == index.rows[run].get(numbers[one], -1))
            if len(rows):
                plain = _plain(one.kind, stored[rows])
                stored[rows] = _stored(one.kind, what.change.apply(rng, plain, pooled[one]))
        replaced = table.set_column(table.schema.get_field_index("value"), "value", pa.array(stored, pa.int64()))
        changed.append(Run(held(run.recording, values=replaced)))
    return changed, planted


def resampled(rng: np.random.Generator, recording: Recorded) -> Held:
    """A run that might have been: blocks of samples of a real one, each with all that was read in it.

    Within a block everything depends on everything as it did; constants of the run stay what they were.
    """
    samples, values = recording.table("samples"), recording.table("values")
    count = samples.num_rows
    fresh = rng.random(count) < 1 / _BLOCK
    fresh[:1] = True
    block = np.cumsum(fresh) - 1
    begin = np.flatnonzero(fresh)
    source = (rng.integers(0, count, len(begin))[block] + np.arange(count) - begin[block]) % count
    by_sample = np.argsort(values.column("sample").to_numpy(), kind="stable")
    held_by = np.bincount(values.column("sample").to_numpy(), minlength=count)
    first = np.cumsum(held_by) - held_by
    sizes = held_by[source]
    sample = np.repeat(np.arange(count), sizes)
    within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    rows = by_sample[np.repeat(first[source], sizes) + within]
    taken = values.take(pa.array(rows))
    order = np.lexsort((sample, taken.column("variable").to_numpy()))
    at = VALUES.schema.get_field_index("sample")
    taken = taken.set_column(at, "sample", pa.array(sample, VALUES.schema.field("sample").type)).take(pa.array(order))
    times = samples.schema.get_field_index("time")
    stacks = samples.take(pa.array(source)).set_column(times, "time", samples.column("time"))
    return held(recording, samples=stacks, values=taken)


def _held(index: VariableIndex, number: int, runs: Sequence[Run]) -> list[Array]:
    """What a variable held, run by run."""
    pieces = []
    for run in runs:
        table = run.recording.table("values")
        chosen = table.column("variable").to_numpy() == index.rows[run].get(number, -1)
        pieces.append(_plain(index.variables[number].kind, table.column("value").to_numpy()[chosen]))
    return pieces


def _plain(kind: ValueKind, stored: Array) -> Array:
    if kind is ValueKind.FLOAT:
        return np.nan_to_num(np.ascontiguousarray(stored).view(np.float64))
    if kind is ValueKind.POINTER:  # by class, as pointers are compared
        return (stored.view(np.uint64) >> np.uint64(56)).astype(np.float64)
    return stored.astype(np.float64)


def _stored(kind: ValueKind, plain: Array) -> Array:
    if kind is ValueKind.FLOAT:
        return np.ascontiguousarray(plain, np.float64).view(np.int64)
    if kind is ValueKind.POINTER:
        return np.asarray(plain).astype(np.int64) << 56
    return np.round(np.clip(plain, -(2.0**62), 2.0**62)).astype(np.int64)
