"""How much the ranks of culprits depend on the constants of the published search for stalls (section 6.1).

Beam width, lookback, and the penalties a (of an edge, times how weak it is) and b (of every step): one changed at a
time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from bench.causes.cases import CASES, FROZEN, Case, record
from bench.causes.run import vertex_rank
from bench.setting_table import Found
from whyperf.engines.causes.diagnosis import Causes, find_causes
from whyperf.engines.causes.paper.beam import origins, search
from whyperf.engines.causes.paper.comparison import PaperMethod, anomaly_vertex
from whyperf.engines.causes.settings import CausesPaperSettings
from whyperf.recording.sealed.reader import Recording

_BEAMS = (1, 2, 3, 5, 10, 20, 50)
_LOOKBACKS = (1, 2, 3, 5, 10, 20)
_PENALTIES = (0, 1, 2, 3, 5, 10)

Suspects = Callable[[Causes, CausesPaperSettings], list[int]]


def path_settings() -> dict[str, CausesPaperSettings]:
    """One constant changed at a time."""
    usual = CausesPaperSettings()
    return {
        **{f"beam {value}": replace(usual, beam=value) for value in _BEAMS},
        **{f"lookback {value}": replace(usual, lookback=value) for value in _LOOKBACKS},
        **{f"a {value}": replace(usual, a=value) for value in _PENALTIES},
        **{f"b {value}": replace(usual, b=value) for value in _PENALTIES},
    }


def stalls(folder: Path, suspects: Suspects) -> Iterator[tuple[str, Iterator[Found]]]:
    """By case the ranks of its culprit; what is not in the folder is recorded when it is asked for."""
    folder.mkdir(parents=True, exist_ok=True)
    return ((case.name, _ranks(case, folder, suspects)) for case in (*CASES, *FROZEN))


def _ranks(case: Case, folder: Path, suspects: Suspects) -> Iterator[Found]:
    if reason := case.why_not():
        raise ValueError(reason)
    normal, stalled = (Recording(record(case, mode, folder)) for mode in ("normal", "stalled"))
    causes = find_causes(stalled, [normal])
    if not causes.stalls:
        raise ValueError("no stall was found in it")
    for setting, settings in path_settings().items():
        yield Found(setting, case.name, vertex_rank(causes.graph, case.truth, suspects(causes, settings)))


def by_comparison(causes: Causes, settings: CausesPaperSettings) -> list[int]:
    """Algorithm 2: what differs from the normal run on the way to the largest stall."""
    method = PaperMethod(causes.roles, causes.normals[0], settings)
    return [one.segment for one in method.culprits(causes.stalls[0].anomaly)]


def by_paths(causes: Causes, settings: CausesPaperSettings) -> list[int]:
    """Algorithm 1 alone: whatever lies on the best paths, the origin of each first."""
    graph, anomaly = causes.graph, causes.stalls[0].anomaly
    start = int(graph.followers[anomaly.wait]) if anomaly.wait >= 0 else anomaly_vertex(graph, anomaly)
    if start < 0:
        return []
    return [one for path in search(graph.edges, start, origins(graph), settings) for one in path.vertices]
