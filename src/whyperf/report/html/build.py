"""From what was examined to what the page shows."""

from __future__ import annotations

from whyperf.collect.target.shell import program_name
from whyperf.diagnose.verdict import MEMORY_MEASURES, Suspect, Verdict
from whyperf.engines.causes.detail import CausesDetail
from whyperf.engines.relations.detail import RelationsDetail
from whyperf.engines.run import ONE_RUN
from whyperf.recording.schemas.tables import Clock
from whyperf.report.html.contexts import contexts_section
from whyperf.report.html.examined import Examined
from whyperf.report.html.model import (
    FORMAT,
    CauseRung,
    CausesSection,
    CauseStory,
    PageModel,
    RelationRow,
    RelationsSection,
    ShownClock,
)
from whyperf.report.html.recordings import recordings_section
from whyperf.report.html.values import values_section
from whyperf.report.html.verdict import verdict_section
from whyperf.report.waiting_threads import name_of, rungs_of
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


def causes_section(verdict: Verdict | None) -> CausesSection | None:
    """Stalls as timelines: a ladder of threads, from the one that stalled to the one that should have acted; None where
    no suspect was found by following a stall."""
    stories = [
        _story(suspect, evidence.detail)
        for suspect in (verdict.suspects if verdict is not None else ())
        for evidence in suspect.evidence
        if isinstance(evidence.detail, CausesDetail)
    ]
    return CausesSection(tuple(stories)) if stories else None


def _story(suspect: Suspect, detail: CausesDetail) -> CauseStory:
    rungs = rungs_of(detail)
    lanes = list(dict.fromkeys(map(name_of, rungs)))
    return CauseStory(
        rank=suspect.rank,
        normal_s=detail.stall.normal_s,
        usual=detail.stall.usual,
        lanes=tuple(lanes),
        rungs=tuple(
            CauseRung(
                lane=lanes.index(name_of(rung)),
                start_s=rung.start_s,
                seconds=rung.seconds,
                did=rung.did,
                stack=rung.stack,
                link=rung.link,
            )
            for rung in rungs
        ),
    )


def relations_section(verdict: Verdict | None) -> RelationsSection | None:
    """The changed relations as graphs, from the evidence that the relations engine left with its suspects; None where
    no suspect is a relation."""
    graphs = [
        _graph(suspect, evidence.detail)
        for suspect in (verdict.suspects if verdict is not None else ())
        for evidence in suspect.evidence
        if isinstance(evidence.detail, RelationsDetail)
    ]
    return RelationsSection(tuple(graphs)) if graphs else None


def _graph(suspect: Suspect, detail: RelationsDetail) -> RelationRow:
    forward, graph = detail.forward, detail.graph
    return RelationRow(
        rank=suspect.rank,
        decision=detail.decision,
        sentence=forward.sentence if forward is not None else "",
        good=forward.good if forward is not None else None,
        bad=forward.bad if forward is not None else None,
        nodes=graph.nodes,
        edges=graph.edges,
    )
