"""The verdict as JSON: stable, described by `verdict.schema.json`; fields may be added, never changed."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from whyperf.diagnose.origin import Origin, Proof, Share
from whyperf.diagnose.verdict import CallCounts, ContextRanking, Suspect, Verdict
from whyperf.engines.excess.explain import Explanation
from whyperf.engines.finding import Detail
from whyperf.recording.safe_files.dataclass_json import to_plain

FORMAT = 1


def to_json(verdict: Verdict, explanations: Sequence[Explanation] = (), *, top: int | None = None) -> str:
    """ASCII only: whatever names the recorded program had, this text is safe to print and to store."""
    return json.dumps(finite(as_plain(verdict, explanations, top=top)), indent=1, allow_nan=False) + "\n"


def as_plain(verdict: Verdict, explanations: Sequence[Explanation] = (), *, top: int | None = None) -> dict[str, Any]:
    symptom = verdict.symptom
    plain: dict[str, Any] = {
        "format": FORMAT,
        "verdict": verdict.kind.value,
        "symptom": {
            "kind": symptom.kind,
            "unit": symptom.unit,
            "good": symptom.good,
            "bad": symptom.bad,
            "measure": symptom.measure,
            "runs": list(symptom.runs),
            "good_runs": list(symptom.good_runs),
            "bad_runs": list(symptom.bad_runs),
            "sentence": symptom.sentence,
        },
        "suspects": [_suspect(suspect) for suspect in verdict.suspects[:top]],
        "disagreements": list(verdict.disagreements),
        "notes": [*filter(None, [verdict.machine]), *verdict.warnings, *verdict.notes],
        "next_command": verdict.next_command,
        "totals": [asdict(one) for one in verdict.totals],
    }
    if verdict.percentiles:
        plain["latency"] = [to_plain(one) for one in verdict.percentiles]
    if verdict.counts is not None:
        plain["call_counts"] = _call_counts(verdict.counts)
    if verdict.revisions is not None:
        plain["revisions"] = dict(zip(("good", "bad"), map(asdict, verdict.revisions), strict=True))
    if verdict.contexts is not None:
        plain["contexts"] = _contexts(verdict.contexts, top)
    if explanations:
        plain["explanations"] = [_explanation(explanation) for explanation in explanations]
    return plain


def _call_counts(counts: CallCounts) -> dict[str, Any]:
    return {
        "runs": list(counts.runs),
        "excess": counts.excess_s,
        "changes": [
            {
                "kind": change.kind,
                "function": change.function,
                "module": change.module,
                "file": change.file,
                "line": change.line,
                "callee": change.callee or None,
                "good": change.good,
                "bad": change.bad,
                "share": change.share,
                "sentence": change.sentence,
            }
            for change in counts.changes
        ],
        "more": {"changes": counts.more, "share": counts.more_share},
    }


def _contexts(ranking: ContextRanking, top: int | None) -> dict[str, Any]:
    return {
        "unit": ranking.unit,
        "ranked": [
            {
                "rank": row.rank,
                "share": row.share,
                "good": row.good,
                "bad": row.bad,
                "hot": row.hot,
                "path": to_plain(row.steps),
            }
            for row in ranking.contexts[:top]
        ],
    }


def _suspect(suspect: Suspect) -> dict[str, Any]:
    return {
        "rank": suspect.rank,
        "kind": suspect.kind,
        "function": suspect.function,
        "module": suspect.module,
        "file": suspect.file,
        "line": suspect.line,
        "block": suspect.block,
        "decided_by": suspect.decided_by,
        "process": suspect.process,
        "thread": suspect.thread,
        "path": list(suspect.path),
        "score": suspect.score,
        "share": suspect.share,
        "confidence": suspect.confidence,
        "doubt": suspect.doubt or None,
        "pattern": suspect.pattern,
        "why": suspect.why,
        "variables": [
            {
                "name": variable.name,
                "good": variable.good,
                "bad": variable.bad,
                "dimension": variable.dimension,
                "file": variable.file,
                "lines": list(variable.lines),
                "type": variable.type,
                "sentence": variable.sentence,
                "distance": variable.distance,
                "good_values": to_plain(variable.good_spread),
                "bad_values": to_plain(variable.bad_spread),
                "read_at": to_plain(variable.read_at),
            }
            for variable in suspect.variables
        ],
        "evidence": [
            {"engine": one.engine, "rank": one.rank, "score": one.score, "detail": _detail(one.detail), "why": one.why}
            for one in suspect.evidence
        ],
        "lines": to_plain(suspect.lines),
        "change": to_plain(suspect.change),
        "commits": to_plain(suspect.commits),
        "origin": None if suspect.origin is None else _origin(suspect.origin),
        "proofs": [_proof(proof) for proof in suspect.proofs],
    }


def _detail(detail: Detail) -> dict[str, Any]:
    """Without what is unknown."""
    return {name: value for name, value in to_plain(detail).items() if value is not None}


def origin_json(origin: Origin) -> str:
    """A chain alone, as it is in a verdict."""
    return json.dumps(finite({"format": FORMAT, "origin": _origin(origin)}), indent=1, allow_nan=False) + "\n"


def _origin(origin: Origin) -> dict[str, Any]:
    return {
        "hops": [to_plain(hop) | {"good": None if origin.is_alone else hop.good} for hop in origin.hops],
        "end": origin.end.value,
        "sentence": origin.sentence,
        "turn": origin.turn,
        "narrows": origin.narrows,
        "runs": origin.runs,
        "seconds": origin.seconds,
    }


def _proof(proof: Proof) -> dict[str, Any]:
    return {
        "finding": proof.finding.value,
        "means": proof.means.value,
        "function": proof.function,
        "module": proof.module,
        "file": proof.file,
        "line": proof.line,
        "what": proof.what,
        "good": proof.good,
        "bad": proof.bad,
        "is_part": proof.is_part,
        "removed": _share(proof.removed),
        "sham": _share(proof.sham),
        "reverse": _share(proof.reverse),
        "runs": proof.runs,
        "measure": proof.measure,
        "sentence": proof.sentence,
    }


def _share(share: Share | None) -> dict[str, float] | None:
    return None if share is None else {"share": share.value, "low": share.low, "high": share.high}


def _explanation(explanation: Explanation) -> dict[str, Any]:
    return {
        "function": explanation.function.name,
        "module": explanation.function.module,
        "rank": explanation.rank,
        "sentences": list(explanation.sentences),
    }


def finite(value: Any) -> Any:
    """JSON has no infinity: such a figure is null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(one) for key, one in value.items()}
    return [finite(one) for one in value] if isinstance(value, list) else value
