"""Every run a dot on a scale from nothing, good above bad."""

from __future__ import annotations

import math
from collections.abc import Sequence

from whyperf.engines.quantities import count, seconds
from whyperf.report.html.fragments import BAD, GOOD, QUIET, RULE, escaped, styled
from whyperf.report.html.model import RunAmounts

_MEASURES = {"cpu_s": "CPU time", "wall_s": "Time", "peak_bytes": "Peak memory", "own_s": "Time",
             "allocated_bytes": "Allocated memory", "latency_p50_s": "Median latency",
             "latency_p99_s": "p99 latency"}  # fmt: skip
_SHOWN = 50  # runs of a kind
_TICKS = 5
_LABELS = "2.9em"  # left of the scale


def run_dots(runs: RunAmounts, measure: str, unit: str) -> str:
    """Empty where there is nothing to draw."""
    highest = max((*runs.good, *runs.bad), default=0.0)
    if not runs.bad or not math.isfinite(highest) or highest <= 0:
        return ""
    end = highest * 1.04
    ticks = [
        styled(
            "span",
            f"position:absolute;left:{100 * tick / end:.2f}%;width:6em;margin-left:-3em;text-align:center",
            escaped(_measured(measure, tick)),
        )
        for tick in _ticks(end)
    ]
    what = f"{_MEASURES.get(measure, measure)} per {unit}, a dot a run."
    return styled(
        "div",
        "max-width:44em;margin:0.4em 0 1em",
        _row("good", GOOD, runs.good, end, measure),
        _row("bad", BAD, runs.bad, end, measure),
        styled("div", f"margin-left:{_LABELS};position:relative;height:1.6em;{QUIET}", styled("small", "", *ticks)),
        styled("small", QUIET, escaped(what)),
    )


def _row(name: str, colour: str, amounts: Sequence[float], end: float, measure: str) -> str:
    shown = [one for one in amounts[:_SHOWN] if 0 <= one <= end]
    line = styled("span", f"position:absolute;left:0;right:0;top:0.8em;border-top:1px solid {RULE}")
    scale = styled(
        "span",
        "position:relative;flex:1;height:1.6em;display:block",
        line,
        *(_dot(one / end, colour) for one in shown),
    )
    spoken = escaped(f"{name} runs: {', '.join(_measured(measure, one) for one in shown)}", 2000)
    label = styled("span", f"width:{_LABELS};{QUIET}", styled("small", "", name))
    return f'<div style="display:flex;align-items:center" title="{spoken}">{label}{scale}</div>'


def _dot(part: float, colour: str) -> str:
    return styled(
        "span",
        f"position:absolute;left:{100 * part:.2f}%;top:0.8em;width:10px;height:10px;margin:-5px 0 0 -5px;"
        f"border-radius:5px;background:{colour};opacity:0.8",
    )


def _ticks(end: float) -> list[float]:
    """Round numbers from 0, about five."""
    rough = end / _TICKS
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * size for factor in (1, 2, 5, 10) if factor * size >= rough)
    return [number * step for number in range(int(end / step) + 1)]


def _measured(measure: str, value: float) -> str:
    if measure.endswith("_s"):
        return seconds(value)
    return _bytes(value) if measure.endswith("bytes") else count(value)


def _bytes(value: float) -> str:
    for unit in ("B", "KB", "MB"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} GB"
