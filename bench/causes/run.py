"""Every case: where the true culprit ranks, for us and for what a user would have without us.

python -m bench.causes.run [--folder FOLDER] [CASE...]
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench.causes.baselines import Blamed, critical_path, longest_off_cpu, wake_up_chains
from bench.causes.cases import CASES, FROZEN, QUEUES, Case, Truth, named, record, working_folder
from whyperf.engines.causes.causal_graph.edges import Edges
from whyperf.engines.causes.causal_graph.graph import Graph
from whyperf.engines.causes.diagnosis import Causes, find_causes
from whyperf.engines.causes.paper.beam import origins, search
from whyperf.engines.causes.paper.comparison import PaperMethod, anomaly_vertex
from whyperf.engines.causes.path import Stall
from whyperf.engines.kernel.rules import LinkStrength
from whyperf.recording.schemas.events import EventKind
from whyperf.recording.sealed.manifest import Manifest
from whyperf.recording.sealed.reader import Recording

METHODS = ("ours", "no queues", "paper", "beam search", "no weak edges", "critical path", "off-CPU", "wake-up chain")


@dataclass(frozen=True)
class WithoutTasks:
    """A recording as if nobody had looked for queues within programs."""

    recording: Recording

    @property
    def path(self) -> Path:
        return self.recording.path

    @property
    def manifest(self) -> Manifest:
        return self.recording.manifest

    def table(self, name: str) -> pa.Table:
        table = self.recording.table(name)
        if name != "events":
            return table
        return table.filter(~np.isin(table.column("kind").to_numpy(), (EventKind.TASK_PUT, EventKind.TASK_RUN)))


@dataclass(frozen=True)
class Outcome:
    case: str
    ranks: dict[str, int | None]
    events: int
    seconds: float
    said: str


def fits(graph: Graph, truth: Truth, thread: int, node: int) -> bool:
    """Whether a method that points at a thread and a stack points at the truth."""
    if thread < 0:
        return False
    one = graph.thread(thread)
    if not one.program.startswith(truth.program) or (truth.thread and one.name != truth.thread):
        return False
    command = graph.trace.recording.table("processes").column("command")[one.process].as_py() or []
    if truth.words and truth.words not in " ".join(command):
        return False
    names = set(graph.trace.stacks.functions(node)) if node >= 0 else set()
    return not truth.functions or bool(names & set(truth.functions))


def our_rank(causes: Causes, truth: Truth) -> int | None:
    def right(stall: Stall) -> bool:
        culprit = stall.path.culprit
        if truth.ending and culprit.ending.value != truth.ending:
            return False
        return fits(causes.graph, truth, culprit.thread, culprit.node)

    return next((rank for rank, stall in enumerate(causes.stalls, 1) if right(stall)), None)


def blamed_rank(graph: Graph, truth: Truth, blamed: list[Blamed]) -> int | None:
    ranks = (rank for rank, one in enumerate(blamed, 1) if fits(graph, truth, one.thread, one.node))
    return next(ranks, None)


def vertex_rank(graph: Graph, truth: Truth, vertices: list[int]) -> int | None:
    """A vertex is right if any of its stacks is."""
    for rank, vertex in enumerate(dict.fromkeys(vertices), 1):
        thread = int(graph.segments.thread[vertex])
        nodes = {int(node) for node in graph.trace.events.site[graph.segments.events_of(vertex)]} | {-1}
        after = int(graph.segments.after[vertex])
        if after >= 0:
            nodes.add(int(graph.trace.events.site[graph.waits.first[after]]))
        if any(fits(graph, truth, thread, node) for node in nodes):
            return rank
    return None


def searched(graph: Graph, edges: Edges, vertex: int) -> list[int]:
    """Vertices of the best paths, the origin of each first."""
    return [one for path in search(edges, vertex, origins(graph)) for one in path.vertices]


def try_case(case: Case, folder: Path) -> Outcome:
    normal, stalled = (Recording(record(case, mode, folder)) for mode in ("normal", "stalled"))
    begin = time.perf_counter()
    causes = find_causes(stalled, [normal])
    seconds = time.perf_counter() - begin
    graph, truth = causes.graph, case.truth
    ranks: dict[str, int | None] = dict.fromkeys(METHODS)
    ranks["ours"] = our_rank(causes, truth)
    ranks["no queues"] = our_rank(find_causes(WithoutTasks(stalled), [WithoutTasks(normal)]), truth)
    ranks["off-CPU"] = blamed_rank(graph, truth, longest_off_cpu(graph))
    ranks["wake-up chain"] = blamed_rank(graph, truth, wake_up_chains(graph))
    said = "no stall found"
    if causes.stalls:
        anomaly = causes.stalls[0].anomaly
        ranks["critical path"] = blamed_rank(graph, truth, critical_path(graph, anomaly))
        found = [one.segment for one in PaperMethod(causes.roles, causes.normals[0]).culprits(anomaly)]
        ranks["paper"] = vertex_rank(graph, truth, found)
        vertex = anomaly_vertex(graph, anomaly)
        follower = int(graph.followers[anomaly.wait]) if anomaly.wait >= 0 else vertex
        if follower >= 0:
            ranks["beam search"] = vertex_rank(graph, truth, searched(graph, graph.edges, follower))
            ranks["no weak edges"] = vertex_rank(graph, truth, searched(graph, strong_only(graph.edges), follower))
        culprit = causes.stalls[0].path.culprit
        name = graph.thread(culprit.thread).label if culprit.thread >= 0 else "outside"
        where = graph.trace.stacks.own(culprit.node)
        said = f"{name} {culprit.ending.value} in {where.function if where else '?'}; {len(causes.stalls)} stalls"
    return Outcome(case.name, ranks, len(graph.trace.events), seconds, said)


def strong_only(edges: Edges) -> Edges:
    kept = edges.strength != LinkStrength.WEAK
    target = edges.target[kept]
    start = np.searchsorted(target, np.arange(len(edges.start)))
    return replace(
        edges,
        source=edges.source[kept],
        target=target,
        strength=edges.strength[kept],
        mechanism=edges.mechanism[kept],
        start=start,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--folder", type=Path)
    args = parser.parse_args()
    folder = working_folder(args.folder)
    print(f"{'case':18} {' '.join(f'{name:>13}' for name in METHODS)}   events      s")
    for case in named(args.cases) if args.cases else (*CASES, *QUEUES, *FROZEN):
        if reason := case.why_not():
            print(f"{case.name:18} left out: {reason}")
            continue
        outcome = try_case(case, folder)
        ranks = " ".join(f"{'-' if outcome.ranks[name] is None else outcome.ranks[name]:>13}" for name in METHODS)
        print(f"{case.name:18} {ranks} {outcome.events:8,} {outcome.seconds:6.2f}  {outcome.said}", flush=True)


if __name__ == "__main__":
    main()
