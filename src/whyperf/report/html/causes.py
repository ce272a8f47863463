"""Stalls as timelines, from the evidence that the causes engine left with its suspects.

That is a ladder of threads, from the one that stalled to the one that should have acted: for each what it did, when,
for how long and with which stack, and why the next is to blame for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whyperf.diagnose.verdict import Suspect, Verdict
from whyperf.engines.causes.findings import ENGINE
from whyperf.report.html.model import CauseLink, CauseRung, CausesSection, CauseStory


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
    ladder, stall = detail["ladder"], detail["stall"]
    lanes = list(dict.fromkeys(_thread(rung) for rung in ladder))
    return CauseStory(
        rank=suspect.rank,
        normal_s=stall["normal_s"],
        usual=stall["usual"],
        lanes=tuple(lanes),
        rungs=tuple(
            CauseRung(
                lane=lanes.index(_thread(rung)),
                start_s=rung["time_s"],
                seconds=rung["for_s"],
                did=rung["did"],
                stack=tuple(rung["stack"]),
                link=None if rung["link"] is None else CauseLink(**rung["link"]),
            )
            for rung in ladder
        ),
    )


def _thread(rung: Mapping[str, Any]) -> str:
    """`server/worker (4711)`: the program, the thread where it has a name of its own, its number."""
    if rung["tid"] is None:
        return "outside of the recording"
    own = f"/{rung['thread']}" if rung["thread"] and rung["thread"] != rung["process"] else ""
    return f"{rung['process']}{own} ({rung['tid']})"
