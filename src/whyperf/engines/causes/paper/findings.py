"""What Argus as published says of a stall, as findings."""

from __future__ import annotations

from whyperf.engines.causes import ENGINE
from whyperf.engines.causes.causal_graph.graph import Graph
from whyperf.engines.causes.detail import PaperCausesDetail
from whyperf.engines.causes.diagnosis import Causes
from whyperf.engines.causes.paper.comparison import PaperMethod, Suspicious
from whyperf.engines.causes.path import Stall
from whyperf.engines.causes.path_sentences import stalled, who
from whyperf.engines.finding import Finding, Place
from whyperf.engines.functions import UNKNOWN
from whyperf.engines.quantities import seconds
from whyperf.recording.file_backed import large_arrays_in_files
from whyperf.recording.names.identity import FunctionKey


@large_arrays_in_files()
def paper_findings(causes: Causes) -> tuple[Finding, ...]:
    """Culprits of the largest stall, least penalty first."""
    if not causes.stalls:
        return ()
    stall = causes.stalls[0]
    method = PaperMethod(causes.roles, causes.normals[0] if causes.normals else None)
    culprits = method.culprits(stall.anomaly)
    return tuple(_finding(causes.graph, rank, one, stall) for rank, one in enumerate(culprits, 1))


def _finding(graph: Graph, rank: int, culprit: Suspicious, stall: Stall) -> Finding:
    thread = int(graph.segments.thread[culprit.segment])
    node = _node(graph, culprit.segment)
    frame = graph.trace.stacks.own(node) if node >= 0 else None
    one = graph.thread(thread)
    lasted = int(graph.segments.end[culprit.segment] - graph.segments.begin[culprit.segment])
    verb = "lacks what its thread does in the good run" if culprit.missing else "behaves differently"
    return Finding(
        engine=ENGINE,
        function=frame.key if frame is not None else FunctionKey(one.program, UNKNOWN, ""),
        place=Place(frame.file, frame.line) if frame is not None else Place("", 0),
        rank=rank,
        score=1 / rank,
        share=1 / rank,
        path=tuple(each.function for each in reversed(graph.stack(node))) if node >= 0 else (),
        pattern="long-run" if stall.anomaly.wait < 0 else "long-wait",
        why=f"{stalled(graph, stall.anomaly)}. A segment of {who(graph, thread)} ({seconds(lasted / 1e9)}) {verb}: "
        f"penalty {culprit.penalty}.",
        detail=PaperCausesDetail(
            penalty=culprit.penalty, missing=culprit.missing, culprit_process=one.program, culprit_thread=one.name
        ),
    )


def _node(graph: Graph, segment: int) -> int:
    """Where the vertex waits at its end, else where it was seen last."""
    after = int(graph.segments.after[segment])
    if after >= 0:
        return int(graph.trace.events.site[graph.waits.first[after]])
    sites = graph.trace.events.site[graph.segments.events_of(segment)]
    known = sites[sites >= 0]
    return int(known[-1]) if len(known) else -1
