"""Stalls that say something of the machine rather than of the program."""

from __future__ import annotations

from collections.abc import Sequence

from whyperf.engines.causes.causal_graph.activity import kept_from_cpu, samples_in
from whyperf.engines.causes.causal_graph.graph import Graph
from whyperf.engines.causes.path import CulpritEnding, Stall
from whyperf.engines.causes.roles import ThreadRoles

# Endings that are somebody's doing; disks and whatever is outside the recording take now longer, now shorter.
_SOMEBODYS = (CulpritEnding.RAN, CulpritEnding.SLEPT, CulpritEnding.NO_REPLY, CulpritEnding.GONE, CulpritEnding.CYCLE)

_AS_LONG = 1.5


def is_disturbance(graph: Graph, stall: Stall) -> bool:
    """It got no CPU, and not because others of the recorded program had it.

    Of a program's own threads it must be seen that they ran; who took a CPU last need not have kept it.
    """
    culprit = stall.path.culprit
    own = [thread for thread, _ in culprit.others if thread >= 0 and graph.trace.followed[thread]]
    seen = sum(len(samples_in(graph, thread, culprit.begin, culprit.end)) for thread in own)
    hz = graph.trace.manifest.trace.sample_hz if graph.trace.manifest.trace is not None else 0.0
    ran = seen / hz * 1e9 if hz else 0.0
    return culprit.ending is CulpritEnding.STARVED and ran < (culprit.end - culprit.begin) / 2


def is_usual(roles: ThreadRoles, normals: Sequence[ThreadRoles], stall: Stall) -> bool:
    """Too little is known of what stalled to say that it does not last as long as a rule, and what the culprit did
    lasts as long in the normal run. Or it sleeps again and again, as it does there most of the time."""
    graph, wait = roles.graph, stall.path.culprit.wait
    if stall.path.culprit.ending is CulpritEnding.POLLED and any(_paces_itself(one, roles, wait) for one in normals):
        return True
    if wait < 0 or stall.anomaly.instances >= graph.settings.own_normal_waits:
        return False
    signature = roles.signatures[roles.signature_of[wait]]
    longest = max((int(each[-1]) for one in normals for each in one.like(signature)), default=0)
    return int(graph.ends[wait] - graph.waits.begin[wait]) <= _AS_LONG * longest


def _paces_itself(normal: ThreadRoles, roles: ThreadRoles, wait: int) -> bool:
    """Whether such threads spend most of the time that they are seen at such a wait: how many of their sleeps look like
    one is by chance."""
    threads = normal.threads_like(roles.of_thread[int(roles.graph.waits.thread[wait])])
    waited = sum(int(each.sum()) for each in normal.like(roles.signatures[roles.signature_of[wait]]))
    graph, lived = normal.graph, 0
    for thread in threads:
        segments = graph.segments.of(thread)
        if segments:
            lived += int(graph.segments.end[segments[-1]] - graph.segments.begin[segments[0]])
    return waited > lived / 2


def is_firm(graph: Graph, stall: Stall) -> bool:
    """Whether a stall is long, or is somebody's doing even without the time that a busy machine added.

    A sleep that takes a little longer than another time need not have been meant to; and who had nothing to do stalled
    only if somebody else did.
    """
    settings, path = graph.settings, stall.path
    idle = stall.anomaly.wait >= 0 and graph.in_loop[stall.anomaly.wait] and not graph.asks[stall.anomaly.wait]
    if stall.anomaly.excess >= settings.least_excess_ns and not idle:
        return True
    own_sleep = path.culprit.ending is CulpritEnding.SLEPT and path.culprit.thread == stall.anomaly.thread
    if path.culprit.ending not in _SOMEBODYS or path.guessed or own_sleep:
        return False
    waited = {(path.culprit.thread, path.culprit.begin, path.culprit.end)}
    waited |= {(rung.thread, rung.begin, rung.end) for rung in path.rungs}
    kept = sum(sum(kept_from_cpu(graph, *one).values()) for one in waited if one[0] >= 0)
    return stall.anomaly.excess - kept >= (settings.least_excess_ns if idle else settings.short_excess_ns)
