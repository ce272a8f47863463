"""The changed relations as graphs, from the evidence that the relations engine left with its suspects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whyperf.diagnose.verdict import Evidence, Suspect, Verdict
from whyperf.engines.relations import ENGINE
from whyperf.report.html.model import Quantiles, RelationEdge, RelationGraph, RelationNode, RelationsSection


def relations_section(verdict: Verdict | None) -> RelationsSection | None:
    """None where no suspect is a relation."""
    graphs = [
        _graph(suspect, evidence)
        for suspect in (verdict.suspects if verdict is not None else ())
        for evidence in suspect.evidence
        if evidence.engine == ENGINE
    ]
    return RelationsSection(tuple(graphs)) if graphs else None


def _graph(suspect: Suspect, evidence: Evidence) -> RelationGraph:
    detail = evidence.detail
    forward = detail.get("forward") or {}
    graph = detail.get("graph") or {"nodes": [], "edges": []}
    return RelationGraph(
        rank=suspect.rank,
        decision=detail.get("decision") or "",
        sentence=forward.get("sentence", ""),
        good=_quantiles(forward.get("good")),
        bad=_quantiles(forward.get("bad")),
        nodes=tuple(
            RelationNode(one["name"], one["kind"], one["file"], one["line"], one["good"], one["bad"])
            for one in graph["nodes"]
        ),
        edges=tuple(
            RelationEdge(one["start"], one["end"], one["kind"], one["good"], one["bad"], one["changed"])
            for one in graph["edges"]
        ),
    )


def _quantiles(plain: Mapping[str, Any] | None) -> Quantiles | None:
    return None if plain is None else Quantiles(plain["instances"], plain["mean"], tuple(plain["quantiles"]))
