"""Recording pairs and diagnosing them, in one step."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whyperf.comparison.alternation import Side
from whyperf.comparison.endings import Outcomes, endings, remarks
from whyperf.comparison.pairs import record_pairs
from whyperf.comparison.plan import ComparisonPlan
from whyperf.comparison.progress import Steps

if TYPE_CHECKING:
    from whyperf.diagnose.verdict import Verdict
    from whyperf.report.html.examined import Examined


def record_and_judge(plan: ComparisonPlan, shown: Steps) -> tuple[Verdict, Examined]:
    """The verdict of new recordings, and what it was made of."""
    from whyperf.diagnose.diagnosis import examine
    from whyperf.report.html.examined import Examined
    from whyperf.seal.opening import open_recording

    outcomes: Outcomes = {Side.GOOD: [], Side.BAD: []}
    paths = record_pairs(plan, outcomes, shown)
    shown.step("comparing", 1.0, None)
    good, bad = ([open_recording(path) for path in paths[side]] for side in (Side.GOOD, Side.BAD))
    diagnosis = examine(good, bad)
    notes = dict.fromkeys((*remarks(outcomes), *diagnosis.verdict.notes))
    verdict = replace(diagnosis.verdict, notes=tuple(notes), warnings=tuple(endings(outcomes)))
    return verdict, Examined(good, bad, diagnosis.excess, diagnosis.values)
