"""Parts of a diagnosis that are measured by themselves. Each loads its code when it is called."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

Told = Mapping[str, float]


def values(paths: Sequence[Path]) -> Told:
    """Both sides' values compared by our tests."""
    from whyperf.engines.run import Run
    from whyperf.engines.values.compare import compare
    from whyperf.recording.sealed.reader import Recording

    good, bad = (Run(Recording(path)) for path in paths)
    found = compare([good], [bad])
    return {"abnormal variables": 0 if found is None else len(found.abnormal)}


def values_as_published(paths: Sequence[Path]) -> Told:
    from whyperf.engines.run import Run
    from whyperf.engines.values.paper.ranking import rank
    from whyperf.recording.sealed.reader import Recording

    good, bad = (Run(Recording(path)) for path in paths)
    ranked = rank([good], [bad])
    return {"functions": 0 if ranked is None else len(ranked.functions)}


def contexts(paths: Sequence[Path]) -> Told:
    """From sealed tables to ranked contexts."""
    from whyperf.diagnose.engine_claims.contexts import view_contexts
    from whyperf.diagnose.engine_claims.values import Method
    from whyperf.engines.run import Run
    from whyperf.recording.sealed.reader import Recording

    good, bad = (Run(Recording(path)) for path in paths)
    view = view_contexts([good], [bad], Method.SOUND)
    if view is None:
        raise ValueError("The recordings hold no kernel events.")
    if view.ranking is None:
        raise ValueError("No context is slower than the good run's: ranking them was not measured.")
    return {"slow contexts": len(view.ranking.contexts), "suspects": len(view.findings)}


def causal_graph(paths: Sequence[Path]) -> Told:
    """One recording's graph, all edges included."""
    from whyperf.engines.causes.causal_graph.graph import Graph
    from whyperf.engines.causes.settings import CausesSettings
    from whyperf.recording.file_backed import large_arrays_in_files
    from whyperf.recording.sealed.reader import Recording

    begin = time.perf_counter()
    with large_arrays_in_files():  # as whoever looks for causes has it
        graph = Graph(Recording(paths[0]), CausesSettings())
        events = len(graph.trace.events)
        read = time.perf_counter() - begin
        told = {"events": events, "vertices": len(graph.segments), "edges": len(graph.edges.source)}
    return {**told, "s to read": read}


def causes(paths: Sequence[Path]) -> Told:
    """A stalled recording beside a normal one; and of the search alone, one walk and one beam search."""
    from whyperf.engines.causes.diagnosis import explain, find_causes
    from whyperf.engines.causes.findings import findings
    from whyperf.engines.causes.paper.beam import origins, search
    from whyperf.engines.causes.paper.comparison import anomaly_vertex
    from whyperf.engines.causes.stalls.anomalies import find_anomalies
    from whyperf.recording.sealed.reader import Recording

    normal, stalled = (Recording(path) for path in paths)
    found = find_causes(stalled, [normal])
    findings(found)
    first = find_anomalies(found.roles, found.normals)[:1]
    begin = time.perf_counter()
    explain(found.roles, found.normals, first)
    walked = time.perf_counter()
    vertex, ends = anomaly_vertex(found.graph, first[0]), origins(found.graph)
    searching = time.perf_counter()
    search(found.graph.edges, vertex, ends)
    searched = time.perf_counter() - searching
    return {"stalls": len(found.stalls), "ms a walk": 1000 * (walked - begin), "ms a beam search": 1000 * searched}


def sealing(paths: Sequence[Path]) -> Told:
    from whyperf.recording.sealed.reader import Recording
    from whyperf.seal.opening import seal

    for path in paths:
        seal(path)
    return {"events": sum(Recording(path).manifest.tables["events"].rows for path in paths)}


def dump(paths: Sequence[Path]) -> Told:
    """What the flight recorder that is running here holds."""
    from whyperf.collect.tracer.flight.dumping import dump as dump_recording

    return {"events": dump_recording(paths[0], None, force=True).events}


STEPS: dict[str, Callable[[Sequence[Path]], Told]] = {
    step.__name__: step for step in (values, values_as_published, contexts, causal_graph, causes, sealing, dump)
}
