"""Relations found in the paper's examples, made small by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.engines.relations import programs
from whyperf.engines.finding import Finding
from whyperf.engines.relations.compare import compare
from whyperf.engines.relations.detail import Distribution
from whyperf.engines.relations.settings import RelationsSettings
from whyperf.errors import WhyperfError
from whyperf.recording.symptom import parse_symptom


def places(findings: tuple[Finding, ...]) -> list[tuple[str, int]]:
    return [(finding.function.name, finding.place.line) for finding in findings]


def cause(finding: Finding) -> tuple[str, int] | None:
    named = finding.detail.cause
    return (named.function, named.line) if named else None


def test_loop_that_runs_twice_is_named_with_its_numbers() -> None:
    found = compare([programs.cursors(1)], [programs.cursors(2)], parse_symptom("function:evict"))
    assert (found.good, found.bad) == (60, 120)
    assert places(found.findings) == [("restore", 20)]
    first = found.findings[0]
    assert "The loop at restore (tool.c:20) runs once, now twice" in first.why
    assert "100% of the extra calls of evict" in first.why
    assert first.path == ("main", "restore")
    assert first.detail.origin.line == 11  # where the number of plans was stored
    assert first.detail.forward.good == Distribution(60, 1.0, (1, 1, 1, 1, 1))


def test_excess_of_instructions_is_the_symptom_if_none_is_given() -> None:
    found = compare([programs.cursors(1)], [programs.cursors(2)])
    assert found.symptom == "instructions"
    assert places(found.findings)[0] == ("restore", 20)


def test_fake_pointers_are_named_and_their_effects_are_not() -> None:
    """Figure 1: neither the sweep, which frees less, nor the loops around are causes."""
    found = compare([programs.collector(0)], [programs.collector(25)], parse_symptom("var:heap_size"))
    assert places(found.findings) == [("mark", 22)]
    first = found.findings[0]
    assert cause(first) == ("main", 5)
    assert first.detail.symptom.negation
    assert "from main (tool.c:5) in 0% of cases" in first.why
    lost = [one for one in first.detail.backward if one.bad < one.good]
    assert (lost[0].producer, lost[0].line) == ("new", 15)


def test_setter_is_told_apart_by_its_callers() -> None:
    """Marking and clearing are stores by the same instruction."""
    good, bad = programs.collector(0, by_setter=True), programs.collector(25, by_setter=True)
    found = compare([good], [bad], parse_symptom("var:heap_size"))
    assert places(found.findings)[0] == ("mark", 22)
    assert cause(found.findings[0]) == ("main", 5)
    assert found.findings[0].detail.symptom.name == "executions of mark:25 in set_bits"


@pytest.mark.parametrize("symptom", ["function:evict", "instructions"])
def test_option_that_only_takes_another_way_to_the_same_code_is_no_cause(symptom: str) -> None:
    good, bad = programs.cursors(1, option=0), programs.cursors(2, option=1)
    assert places(compare([good], [bad], parse_symptom(symptom)).findings) == [("restore", 20)]


def test_line_that_only_the_bad_build_has_is_the_cause() -> None:
    """Figure 6: all lines have moved, the new one is found by what it stored."""
    found = compare([programs.keys(forgets=False)], [programs.keys(forgets=True)], parse_symptom("function:build_key"))
    assert places(found.findings)[0] == ("reconcile", 10)
    assert cause(found.findings[0]) == ("get_key_info", 4)
    assert found.findings[0].detail.cause.new
    assert len(found.findings) <= 3


def test_builds_are_matched_without_their_source() -> None:
    good, bad = programs.keys(forgets=False, text=""), programs.keys(forgets=True, text="")
    found = compare([good], [bad], parse_symptom("function:build_key"))
    assert found.findings
    assert found.notes and "could not be matched" in found.notes[0]


def test_program_that_leaves_early_is_followed_to_where_it_left() -> None:
    found = compare([programs.printer(padded=False)], [programs.printer(padded=True)], parse_symptom("function:format"))
    assert places(found.findings)[0] == ("main", 7)
    assert found.findings[0].detail.forward.left_early


def test_recursion_counts_a_symptom_once() -> None:
    found = compare([programs.recursive(1)], [programs.recursive(2)], parse_symptom("function:visit"))
    assert places(found.findings)[0] == ("visit", 11)
    assert found.findings[0].share <= 1


def test_decision_that_works_against_the_change_is_none() -> None:
    """More is taken as well, by values from elsewhere: the balance grew in spite of it."""
    good, bad = programs.account(20, written_at=5), programs.account(60, written_at=6)
    assert places(compare([good], [bad], parse_symptom("var:balance")).findings) == [("main", 7)]


@pytest.mark.parametrize("symptom", ["function:compare", "instructions"])
def test_loop_is_not_charged_with_what_its_iterations_came_to_cost(symptom: str) -> None:
    found = compare([programs.search(30, 600)], [programs.search(60, 690)], parse_symptom(symptom))
    assert places(found.findings)[0] == ("find", 20)
    shares = {finding.place.line: finding.share for finding in found.findings}
    assert shares[5] < 0.25  # 15% more trips; the last 15% cost 24% of all


def test_extra_round_that_costs_more_than_the_usual_one_is_the_loops_doing() -> None:
    found = compare([programs.retries(1)], [programs.retries(2)], parse_symptom("function:compare"))
    assert places(found.findings)[0] == ("attempt", 11)
    assert found.findings[0].share == 1


def test_more_calls_and_more_work_in_each_are_not_counted_twice() -> None:
    """Six times the calls, six times the rounds in each: a call brings what a call brought, the rest is the loop's."""
    found = compare([programs.search(10, 600)], [programs.search(60, 600)], parse_symptom("function:compare"))
    assert places(found.findings) == [("find", 20), ("main", 6)]
    assert found.findings[1].share == pytest.approx((60 - 10) * 5.5 / (found.bad - found.good))


