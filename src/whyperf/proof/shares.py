"""Shares of the excess, with intervals: medians, and a bootstrap over the runs of each kind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whyperf.diagnose.origin import Share
from whyperf.proof.trial import Runs, TrialKind, amounts

_RESAMPLED = 2000
_INTERVAL = (2.5, 97.5)
_SEED = 1

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Shares:
    removed: Share
    sham: Share
    reverse: Share


def shares_of(runs: Runs) -> Shares:
    """What each kind of run removes or makes of the difference between bad and good medians, which must not be 0."""
    random = np.random.default_rng(_SEED)
    columns = {kind: np.array(amounts(runs, kind)) for kind in TrialKind}
    medians = {kind: np.median(values) for kind, values in columns.items()}
    again = {kind: _resampled(values, random) for kind, values in columns.items()}
    point = _shares({kind: np.array([median]) for kind, median in medians.items()})
    many = _shares(again)
    return Shares(*(_share(float(value[0]), values) for value, values in zip(point, many, strict=True)))


def _resampled(values: Floats, random: np.random.Generator) -> Floats:
    picked = random.integers(0, len(values), (_RESAMPLED, len(values)))
    medians: Floats = np.median(values[picked], axis=1)
    return medians


def _shares(medians: dict[TrialKind, Floats]) -> tuple[Floats, Floats, Floats]:
    good, bad = medians[TrialKind.GOOD], medians[TrialKind.BAD]
    excess = bad - good
    with np.errstate(divide="ignore", invalid="ignore"):
        return (
            (bad - medians[TrialKind.FORCED]) / excess,
            (bad - medians[TrialKind.SHAM]) / excess,
            (medians[TrialKind.REVERSE] - good) / excess,
        )


def _share(value: float, many: Floats) -> Share:
    kept = many[np.isfinite(many)]
    low, high = np.percentile(kept, _INTERVAL) if len(kept) else (value, value)
    return Share(value, float(min(low, value)), float(max(high, value)))
