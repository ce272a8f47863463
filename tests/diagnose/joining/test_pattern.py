"""What kind of mistake a suspect is: data first, then how its time grew, then whether two builds did the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.diagnose.details import excess_detail
from whyperf.diagnose.joining.pattern import HowItGrew, how_it_grew, likeliest, together
from whyperf.diagnose.verdict import Evidence
from whyperf.engines.excess.blame_reasons import BlameReason
from whyperf.engines.finding import Detail

PATTERNS = st.sampled_from(
    ["unknown", "scalability", "wrong-constraint", "missing-constraint", "new-path", "long-wait", "external"]
)
GROWTHS = st.builds(
    HowItGrew,
    role=st.sampled_from([None, *BlameReason]),
    repeats=st.booleans(),
    in_every_round=st.booleans(),
    two_builds=st.booleans(),
    new_code=st.booleans(),
    changed=st.booleans(),
)


@pytest.mark.parametrize(
    ("growth", "pattern"),
    [
        (HowItGrew(), "unknown"),
        (HowItGrew(BlameReason.OWN), "unknown"),
        (HowItGrew(BlameReason.OWN, repeats=True), "scalability"),
        (HowItGrew(BlameReason.CALLS_MORE), "new-path"),
        (HowItGrew(BlameReason.CALLS_MORE, in_every_round=True), "missing-constraint"),
        (HowItGrew(BlameReason.CALLS_MORE, in_every_round=True, repeats=True), "scalability"),
        (HowItGrew(BlameReason.CALLS_MORE, in_every_round=True, repeats=True, new_code=True), "new-path"),
        (HowItGrew(BlameReason.OWN, in_every_round=True), "unknown"),
        (HowItGrew(BlameReason.TAKES_LONGER), "unknown"),
        (HowItGrew(BlameReason.OWN, repeats=True, two_builds=True), "missing-constraint"),
        (HowItGrew(BlameReason.OWN, two_builds=True, changed=True), "missing-constraint"),
        (HowItGrew(BlameReason.OWN, two_builds=True), "unknown"),
        (HowItGrew(BlameReason.ELSEWHERE, two_builds=True, changed=True), "wrong-constraint"),
        (HowItGrew(BlameReason.ELSEWHERE, repeats=True, two_builds=True, changed=True), "wrong-constraint"),
    ],
)
def test_where_data_are_silent_growth_speaks(growth, pattern):
    assert likeliest("unknown", growth) == pattern


@pytest.mark.parametrize(
    ("told", "new_code", "pattern"),
    [
        ("scalability", False, "missing-constraint"),
        ("new-path", False, "missing-constraint"),
        ("new-path", True, "new-path"),
        ("scalability", True, "scalability"),
        ("wrong-constraint", False, "wrong-constraint"),
        ("long-wait", False, "long-wait"),
    ],
)
def test_what_antwo_builds_does_without_is_told_apart_there(told, new_code, pattern):
    assert likeliest(told, HowItGrew(two_builds=True, new_code=new_code)) == pattern


@given(PATTERNS.filter(lambda told: told != "unknown"), GROWTHS.filter(lambda growth: not growth.two_builds))
def test_within_one_build_growth_never_contradicts_what_is_told(told, growth):
    assert likeliest(told, growth) == told


@given(PATTERNS, PATTERNS)
def test_whoever_knows_nothing_changes_nothing(first, other):
    assert together(first, "unknown") == first
    assert together("unknown", other) == other
    assert together(first, other) in (first, other)


def test_a_flipped_condition_explains_a_new_path():
    assert together("new-path", "wrong-constraint") == "wrong-constraint"
    assert together("new-path", "scalability") == "new-path"


def test_growth_is_told_by_the_engine_that_knows_where_time_is():
    said = [
        Evidence("values", 1, 0.5, Detail()),
        Evidence("excess", 1, 0.5, excess_detail(role=BlameReason.CALLS_MORE, in_every_round=True, code="changed")),
    ]
    assert how_it_grew(said) == HowItGrew(BlameReason.CALLS_MORE, in_every_round=True, changed=True)
    assert how_it_grew(said[:1]) == HowItGrew()
