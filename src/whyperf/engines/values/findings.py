"""The engine's findings: functions with abnormal data, their variables in words, the pattern and its evidence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from whyperf.engines.finding import Finding, HotLine, Place
from whyperf.engines.run import source_lines
from whyperf.engines.values.compare import Abnormal, Values
from whyperf.engines.values.detail import ValuesDetail, VariableDetail
from whyperf.engines.values.kinds import Dimension, ValueKind
from whyperf.engines.values.patterns import Pattern, infer
from whyperf.engines.values.sentences import sentence, unit_of, writing
from whyperf.engines.values.value_summary import ReadAt, Spread
from whyperf.recording.names.identity import FunctionKey

ENGINE = "values"


@dataclass(frozen=True)
class ShownSpread:
    text: str  # the range
    typical: str
    histogram: tuple[float, ...]  # shares, over the same cells for good and bad


@dataclass(frozen=True)
class ShownVariable:
    """An abnormal variable, ready to be shown."""

    name: str
    type: str
    scope: str
    dimension: Dimension
    good: ShownSpread
    bad: ShownSpread
    sentence: str
    distance: float
    p: float | None
    lines: tuple[HotLine, ...]  # where abnormal values were read; shares are of those readings
    file: str


def findings(values: Values) -> list[Finding]:
    """One for each function with abnormal data, the most abnormal first."""
    outcomes = defaultdict(list)
    for outcome in values.outcomes:
        outcomes[outcome.variable.function].append(outcome)
    score = {one.function: values.anomaly.get(one.function, 0.0) for one in values.cited if one.function is not None}
    ranked = sorted(score, key=lambda key: (-score[key], key.name, key.module))
    found = []
    for rank, key in enumerate(ranked, 1):
        abnormal = values.of(key)
        pattern = infer(abnormal, outcomes[abnormal[0].variable.function], values.settings)
        found.append(_finding(values, key, abnormal, pattern, rank=rank, score=score[key]))
    return found


def shown(values: Values, function: FunctionKey) -> tuple[ShownVariable, ...]:
    """The function's most abnormal variables."""
    return tuple(described(values, one) for one in values.of(function)[: values.settings.shown_variables])


def shown_globals(values: Values) -> tuple[ShownVariable, ...]:
    several = [one for one in values.cited if one.function is None]
    return tuple(described(values, one) for one in several[: values.settings.shown_variables])


def set_otherwise(values: Values, named: Collection[FunctionKey]) -> tuple[tuple[FunctionKey, ShownVariable], ...]:
    """By what functions other than the named ones decide, and what is one number in all good runs and another in all
    bad ones; a number that is handed on once."""
    found: dict[tuple[float, float], Abnormal] = {}
    for one in values.abnormal:
        good, bad = one.contrast.good, one.contrast.bad
        settled = one.dimension is Dimension.VALUE and good.constant and bad.constant
        settled &= one.decides and one.variable.kind is not ValueKind.POINTER
        if settled and one.function is not None and one.function not in named:
            found.setdefault((good.typical, bad.typical), one)
    several = list(found.values())[: values.settings.shown_variables]
    return tuple((one.function, described(values, one)) for one in several if one.function is not None)


def _finding(
    values: Values, key: FunctionKey, abnormal: list[Abnormal], pattern: Pattern, *, rank: int, score: float
) -> Finding:
    telling = next((one for one in abnormal if one.variable.name == pattern.variable), abnormal[0])
    read_at = telling.contrast.read_at
    place = Place(read_at[0].file, read_at[0].line, read_at[0].block) if read_at else Place("", 0)
    said = sentence(telling, values.settings, values.unit)
    return Finding(
        engine=ENGINE,
        function=key,
        place=place,
        rank=rank,
        score=score,
        share=0.0,
        path=(),
        pattern=pattern.name,
        why=f"{said[:-1]}: {pattern.evidence}." if pattern.evidence else said,
        detail=ValuesDetail(pattern_evidence=pattern.evidence, variables=tuple(map(_detail, abnormal))),
    )


def _detail(one: Abnormal) -> VariableDetail:
    return VariableDetail(
        name=one.variable.name,
        roles=tuple(sorted(one.variable.roles)),
        dimension=one.dimension.value,
        distance=one.distance,
        distance_within_kind=one.within,
        p=one.p,
        anomaly=one.anomaly,
        abnormal_ranges=tuple(tuple(end / unit_of(one) for end in both) for both in one.contrast.abnormal),
        abnormal_share=one.contrast.abnormal_share,
        read_at=tuple(one.contrast.read_at[:8]),
    )


def described(values: Values, one: Abnormal) -> ShownVariable:
    read_at = one.contrast.read_at[: values.settings.shown_lines]
    file = read_at[0].file if read_at else one.variable.file
    return ShownVariable(
        name=one.variable.name,
        type=one.variable.type,
        scope=one.variable.scope,
        dimension=one.dimension,
        good=_spread(one, one.contrast.good),
        bad=_spread(one, one.contrast.bad),
        sentence=sentence(one, values.settings, values.unit),
        distance=one.distance,
        p=one.p,
        lines=_lines([place for place in read_at if place.file == file], source_lines(values.functions.bad, file)),
        file=file,
    )


def _spread(one: Abnormal, spread: Spread) -> ShownSpread:
    text = writing(one)
    return ShownSpread(text.range(spread), text.value(spread.typical), spread.histogram)


def _lines(places: list[ReadAt], text: dict[int, str]) -> tuple[HotLine, ...]:
    """A line may have several blocks; it is shown once."""
    share: dict[int, float] = defaultdict(float)
    for place in places:
        share[place.line] += place.share
    return tuple(HotLine(line, part, text.get(line, "")) for line, part in share.items())
