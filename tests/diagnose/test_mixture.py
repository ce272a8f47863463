"""Sampled and counted recordings of one program in one verdict."""

from __future__ import annotations

from dataclasses import replace

import jsonschema
import pytest

from tests.diagnose.test_next_step import ALL
from tests.engines.made import recording
from tests.engines.relations.sketched import sketch
from tests.engines.relations.test_counting import cursors
from whyperf.diagnose.diagnosis import examine
from whyperf.errors import WhyperfError
from whyperf.recording.manifest import Counting, Deep
from whyperf.report.json import as_plain, schema


def sampled(search_s):
    stacks = [(("main", "restore", "search"), search_s), (("main", "parse"), 1.0)]
    return [recording([(words, seconds * noise) for words, seconds in stacks]) for noise in (1.0, 1.01, 0.99)]


def counted(plans):
    made = sketch(*cursors(plans))
    return replace(made, manifest=replace(made.manifest, deep=Deep("sketch", "3.19.0", "", 1, 1, 1)))


def test_a_changed_relation_joins_what_samples_say():
    # GIVEN samples that find time in search alone, and counts by which restore calls it twice
    alone = examine(sampled(1.0), sampled(2.0)).verdict
    assert [one.function for one in alone.suspects] == ["search"]
    # WHEN both are diagnosed together
    good, bad = [*sampled(1.0), counted(1)], [*sampled(2.0), counted(2)]
    verdict = examine(good, bad, possible=ALL).verdict
    # THEN either has its evidence, the symptom is what was sampled, and that they differ is said
    assert (verdict.symptom.measure, verdict.symptom.runs) == ("cpu_s", (3, 3))
    assert {one.function: [each.engine for each in one.evidence] for one in verdict.suspects} == {
        "search": ["excess"],
        "restore": ["relations"],
    }
    assert "restore in tool" in verdict.disagreements[0]
    assert "--deep" not in (verdict.next_command or "")
    jsonschema.validate(as_plain(verdict), schema())


def test_without_a_difference_counts_name_nobody():
    good, bad = [*sampled(1.0), counted(1)], [*sampled(1.0), counted(2)]
    assert examine(good, bad).verdict.suspects == ()


@pytest.mark.parametrize("deep_side", ["good", "bad", "only"])
def test_what_was_counted_is_not_compared_with_what_was_sampled(deep_side):
    deep = counted(1)
    good = {"good": [*sampled(1.0), deep], "bad": sampled(1.0), "only": [deep]}[deep_side]
    bad = sampled(2.0) if deep_side != "bad" else [*sampled(2.0), deep]
    with pytest.raises(WhyperfError, match="cannot be compared with what was sampled"):
        examine(good, bad)


def test_recordings_of_call_counts_are_refused_not_called_equal():
    good, bad = sampled(1.0), sampled(4.0)
    only_counts = replace(good[0], manifest=replace(good[0].manifest, counting=Counting(sites=2, counted=2)))
    for sides in (([only_counts], [only_counts]), ([*good, only_counts], bad), (good, [*bad, only_counts])):
        with pytest.raises(WhyperfError, match="holds call counts and no samples"):
            examine(*sides)
