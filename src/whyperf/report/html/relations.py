"""The changed relations as graphs, from the evidence that the relations engine left with its suspects."""

from __future__ import annotations

from whyperf.diagnose.verdict import Suspect, Verdict
from whyperf.engines.relations.detail import RelationsDetail
from whyperf.report.html.model import RelationRow, RelationsSection


def relations_section(verdict: Verdict | None) -> RelationsSection | None:
    """None where no suspect is a relation."""
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
