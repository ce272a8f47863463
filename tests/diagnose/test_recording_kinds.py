"""Sampled and counted recordings of one program in one verdict."""

from __future__ import annotations

from dataclasses import replace

import jsonschema
import pytest

from tests.diagnose.next_command.test_next_step import ALL
from tests.engines.call_counts.counted_recordings import counted as calls_counted
from tests.engines.made import recording
from tests.engines.relations.sketched import sketch
from tests.engines.relations.test_counting import cursors
from tests.schemas import verdict_schema
from whyperf.diagnose.diagnosis import examine
from whyperf.errors import WhyperfError
from whyperf.recording.sealed.manifest import Counting, Deep
from whyperf.report.json import as_plain


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
    jsonschema.validate(as_plain(verdict), verdict_schema())


def test_without_a_difference_counts_name_nobody():
    good, bad = [*sampled(1.0), counted(1)], [*sampled(1.0), counted(2)]
    assert examine(good, bad).verdict.suspects == ()


@pytest.mark.parametrize("deep_side", ["good", "bad", "only"])
def test_what_was_counted_is_not_compared_with_what_was_sampled(deep_side):
    deep = counted(1)
    good = {"good": [*sampled(1.0), deep], "bad": sampled(1.0), "only": [deep]}[deep_side]
    bad = sampled(2.0) if deep_side != "bad" else [*sampled(2.0), deep]
    with pytest.raises(WhyperfError, match="each kind is compared with its like"):
        examine(good, bad)


def call_counted(searches):
    made = calls_counted({("main", "restore"): 10, ("restore@7", "search"): searches, ("main", "parse"): 10})
    return replace(made, manifest=replace(made.manifest, counting=Counting(sites=3, counted=3)))


def test_call_counts_say_who_calls_more_often_and_move_no_rank():
    # GIVEN samples that find time in search, and counts by which restore calls it four times as often
    alone = examine(sampled(1.0), sampled(4.0)).verdict
    # WHEN both are diagnosed together
    verdict = examine([*sampled(1.0), call_counted(50)], [*sampled(4.0), call_counted(200)]).verdict
    # THEN suspects are those of the samples, and the counts come with their sentence and their part of the excess
    assert replace(verdict, counts=None) == alone
    first = verdict.counts.changes[0]
    assert (first.function, first.callee, first.line) == ("restore", "search", 7)
    assert (first.good, first.bad, first.share) == (5, 20, pytest.approx(1.0, abs=0.05))
    assert first.sentence == "restore calls search 20 times per call; was 5."
    assert sum(one.share for one in verdict.counts.changes) == pytest.approx(1.0)
    assert verdict.counts.excess_s == pytest.approx(3.0, rel=0.05)
    plain = as_plain(verdict)
    jsonschema.validate(plain, verdict_schema())
    assert plain["call_counts"]["changes"][0]["sentence"] == first.sentence


def test_without_a_difference_call_counts_say_nothing():
    verdict = examine([*sampled(1.0), call_counted(50)], [*sampled(1.0), call_counted(200)]).verdict
    assert verdict.counts is None


def test_many_changes_are_kept_in_bounds_and_the_rest_is_counted():
    names = [f"f{number}" for number in range(90)]
    sides = []
    for factor in (1, 2):
        stacks = [(("main", name), 0.1 * factor) for name in names]
        counts = calls_counted({("main", name): 10 * factor for name in names})
        counts = replace(counts, manifest=replace(counts.manifest, counting=Counting(sites=90, counted=90)))
        sides.append([*(recording(stacks) for _ in range(3)), counts])
    found = examine(*sides).verdict.counts
    assert len(found.changes) + found.more == 90 and len(found.changes) == 50
    assert sum(one.share for one in found.changes) + found.more_share == pytest.approx(1.0)


def test_call_counts_need_samples_and_their_like():
    good, bad, only_counts = sampled(1.0), sampled(4.0), call_counted(1)
    with pytest.raises(WhyperfError, match="holds call counts and no samples"):
        examine([only_counts], [only_counts])
    for sides in (([*good, only_counts], bad), (good, [*bad, only_counts])):
        with pytest.raises(WhyperfError, match="each kind is compared with its like"):
            examine(*sides)
