"""Stalls as timelines, from the evidence that the causes engine left with its suspects.

That is a ladder of threads, from the one that stalled to the one that should have acted: for each what it did, when,
for how long and with which stack, and why the next is to blame for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whyperf.diagnose.verdict import Suspect, Verdict
from whyperf.engines.causes import ENGINE
from whyperf.report.html.model import CauseLink, CauseRung, CausesSection, CauseStory
from whyperf.report.waiting_threads import name_of, rungs_of


def causes_section(verdict: Verdict | None) -> CausesSection | None:
    """None where no suspect was found by following a stall."""
    stories = [
        _story(suspect, evidence.detail)
        for suspect in (verdict.suspects if verdict is not None else ())
        for evidence in suspect.evidence
        if evidence.engine == ENGINE and evidence.detail.get("ladder")
    ]
    return CausesSection(tuple(stories)) if stories else None


def _story(suspect: Suspect, detail: Mapping[str, Any]) -> CauseStory:
    rungs, stall = rungs_of(detail), detail["stall"]
    lanes = list(dict.fromkeys(map(name_of, rungs)))
    return CauseStory(
        rank=suspect.rank,
        normal_s=stall["normal_s"],
        usual=stall["usual"],
        lanes=tuple(lanes),
        rungs=tuple(
            CauseRung(
                lane=lanes.index(name_of(rung)),
                start_s=rung.start_s,
                seconds=rung.seconds,
                did=rung.did,
                stack=rung.stack,
                link=None if rung.link is None else CauseLink(rung.link.mechanism, rung.link.certainty, rung.link.why),
            )
            for rung in rungs
        ),
    )
