"""What deep comparisons say of what they count."""

from __future__ import annotations

from tests.engines.relations.sketched import sketch
from whyperf.diagnose.relations import examine_deep
from whyperf.recording.symptom import parse_symptom


def test_factors_are_written_out():
    good, bad = (sketch("main 1 500", f"main>fill {calls} {100 * calls} | {calls}:1") for calls in (60, 39_240))
    verdict = examine_deep([good], [bad], parse_symptom("function:fill"))
    assert verdict.symptom.sentence == "More calls of fill: 39,240, not 60: 654 times as many."
    fewer = examine_deep([bad], [good], parse_symptom("function:fill"))
    assert fewer.symptom.sentence == "Fewer calls of fill: 60, not 39,240: 0.0015 times as many."
