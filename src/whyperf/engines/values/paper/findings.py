"""The published method's ranking as findings."""

from __future__ import annotations

from whyperf.engines.finding import Finding, Place
from whyperf.engines.quantities import seconds
from whyperf.engines.values.detail import PaperValuesDetail
from whyperf.engines.values.kinds import multiple, number_text
from whyperf.engines.values.paper.patterns import AbnormalSamples, abnormal_samples, classify
from whyperf.engines.values.paper.ranking import Calibrated, Ranking

ENGINE = "values"


def findings(ranking: Ranking) -> list[Finding]:
    total = sum(one.cost_s for one in ranking.functions)
    return [
        _finding(ranking, at, one, one.cost_s / total if total > 0 else 0.0)
        for at, one in enumerate(ranking.functions[: ranking.settings.shown])
    ]


def _finding(ranking: Ranking, at: int, one: Calibrated, share: float) -> Finding:
    abnormal = abnormal_samples(ranking, one)
    read_at = abnormal.read_at[0] if abnormal is not None and abnormal.read_at else None
    return Finding(
        engine=ENGINE,
        function=one.function,
        place=Place(read_at.file, read_at.line, read_at.block) if read_at else Place("", 0),
        rank=at + 1,
        score=share,
        share=share,
        path=(),
        pattern=classify(ranking, at),
        why=_sentence(ranking, one, abnormal),
        detail=_detail(ranking, one, abnormal),
    )


def _sentence(ranking: Ranking, one: Calibrated, abnormal: AbnormalSamples | None) -> str:
    cost = f"Calibrated cost {seconds(one.cost_s)}: {seconds(one.raw_s)} at a discount of {one.discount:.2f}"
    if one.variable is None or one.of_variable is None:
        return f"{cost}, by rank alone."
    name = ranking.variables[one.variable].name
    if not one.of_variable.anomalous:
        return f"{cost}; no variable is anomalous."
    if abnormal is None or abnormal.abnormal is None:
        return f"{cost}; {name} is anomalous by {one.of_variable.dimension.value}."
    write = multiple if abnormal.scaled else number_text
    low, high = (write(value) for value in abnormal.abnormal)
    normally = "normally never read"
    if abnormal.normal is not None:
        normally = "normally " + " .. ".join(write(value) for value in abnormal.normal)
    return f"{cost}; {name} is anomalous by {one.of_variable.dimension.value}: {low} .. {high}, {normally}."


def _detail(ranking: Ranking, one: Calibrated, abnormal: AbnormalSamples | None) -> PaperValuesDetail:
    return PaperValuesDetail(
        raw_s=one.raw_s,
        calibrated_s=one.cost_s,
        discount=one.discount,
        variable=None if one.variable is None else ranking.variables[one.variable].name,
        dimension=None if one.of_variable is None else one.of_variable.dimension.value,
        normal_range=abnormal.normal if abnormal else None,
        abnormal_range=abnormal.abnormal if abnormal else None,
        read_at=tuple(abnormal.read_at[:8]) if abnormal else (),
    )