def test_origin_of_values_explains_no_more_than_what_came_of_the_decision() -> None:
    good, bad = programs.moved(600, written_at=2), programs.moved(690, written_at=4)
    found = compare([good], [bad], parse_symptom("function:compare"))
    assert places(found.findings) == [("main", 9), ("main", 7)]
    assert found.findings[1].share < 0.25  # 15% more trips


@pytest.mark.parametrize(
    ("run", "symptom"),
    [
        (programs.cursors(2), "function:evict"),
        (programs.collector(25), "var:heap_size"),
        (programs.keys(forgets=True), "function:build_key"),
        (programs.printer(padded=True), "instructions"),
    ],
)
def test_same_behaviour_twice_has_no_candidate(run: programs.Made, symptom: str) -> None:
    assert not compare([run], [run], parse_symptom(symptom)).findings


def test_noise_is_no_relation() -> None:
    """A twentieth more of everything is below what matters."""
    found = compare([programs.cursors(2, deletes=100)], [programs.cursors(2, deletes=105)])
    assert not found.findings


def test_several_runs_of_a_side_are_averaged() -> None:
    good = [programs.cursors(1, deletes=60), programs.cursors(1, deletes=62)]
    bad = [programs.cursors(2, deletes=60), programs.cursors(2, deletes=62)]
    found = compare(good, bad, parse_symptom("function:evict"))
    assert (found.good, found.bad) == (61, 122)
    assert places(found.findings) == [("restore", 20)]


