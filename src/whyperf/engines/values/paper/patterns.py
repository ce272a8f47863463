"""The root cause classifier of section 3.4.2: four rules, in order; and where abnormal values were read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from whyperf.engines.run import Floats, Ints
from whyperf.engines.values.kinds import Dimension, Flags, ValueKind, first_size, numbers, step_numbers
from whyperf.engines.values.paper.discounts import dimensions, shallow
from whyperf.engines.values.paper.ranking import Calibrated, Ranking
from whyperf.engines.values.patterns import MISSING_CONSTRAINT, SCALABILITY, UNKNOWN, WRONG_CONSTRAINT
from whyperf.engines.values.value_summary import FramePlaces, ReadAt


@dataclass(frozen=True)
class AbnormalSamples:
    normal: tuple[float, float] | None  # range of the normal execution; None where it was never read
    abnormal: tuple[float, float] | None  # range of what lies outside of it
    read_at: tuple[ReadAt, ...]
    scaled: bool = False  # both are multiples: of a redacted variable


def classify(ranking: Ranking, at: int) -> str:
    """The pattern of the function ranked `at`, counted from 0."""
    one = ranking.functions[at]
    if one.variable is None or one.of_variable is None:
        return UNKNOWN
    roles = ranking.variables[one.variable].roles
    anomalous, dimension = one.of_variable.anomalous, one.of_variable.dimension
    if anomalous and dimension is Dimension.DURATION and roles & {"loop", "condition"}:
        return MISSING_CONSTRAINT
    if anomalous and dimension is not Dimension.DURATION and "loop" in roles:
        return SCALABILITY
    if anomalous and "condition" in roles:
        return WRONG_CONSTRAINT
    if at == 0 and not anomalous and not one.has_basic:
        return SCALABILITY
    return UNKNOWN


def abnormal_samples(ranking: Ranking, one: Calibrated) -> AbnormalSamples | None:
    """Samples of the buggy execution outside the normal one's range, in the dimension that gave the discount."""
    if one.variable is None or one.of_variable is None:
        return None
    kind, dimension = ranking.variables[one.variable].kind, one.of_variable.dimension
    normal = shallow(ranking.good.of(one.variable), ranking.settings)
    buggy = shallow(ranking.bad.of(one.variable), ranking.settings)
    here, there = dimensions(normal, kind)[dimension], dimensions(buggy, kind)[dimension]
    outside = (there < here.min()) | (there > here.max()) if len(here) else np.ones(len(there), np.bool_)
    strange = buggy.frame[_readings(dimension, there, outside)]
    usual, unusual = _plain(kind, dimension, here), _plain(kind, dimension, there[outside])
    scaled = kind.is_scaled and dimension is not Dimension.DURATION
    unit = first_size(float(np.median(side)) for side in (usual, unusual) if len(side)) if scaled else 1.0
    return AbnormalSamples(
        _range(usual / unit),
        _range(unusual / unit),
        _read_at(strange, ranking.variables[one.variable].function, FramePlaces(ranking.bad)),
        scaled,
    )


def _readings(dimension: Dimension, codes: Ints, chosen: Flags) -> Ints:
    """The readings behind some numbers of a dimension: all that stayed, the second of two that differ."""
    if dimension is Dimension.DURATION:
        return np.flatnonzero(np.repeat(chosen, codes))
    return np.flatnonzero(chosen) + (dimension is Dimension.DELTA)


def _range(plain: Floats) -> tuple[float, float] | None:
    return (float(plain.min()), float(plain.max())) if len(plain) else None


def _plain(kind: ValueKind, dimension: Dimension, codes: Ints) -> Floats:
    if dimension is Dimension.VALUE:
        return numbers(kind, codes)
    return step_numbers(kind, codes) if dimension is Dimension.DELTA else codes.astype(np.float64)


def _read_at(frames: Ints, function: int, places: FramePlaces) -> tuple[ReadAt, ...]:
    found: Counter[tuple[str, int, int]] = Counter()
    for frame, count in zip(*(part.tolist() for part in np.unique(frames, return_counts=True)), strict=True):
        found[places.of(frame, function)] += count
    total = sum(found.values())
    return tuple(ReadAt(*place, count / total) for place, count in found.most_common())
