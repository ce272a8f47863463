"""Stalls as findings: a culprit's function, with the causal path that leads to it."""

from __future__ import annotations

from collections.abc import Sequence

from whyperf.engines.causes import ENGINE, path_sentences
from whyperf.engines.causes.causal_graph.graph import Graph
from whyperf.engines.causes.causal_graph.stacks import Frame
from whyperf.engines.causes.detail import (
    CausesDetail,
    OwnPlace,
    ShownLink,
    ShownRung,
    ShownStall,
    ShownThread,
    WaitedAlong,
)
from whyperf.engines.causes.diagnosis import Causes
from whyperf.engines.causes.path import Certainty, Culprit, CulpritEnding, Rung, Stall
from whyperf.engines.finding import Finding, Place
from whyperf.engines.functions import UNKNOWN
from whyperf.recording.file_backed import large_arrays_in_files
from whyperf.recording.names.identity import FunctionKey

# What a path is worth by its least certain part.
_WORTH = {Certainty.STRONG: 1.0, Certainty.WEAK: 0.9, Certainty.INFERRED: 0.8, Certainty.GUESS: 0.5}
_DARK = (CulpritEnding.OUTSIDE, CulpritEnding.UNKNOWN, CulpritEnding.POLLED)
_IN_THE_DARK = 0.5  # the culprit is outside the recording, or nothing is known of what it did


@large_arrays_in_files()
def findings(causes: Causes) -> tuple[Finding, ...]:
    """In the order of the stalls: most time first."""
    longest = max((stall.anomaly.excess for stall in causes.stalls), default=1)
    return tuple(_finding(causes, rank, stall, longest) for rank, stall in enumerate(causes.stalls, 1))


def pattern(culprit: Culprit) -> str:
    return {CulpritEnding.RAN: "long-run", CulpritEnding.CYCLE: "deadlock", CulpritEnding.STARVED: "external"}.get(
        culprit.ending, "long-wait"
    )


def _finding(causes: Causes, rank: int, stall: Stall, longest: int) -> Finding:
    graph, culprit = causes.graph, stall.path.culprit
    frames = graph.stack(culprit.node) if culprit.node >= 0 else ()
    frame = graph.trace.stacks.own(culprit.node) if culprit.node >= 0 else None
    program = graph.thread(culprit.thread).program if culprit.thread >= 0 else ""
    lasted = max(stall.anomaly.end - stall.anomaly.begin, 1)
    explained = min(1.0, (culprit.end - culprit.begin) / lasted)
    certain = _certainty(stall)
    return Finding(
        engine=ENGINE,
        function=frame.key if frame is not None else FunctionKey(program, UNKNOWN, ""),
        place=Place(frame.file, frame.line) if frame is not None else Place("", 0),
        rank=rank,
        score=certain * stall.anomaly.excess / longest,
        share=explained
        if culprit.ending not in (CulpritEnding.NO_REPLY, CulpritEnding.GONE, CulpritEnding.CYCLE)
        else 1.0,
        path=tuple(one.function for one in reversed(_down_to(frames, frame))),
        pattern=pattern(culprit),
        why=path_sentences.why(graph, stall, compared=bool(causes.normals)),
        detail=_detail(graph, stall, compared=bool(causes.normals)),
    )


def _certainty(stall: Stall) -> float:
    worth = min((_WORTH[rung.link.certainty] for rung in stall.path.rungs if rung.link is not None), default=1.0)
    return worth * (_IN_THE_DARK if stall.path.culprit.ending in _DARK else 1.0)


def _least_certain(stall: Stall) -> str:
    """Of the path's links; unknown where it ends in the dark."""
    if stall.path.culprit.ending in _DARK:
        return "unknown"
    links = [rung.link.certainty for rung in stall.path.rungs if rung.link is not None]
    return min(links, key=lambda one: _WORTH[one], default=Certainty.STRONG).value


def _down_to(frames: Sequence[Frame], frame: Frame | None) -> Sequence[Frame]:
    return frames[frames.index(frame) :] if frame is not None and frame in frames else frames


def _detail(graph: Graph, stall: Stall, *, compared: bool) -> CausesDetail:
    culprit, anomaly = stall.path.culprit, stall.anomaly
    who = _thread(graph, culprit.thread)
    last = () if _is_last_rung(stall) else (_last(graph, culprit),)
    return CausesDetail(
        culprit_process=who.process,
        culprit_thread=who.thread,
        culprit_pid=who.pid,
        culprit_tid=who.tid,
        ending=culprit.ending.value,
        certainty=_least_certain(stall),
        stall=ShownStall(
            **vars(_thread(graph, anomaly.thread)),
            time_s=_since(graph, anomaly.begin),
            for_s=(anomaly.end - anomaly.begin) / 1e9,
            what=path_sentences.what(anomaly),
            normal_s=anomaly.normal / 1e9,
            normal_instances=anomaly.instances,
            usual=path_sentences.usual(anomaly, compared=compared),
        ),
        ladder=(*(_rung(graph, rung) for rung in stall.path.rungs), *last),
        stack=_stack(graph, culprit.node),
        asked_by=tuple(_thread(graph, one) for one in culprit.fed_by),
        skipped=tuple(culprit.skipped),
        added=tuple(culprit.added),
        along=tuple(
            WaitedAlong(**vars(_thread(graph, one.thread)), for_s=(one.end - one.begin) / 1e9) for one in stall.along
        ),
    )


def _is_last_rung(stall: Stall) -> bool:
    """Whether the path's last rung is the culprit's own wait."""
    rungs, culprit = stall.path.rungs, stall.path.culprit
    return bool(rungs) and rungs[-1].thread == culprit.thread and rungs[-1].wait == culprit.wait


def _thread(graph: Graph, thread: int) -> ShownThread:
    if thread < 0:
        return ShownThread()
    one = graph.thread(thread)
    return ShownThread(process=one.program, thread=one.name, pid=one.pid, tid=one.tid)


def _rung(graph: Graph, rung: Rung) -> ShownRung:
    wait, link = graph.wait(rung.wait), rung.link
    return ShownRung(
        **vars(_thread(graph, rung.thread)),
        time_s=_since(graph, rung.begin),
        for_s=(rung.end - rung.begin) / 1e9,
        did=path_sentences.did(graph, rung),
        own=_own(graph, wait.node),
        stack=_stack(graph, wait.node),
        link=None if link is None else ShownLink(link.mechanism, link.certainty.value, link.why),
    )


def _last(graph: Graph, culprit: Culprit) -> ShownRung:
    return ShownRung(
        **vars(_thread(graph, culprit.thread)),
        time_s=_since(graph, culprit.begin),
        for_s=(culprit.end - culprit.begin) / 1e9,
        did=path_sentences.ending(graph, culprit),
        own=_own(graph, culprit.node),
        stack=_stack(graph, culprit.node),
        link=None,
    )


def _own(graph: Graph, node: int) -> OwnPlace | None:
    frames = [frame for frame in graph.stack(node) if frame.own] if node >= 0 else []
    if not frames:
        return None
    inner, path = frames[0], tuple(frame.function for frame in reversed(frames))
    return OwnPlace(inner.function, inner.module, inner.file, inner.line, path)


def _stack(graph: Graph, node: int) -> tuple[str, ...]:
    return tuple(_shown(frame) for frame in graph.stack(node)) if node >= 0 else ()


def _since(graph: Graph, time: int) -> float:
    return (time - graph.trace.start) / 1e9


def _shown(frame: Frame) -> str:
    where = f" ({frame.file.rsplit('/', 1)[-1]}:{frame.line})" if frame.line else f" ({frame.module})"
    return frame.function + where