@pytest.mark.parametrize(
    ("good", "bad", "symptom"),
    [
        (programs.cursors(1, deletes=400), programs.cursors(2, deletes=400), "function:evict"),
        (programs.collector(0, rounds=20), programs.collector(25, rounds=20), "var:heap_size"),
    ],
)
def test_one_in_ten_gives_the_same_answer(good: programs.Made, bad: programs.Made, symptom: str) -> None:
    settings = RelationsSettings()
    whole = compare([good], [bad], parse_symptom(symptom), settings).findings
    for few in (replace(settings, tests_per_decision=40, windows=4), replace(settings, one_symptom_in=10, windows=4)):
        part = compare([good], [bad], parse_symptom(symptom), few).findings
        assert places(part) == places(whole)
        assert [cause(one) for one in part] == [cause(one) for one in whole]


def test_symptom_that_never_ran_is_an_error_that_says_so() -> None:
    run = programs.cursors(1)
    with pytest.raises(WhyperfError, match=r"No function evicted .* Near it: evict"):
        compare([run], [run], parse_symptom("function:evicted"))
    with pytest.raises(WhyperfError, match="Nothing was recorded"):
        compare([run], [run], parse_symptom("var:heap_size"))
    with pytest.raises(WhyperfError, match=r"tool\.c:999") as raised:
        compare([run], [run], parse_symptom("line:tool.c:999"))
    assert "line:tool.c:40" in str(raised.value.next_command)


def test_line_is_a_symptom() -> None:
    found = compare([programs.cursors(1)], [programs.cursors(2)], parse_symptom("line:tool.c:40"))
    assert places(found.findings) == [("restore", 20)]


def test_graph_leads_from_the_root_to_the_symptom() -> None:
    first = compare([programs.cursors(1)], [programs.cursors(2)], parse_symptom("function:evict")).findings[0]
    graph = first.detail.graph
    names = [node.name for node in graph.nodes]
    calls = [node.name for node in graph.nodes if node.kind == "call"]
    assert calls == ["main", "restore", "cursor_search", "evict"]
    assert names[-1] == "calls of evict"
    changed = [edge for edge in graph.edges if edge.changed]
    assert [(edge.good, edge.bad) for edge in changed] == [(1.0, 2.0)]


def test_loop_of_a_library_is_named_by_the_line_that_it_is_inlined_at() -> None:
    found = compare([programs.searches(3)], [programs.searches(50)])
    first = found.findings[0]
    assert places(found.findings) == [("find_row", 21)] and first.place.file == "/src/tool.c"
    assert "The loop of std::find, inlined at find_row (tool.c:21) runs 3 times, now 50 times" in first.why
    assert first.detail.inlined == "std::find"


def test_inlined_line_of_a_library_is_a_symptom() -> None:
    found = compare([programs.searches(3)], [programs.searches(50)], parse_symptom("line:stl_algo.h:2052"))
    assert (found.good, found.bad) == (40 * 3, 40 * 50)


def test_what_an_interpreter_runs_is_followed_to_where_it_was_decided() -> None:
    found = compare([programs.interpreted(True)], [programs.interpreted(False)])
    first = found.findings[0]
    assert places(found.findings)[0] == ("interpret", 41)
    assert cause(first) == ("prepare", 20)
    assert "from code_scan (tool.c:35) in 0% of cases, now in 100%" in first.why
    assert "the runs part: the branch at prepare (tool.c:20) goes to line 24 in 0% of cases, now in 100%" in first.why


def test_candidates_are_in_the_order_of_what_they_are_said_to_explain() -> None:
    for good, bad in ((True, False), (False, True)):
        found = compare([programs.interpreted(good)], [programs.interpreted(bad)])
        shares = [finding.share for finding in found.findings]
        assert shares == sorted(shares, reverse=True)


def test_few_events_do_not_make_iterations_costlier() -> None:
    """Of one symptom in ten, the rare ones of the usual iterations are so few that their number says little."""
    sides = [programs.rare_evictions(1)], [programs.rare_evictions(2)]
    for one_in in (1, 10):
        found = compare(*sides, parse_symptom("function:evict"), RelationsSettings(one_symptom_in=one_in))
        assert places(found.findings)[0] == ("restore", 20)
