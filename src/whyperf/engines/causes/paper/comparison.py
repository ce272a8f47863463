"""Algorithm 2: what happened before the same wait in the normal run, and which of it is missing or different."""

from __future__ import annotations

from dataclasses import dataclass

from whyperf.engines.causes.causal_graph.graph import Graph
from whyperf.engines.causes.paper.beam import CausalPath, origins, search
from whyperf.engines.causes.paper.signatures import VertexSignatures
from whyperf.engines.causes.path import Anomaly
from whyperf.engines.causes.roles import ThreadRoles
from whyperf.engines.causes.settings import CausesPaperSettings


@dataclass(frozen=True)
class Suspicious:
    """A vertex of the stalled graph, and the penalty of the path on which it was found."""

    segment: int
    penalty: int
    missing: bool  # its thread lacks a vertex that the normal run has


class PaperMethod:
    def __init__(
        self, stalled: ThreadRoles, normal: ThreadRoles | None, settings: CausesPaperSettings | None = None
    ) -> None:
        self.settings = settings or CausesPaperSettings()
        self.stalled, self.normal = stalled, normal
        self._stalled_signatures = VertexSignatures(stalled.graph)
        self._normal_signatures = VertexSignatures(normal.graph) if normal is not None else None
        self._stalled_origins = origins(stalled.graph)
        self._normal_origins = origins(normal.graph) if normal is not None else None

    def culprits(self, anomaly: Anomaly) -> list[Suspicious]:
        """Best first. A long run is its own culprit; the path to it tells what triggered it (section 6.4)."""
        vertex = anomaly_vertex(self.stalled.graph, anomaly)
        if vertex < 0:
            return []
        if anomaly.wait < 0:
            paths = self.paths(vertex)
            return [Suspicious(vertex, paths[0].penalty if paths else 0, False)]
        found = self._compare(vertex, self.settings.recursion, {vertex}, 0)
        return sorted(found, key=lambda one: one.penalty)

    def paths(self, vertex: int) -> list[CausalPath]:
        return search(self.stalled.graph.edges, vertex, self._stalled_origins, self.settings)

    def _compare(self, vertex: int, depth: int, seen: set[int], penalty: int) -> list[Suspicious]:
        """`SubGraphCompare`, then the same for every suspicious vertex that has incoming edges."""
        suspicious = self._subgraph(vertex, seen)
        found = []
        for one in suspicious:
            total = Suspicious(one.segment, penalty + one.penalty, one.missing)
            incoming = len(self.stalled.graph.edges.into(one.segment)) > 0
            deeper: list[Suspicious] = []
            if incoming and depth > 0:
                deeper = self._compare(one.segment, depth - 1, seen, total.penalty)
            found += deeper or [total]
        return found

    def _subgraph(self, vertex: int, seen: set[int]) -> list[Suspicious]:
        if self.normal is None or self._normal_origins is None:
            return []
        baseline = self._baseline(vertex)
        if baseline < 0:
            return []
        target = self._woken(baseline)
        for path in search(self.normal.graph.edges, target, self._normal_origins, self.settings):
            found = []
            for normal_vertex in path.vertices:
                one = self._expected(normal_vertex, vertex)
                if one is not None and one.segment not in seen:
                    seen.add(one.segment)
                    found.append(Suspicious(one.segment, path.penalty, one.missing))
            if found:
                return found
        return []

    def _baseline(self, vertex: int) -> int:
        """The most similar normal vertex that behaves differently: another result, or a much shorter wait."""
        assert self._normal_signatures is not None and self.normal is not None
        program = self.stalled.graph.thread(int(self.stalled.graph.segments.thread[vertex])).program
        candidates = self._normal_signatures.by_program.get(program, [])
        similar = self._normal_signatures.most_similar(
            self._stalled_signatures.of(vertex), candidates, self.settings.similar
        )
        different = [one for _, one in similar if self._differ(vertex, one)]
        return (different or [one for _, one in similar] or [-1])[0]

    def _differ(self, stalled: int, normal: int) -> bool:
        assert self.normal is not None
        here, there = self.stalled.graph, self.normal.graph
        a, b = int(here.segments.after[stalled]), int(there.segments.after[normal])
        if (a < 0) != (b < 0):
            return True
        if a >= 0 and int(here.waits.result[a]) < 0 <= int(there.waits.result[b]):
            return True
        lasted = _whole(here, stalled), _whole(there, normal)
        return max(lasted) > self.settings.different_time * max(min(lasted), 1_000_000)

    def _woken(self, baseline: int) -> int:
        """The vertex that follows the baseline's wait: what woke it are the causes that the stalled run lacks."""
        assert self.normal is not None
        after = int(self.normal.graph.segments.after[baseline])
        follower = int(self.normal.graph.followers[after]) if after >= 0 else -1
        return follower if follower >= 0 else baseline

    def _expected(self, normal_vertex: int, anomaly: int) -> Suspicious | None:
        """What the stalled run has in a normal vertex' place, if that is missing or different."""
        assert self.normal is not None and self._normal_signatures is not None
        graph = self.stalled.graph
        role = self.normal.of_thread[int(self.normal.graph.segments.thread[normal_vertex])]
        victim = int(graph.segments.thread[anomaly])
        threads = self.stalled.threads_like(role)
        threads = [one for one in threads if one != victim]
        segments = [segment for thread in threads for segment in self._around(thread, anomaly)]
        if not segments:
            return None
        signature = self._normal_signatures.of(normal_vertex)
        similar = self._stalled_signatures.most_similar(signature, segments, self.settings.similar)
        if not similar:
            return Suspicious(max(segments, key=lambda one: _whole(graph, one)), 0, True)
        different = [one for _, one in similar if self._differ(one, normal_vertex)]
        return Suspicious(different[0], 0, False) if different else None

    def _around(self, thread: int, anomaly: int) -> list[int]:
        """A thread's vertices, their waits included, during the anomaly's wait (of a long run: during all of it)."""
        graph = self.stalled.graph
        end = int(graph.segments.begin[anomaly]) + _whole(graph, anomaly)
        wait = int(graph.segments.after[anomaly])
        begin = int(graph.waits.begin[wait] if wait >= 0 else graph.segments.begin[anomaly])
        return [
            one
            for one in graph.segments.of(thread)
            if graph.segments.begin[one] <= end and graph.segments.begin[one] + _whole(graph, one) >= begin
        ]


def _whole(graph: Graph, segment: int) -> int:
    """How long a vertex lasts together with the wait that ends it."""
    after = int(graph.segments.after[segment])
    end = int(graph.ends[after]) if after >= 0 else int(graph.segments.end[segment])
    return end - int(graph.segments.begin[segment])


def anomaly_vertex(graph: Graph, anomaly: Anomaly) -> int:
    """The vertex that the stalled wait ends; of a turn, or of what kept a task from being run, the longest."""
    if anomaly.wait < 0:
        inside = [
            one
            for one in graph.segments.of(anomaly.thread)
            if graph.segments.begin[one] < anomaly.end and graph.segments.end[one] > anomaly.begin
        ]
        return max(inside, key=lambda one: int(graph.segments.end[one] - graph.segments.begin[one]), default=-1)
    return next((one for one in graph.segments.of(anomaly.thread) if graph.segments.after[one] == anomaly.wait), -1)
