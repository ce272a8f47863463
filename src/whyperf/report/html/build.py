"""From what was examined to what the page shows."""

from __future__ import annotations

from whyperf.collect.target.shell import program_name
from whyperf.diagnose.verdict import MEMORY_MEASURES, Verdict
from whyperf.engines.run import ONE_RUN
from whyperf.recording.schemas.tables import Clock
from whyperf.report.html.causes import causes_section
from whyperf.report.html.contexts import contexts_section
from whyperf.report.html.examined import Examined
from whyperf.report.html.model import FORMAT, PageModel, ShownClock
from whyperf.report.html.recordings import recordings_section
from whyperf.report.html.relations import relations_section
from whyperf.report.html.values import values_section
from whyperf.report.html.verdict import verdict_section
from whyperf.version import __version__

_WAITING = ("wait", "io", "latency")


def page_model(verdict: Verdict | None, examined: Examined) -> PageModel:
    """Without a verdict: of recordings that are only looked at."""
    suspects = [(one.function, one.module) for one in verdict.suspects] if verdict is not None else []
    values = values_section(examined.values, suspects)
    unit = verdict.symptom.unit if verdict is not None and examined.good else ONE_RUN
    ranking = verdict.contexts if verdict is not None else None
    contexts = contexts_section(examined, unit, ranking, _shown_first(verdict, examined))
    causes = causes_section(verdict)
    relations = relations_section(verdict)
    return PageModel(
        format=FORMAT,
        title=title_of(examined),
        whyperf=__version__,
        verdict=None
        if verdict is None
        else verdict_section(
            verdict, examined.bad_runs, values=values, contexts=contexts, causes=causes, relations=relations
        ),
        values=values,
        contexts=contexts,
        causes=causes,
        relations=relations,
        recordings=recordings_section(examined),
    )


def _shown_first(verdict: Verdict | None, examined: Examined) -> ShownClock:
    """Which time explains the verdict: what its symptom is of, or what its suspects were chosen from. Or memory."""
    if verdict is not None and verdict.symptom.measure in MEMORY_MEASURES:
        return "peak"
    waits = verdict is not None and verdict.symptom.kind in _WAITING
    sampled = examined.excess is not None and examined.excess.clock is Clock.BLOCKED
    return "blocked" if waits or sampled else "cpu"


def title_of(examined: Examined) -> str:
    """The program's name."""
    command = examined.bad_runs[0].manifest.command
    return program_name(command) if command else "a recording"
