"""An abnormal variable in words."""

from __future__ import annotations

from dataclasses import dataclass

from whyperf.engines.quantities import percent
from whyperf.engines.values.compare import Abnormal
from whyperf.engines.values.kinds import USUAL_DIGITS, Dimension, ValueKind, first_size, multiple, number_text, written
from whyperf.engines.values.settings import ValuesSettings
from whyperf.engines.values.value_summary import Spread

_MOST_DIGITS = 17  # tell any two doubles apart


@dataclass(frozen=True)
class WrittenValue:
    """How the numbers of one comparison are written: with as many digits as tell good from bad."""

    kind: ValueKind
    dimension: Dimension
    digits: int
    unit: float = 1.0

    def value(self, value: float) -> str:
        if self.kind.is_scaled and self.dimension is not Dimension.DURATION:
            return multiple(value / self.unit, self.digits)
        match self.dimension:
            case Dimension.VALUE:
                return written(self.kind, value, self.digits)
            case Dimension.DELTA:
                return f"{value:+,.{self.digits + 1}g}"
            case Dimension.DURATION:
                return number_text(value, self.digits)

    def range(self, spread: Spread) -> str:
        """`0`, or `4.1e+08 .. 4.3e+08`."""
        if self.dimension is Dimension.DURATION:
            return f"{self.value(spread.low)} .. {self.value(spread.high)} samples"
        if spread.constant:
            return self.value(spread.typical)
        if not self.kind.numeric:
            return f"mostly {self.value(spread.typical)} ({percent(spread.at_typical)})"
        return f"{self.value(spread.low)} .. {self.value(spread.high)}"


def writing(one: Abnormal) -> WrittenValue:
    good, bad = one.contrast.good, one.contrast.bad
    shown = {value for spread in (good, bad) for value in (spread.low, spread.typical, spread.high)}
    kind, unit = one.variable.kind, unit_of(one)
    if kind.numeric:
        for digits in range(USUAL_DIGITS, _MOST_DIGITS):
            written_so = WrittenValue(kind, one.dimension, digits, unit)
            if len({written_so.value(value) for value in shown}) == len(shown):
                return written_so
    return WrittenValue(kind, one.dimension, USUAL_DIGITS, unit)


def unit_of(one: Abnormal) -> float:
    """What its numbers are shown as multiples of: of redacted ones nothing else is known."""
    if not one.variable.kind.is_scaled or one.dimension is Dimension.DURATION:
        return 1.0
    good, bad = one.contrast.good, one.contrast.bad
    return first_size((good.typical, bad.typical, good.high, bad.high, good.low, bad.low))


def sentence(one: Abnormal, settings: ValuesSettings, unit: str) -> str:
    name, text = one.variable.name, writing(one)
    good, bad = one.contrast.good, one.contrast.bad
    if one.growth is not None:
        times = one.growth.bad / one.growth.good
        return f"{name} grows to {times:,.1f} times as much per {unit}."
    match one.dimension:
        case Dimension.DURATION:
            return (
                f"{name} stays the same for up to {text.value(bad.high)} samples at a time; {text.value(good.high)} "
                f"in the good runs."
            )
        case Dimension.DELTA if bad.typical == good.typical:
            return (
                f"{name} changes by {text.value(bad.typical)} from sample to sample in {percent(bad.at_typical)}; was "
                f"in {percent(good.at_typical)}."
            )
        case Dimension.DELTA:
            return (
                f"{name} typically changes by {text.value(bad.typical)} from sample to sample; by "
                f"{text.value(good.typical)} in the good runs."
            )
        case Dimension.VALUE:
            return _value_sentence(name, text, good, bad, settings)


def _value_sentence(name: str, text: WrittenValue, good: Spread, bad: Spread, settings: ValuesSettings) -> str:
    was, now = text.range(good), text.value(bad.typical)
    if bad.constant:
        if text.kind is ValueKind.POINTER:
            share = f"was in {percent(good.at_typical)}" if good.typical == bad.typical else f"was {was}"
            return f"{name} is {now} in all samples; {share}."
        return f"{name} stays at {now} for the whole run; was {was}."
    if not text.kind.numeric:
        share = percent(good.at_typical) if good.typical == bad.typical else f"mostly {text.value(good.typical)}"
        return f"{name} is {now} in {percent(bad.at_typical)} of the samples; was {share}."
    if bad.at_typical >= settings.one_value:
        return f"{name} is nearly always {now}; was {was}."
    return f"{name} is typically {now} ({text.range(bad)}); was {was}."
