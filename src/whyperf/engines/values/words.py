"""An abnormal variable in words."""

from __future__ import annotations

from whyperf.engines.quantities import percent
from whyperf.engines.values.compare import Abnormal
from whyperf.engines.values.kinds import Dimension, Kind, number_text, written
from whyperf.engines.values.settings import ValuesSettings
from whyperf.engines.values.spread import Spread


def range_text(spread: Spread, kind: Kind, dimension: Dimension) -> str:
    """`0`, or `4.1e+08 .. 4.3e+08`."""
    if dimension is Dimension.DURATION:
        return f"{number_text(spread.low)} .. {number_text(spread.high)} samples"
    text = value_text if dimension is Dimension.VALUE else lambda _, value: f"{value:+,.4g}"
    if spread.constant:
        return text(kind, spread.typical)
    if not kind.numeric:
        return f"mostly {text(kind, spread.typical)} ({percent(spread.at_typical)})"
    return f"{text(kind, spread.low)} .. {text(kind, spread.high)}"


def value_text(kind: Kind, value: float) -> str:
    return written(kind, value)


def sentence(one: Abnormal, settings: ValuesSettings) -> str:
    name, kind = one.variable.name, one.variable.kind
    good, bad = one.contrast.good, one.contrast.bad
    if one.growth is not None:
        times = one.growth.bad / one.growth.good
        return f"{name} grows to {times:,.1f} times as much per unit of work."
    match one.dimension:
        case Dimension.DURATION:
            return (
                f"{name} stays the same for up to {number_text(bad.high)} samples at a time; {number_text(good.high)} "
                f"in the good runs."
            )
        case Dimension.DELTA:
            return (
                f"{name} typically changes by {bad.typical:+,.4g} from sample to sample; by {good.typical:+,.4g} in "
                f"the good runs."
            )
        case Dimension.VALUE:
            return _value_sentence(name, kind, good, bad, settings)


def _value_sentence(name: str, kind: Kind, good: Spread, bad: Spread, settings: ValuesSettings) -> str:
    was = range_text(good, kind, Dimension.VALUE)
    if bad.constant:
        if kind is Kind.POINTER:
            share = f"was in {percent(good.at_typical)}" if good.typical == bad.typical else f"was {was}"
            return f"{name} is {written(kind, bad.typical)} in all samples; {share}."
        return f"{name} stays at {written(kind, bad.typical)} for the whole run; was {was}."
    if not kind.numeric:
        share = percent(good.at_typical) if good.typical == bad.typical else f"mostly {written(kind, good.typical)}"
        return f"{name} is {written(kind, bad.typical)} in {percent(bad.at_typical)} of the samples; was {share}."
    if bad.at_typical >= settings.one_value:
        return f"{name} is nearly always {written(kind, bad.typical)}; was {was}."
    return f"{name} is typically {written(kind, bad.typical)} ({range_text(bad, kind, Dimension.VALUE)}); was {was}."
