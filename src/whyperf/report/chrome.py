"""Causal paths in the trace-event format that Perfetto and Chrome open: a slice a rung, arrows between them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from whyperf.diagnose.verdict import Verdict
from whyperf.engines.causes.detail import CausesDetail, ShownRung
from whyperf.recording.safe_files.dataclass_json import to_plain


def to_chrome(verdict: Verdict) -> str:
    """ASCII only, as our other JSON."""
    events: list[dict[str, Any]] = []
    for suspect in verdict.suspects:
        for evidence in suspect.evidence:
            if isinstance(evidence.detail, CausesDetail):
                events += _path(evidence.detail.ladder, suspect.rank)
    named = {(event["pid"], event["tid"]): event["args"] for event in events if event["ph"] == "X"}
    for (pid, tid), args in named.items():
        events.append(_name("process_name", pid, tid, args["process"]))
        events.append(_name("thread_name", pid, tid, args["thread"]))
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}, indent=1) + "\n"


def _path(ladder: Sequence[ShownRung], rank: int) -> Iterator[dict[str, Any]]:
    """Arrows go from cause to effect: from a rung to the one below it."""
    known = [rung for rung in ladder if rung.tid is not None]
    for number, rung in enumerate(known):
        yield {
            "name": rung.did,
            "cat": "stall",
            "ph": "X",
            "ts": rung.time_s * 1e6,
            "dur": max(rung.for_s * 1e6, 1.0),
            "pid": rung.pid,
            "tid": rung.tid,
            "args": {
                "process": rung.process,
                "thread": rung.thread,
                "suspect": rank,
                "stack": list(rung.stack),
                "link": to_plain(rung.link),
            },
        }
        if number == 0:
            continue
        effect = known[number - 1]
        identity = {"name": "cause", "cat": "stall", "id": f"{rank}.{number}"}
        yield {**identity, "ph": "s", "ts": _end(rung), "pid": rung.pid, "tid": rung.tid}
        yield {**identity, "ph": "f", "bp": "e", "ts": _end(effect), "pid": effect.pid, "tid": effect.tid}


def _end(rung: ShownRung) -> float:
    """Within the slice, where arrows are tied to."""
    return float(rung.time_s * 1e6 + max(rung.for_s * 1e6, 1.0) * 0.999)


def _name(what: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": pid, "tid": tid, "args": {"name": name}}
