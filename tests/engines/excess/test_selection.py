"""Who is named beside those who stand out: one example each."""

from __future__ import annotations

from tests.engines.made import recording
from whyperf.engines.excess.compare import DataEvidence, compare, weigh
from whyperf.engines.excess.findings import suspects
from whyperf.engines.run import Run

BASE = [(("main", "parse"), 2.0), (("main", "store"), 2.0)]


def compared(good, bad):
    return compare([Run(recording(good))], [Run(recording(bad))])


def names(excess):
    return [finding.function.name for finding in suspects(excess, "run")]


def test_a_short_list_is_filled_with_who_calls_the_first_or_is_called_by_it():
    # GIVEN nearly all of the excess in one function, and a little more than chance in its callee, and beside it
    good = [*BASE, (("main", "get"), 1.0), (("main", "get", "grow"), 0.05), (("main", "other"), 0.05)]
    bad = [*BASE, (("main", "get"), 90.0), (("main", "get", "grow"), 0.6), (("main", "other"), 0.6)]
    # THEN the callee is named after it, who has nothing to do with it is not
    assert names(compared(good, bad)) == ["get", "grow"]


def test_what_may_be_luck_is_not_named():
    good = [*BASE, (("main", "get"), 1.0), (("main", "get", "grow"), 0.5)]
    bad = [*BASE, (("main", "get"), 90.0), (("main", "get", "grow"), 0.55)]
    assert names(compared(good, bad)) == ["get"]


def test_a_list_of_three_is_long_enough():
    parts = ("one", "two", "three")
    good = [*BASE, *((("main", part), 1.0) for part in parts), (("main", "one", "grow"), 0.05)]
    bad = [*BASE, *((("main", part), 60.0) for part in parts), (("main", "one", "grow"), 0.6)]
    assert sorted(names(compared(good, bad))) == sorted(parts)


def test_where_most_is_spent_is_among_the_first_three_whoever_answers_for_it():
    # GIVEN a function whose loops go as far as ever, called by one whose data went wrong
    good = [*BASE, (("main", "plan*", "scan*"), 1.0), (("main", "plan*", "read"), 0.2)]
    bad = [*BASE, (("main", "plan*", "scan*"), 9.0), (("main", "plan*", "read"), 0.2)]
    excess = compared(good, bad)
    keys = {function.key.name: function.key for function in excess.index.functions}
    blamed = DataEvidence({keys["plan"]: 1.0}, {}, {keys["scan"]}, {keys["scan"]})
    findings = suspects(weigh(excess, blamed), "run")
    assert [finding.function.name for finding in findings] == ["plan", "scan"]
    assert (
        findings[1].why == "It takes 8.00 s more per run in its own code: 1.00 s became 9.00 s; other "
        "functions are charged with it (--explain tells why)."
    )
