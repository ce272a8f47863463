"""The variables that went wrong, with their distributions, their course over time and the lines they were read at."""

from __future__ import annotations

from collections.abc import Sequence

from whyperf.engines.run import Run
from whyperf.engines.values.compare import Abnormal, Values
from whyperf.engines.values.findings import described
from whyperf.engines.values.history import Course, Histories
from whyperf.report.html.excerpts import excerpt
from whyperf.report.html.model import Cells, Excerpt, RunCourse, ValuesSection, VariableRow, VariableSpread

_OF_EACH_SUSPECT = 4
_MOST = 30
_RUNS = 4  # of a kind, whose courses are drawn: more lines than that are a tangle
_AROUND = 2


def values_section(values: Values | None, suspects: Sequence[tuple[str, str]]) -> ValuesSection | None:
    """`suspects`: functions and their modules, the first suspected most. None where no variable is worth showing."""
    if values is None or not values.cited:
        return None
    histories = Histories(values)
    rows = tuple(_row(values, histories, one) for one in _chosen(values.cited, suspects))
    if not rows:
        return None
    return ValuesSection(rows, sum(outcome.screened for outcome in values.outcomes), len(values.cited))


def _chosen(abnormal: Sequence[Abnormal], suspects: Sequence[tuple[str, str]]) -> list[Abnormal]:
    """Those of suspects in their order, then what else decides anything: globals and other functions."""
    chosen = [
        one for suspect in suspects for one in [one for one in abnormal if _owner(one) == suspect][:_OF_EACH_SUSPECT]
    ]
    others = [one for one in abnormal if _owner(one) not in suspects and one.decides]
    return [*chosen, *others][:_MOST]


def _owner(one: Abnormal) -> tuple[str, str]:
    return ("", "") if one.function is None else (one.function.name, one.function.module)


def _row(values: Values, histories: Histories, one: Abnormal) -> VariableRow:
    shown, history = described(values, one), histories.of(one)
    function, module = _owner(one)
    cells = history.distribution
    return VariableRow(
        name=shown.name,
        type=shown.type,
        function=function,
        module=module,
        scope=shown.scope,
        roles=tuple(sorted(one.variable.roles)),
        dimension=shown.dimension,
        decides=one.decides,
        sentence=shown.sentence,
        distance=shown.distance,
        p=shown.p,
        good=VariableSpread(shown.good.text, shown.good.typical),
        bad=VariableSpread(shown.bad.text, shown.bad.typical),
        abnormal_share=one.contrast.abnormal_share,
        cells=Cells(cells.edges, cells.labels, cells.good, cells.bad),
        courses=tuple(_course(course) for course in history.courses if course.run <= _RUNS),
        excerpt=_excerpt(values.functions.bad, one, shown.file),
    )


def _course(course: Course) -> RunCourse:
    return RunCourse(course.good, course.run, course.seconds, course.low, course.middle, course.high)


def _excerpt(runs: Sequence[Run], one: Abnormal, file: str) -> Excerpt | None:
    """Where abnormal values were read."""
    shares: dict[int, float] = {}
    for place in one.contrast.read_at:
        if place.file == file:
            shares[place.line] = shares.get(place.line, 0.0) + place.share
    return excerpt(runs, file, shares, _AROUND)
