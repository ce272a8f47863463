"""Section 3.4.2 of vProf's text: the classifier's four rules, abnormal ranges, their lines and blocks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.engines.values.made import Read, one_function
from tests.engines.values.test_paper import N, between, ranked, stays
from whyperf.engines.run import Run
from whyperf.engines.values.kinds import Dimension, ValueKind
from whyperf.engines.values.paper.discounts import Discount
from whyperf.engines.values.paper.findings import findings
from whyperf.engines.values.paper.monitored import monitored
from whyperf.engines.values.paper.patterns import abnormal_samples, classify
from whyperf.engines.values.paper.ranking import rank
from whyperf.engines.values.variables import GLOBAL, Variable


@pytest.mark.parametrize(
    ("roles", "good", "bad", "pattern"),
    [
        ("loop", stays(2), stays(20), "missing-constraint"),  # rule 1
        ("condition", stays(2), stays(20), "missing-constraint"),
        ("argument", stays(2), stays(20), "unknown"),
        ("loop", between(0, 50), between(60, 90), "scalability"),  # rule 2
        ("loop|condition", between(0, 50), between(60, 90), "scalability"),
        ("condition", between(0, 50), between(60, 90), "wrong-constraint"),  # rule 3
        ("argument", between(0, 50), between(60, 90), "unknown"),
    ],
)
def test_rules_one_to_three(roles, good, bad, pattern):
    assert classify(ranked(good, bad, roles=roles), 0) == pattern


def constant(rng):
    return np.full(N, 5)


def test_rule_four_a_normal_function_without_basic_variables():
    ranking = ranked(constant, constant, kind="pointer")
    assert ranking.functions[0].of_variable == Discount(0.8, Dimension.DURATION, False)
    assert classify(ranking, 0) == "scalability"
    # THEN only of the most costly function, and only where it has no basic variable
    assert classify(replace(ranking, functions=ranking.functions * 2), 1) == "unknown"
    assert classify(ranked(constant, constant), 0) == "unknown"


def test_the_anomalous_variable_is_told_where_a_similar_one_has_the_lower_discount():
    # GIVEN x, read too seldom to be anything but similar (0.8), and y, whose values differ a little in every dimension
    def side(seed, share):
        rng = np.random.default_rng(seed)
        y = rng.random(N * 20) < share
        few = Read("work", "x", [1, 2])
        return Run(one_function(few, Read("work", "y", y.astype(int)), samples=N * 20))

    ranking = rank([side(1, 0.5)], [side(2, 0.7)])
    one = next(one for one in ranking.functions if one.function.name == "work")
    # THEN the function's discount is the lower one, and its anomalous variable the other
    assert one.discount == 0.8
    assert (ranking.variables[one.variable].name, one.of_variable.anomalous) == ("y", True)
    assert one.of_variable.ratio > 0.8


def test_abnormal_values_and_their_place():
    ranking = ranked(between(0, 50), between(40, 90), roles="loop")
    found = abnormal_samples(ranking, ranking.functions[0])
    assert found.normal == (0, 49)
    assert found.abnormal == (50, 89)
    assert (found.read_at[0].line, found.read_at[0].block) == (20, 2)
    finding = findings(ranking)[0]
    assert (finding.rank, finding.pattern, finding.place.line) == (1, "scalability", 20)
    assert "50 .. 89, normally 0 .. 49" in finding.why


def test_all_readings_of_an_abnormal_stay_are_abnormal_samples():
    # GIVEN a value that normally changes at every sample, and once stays for eight, at lines 20, 21, 21, 21 ...
    def side(values, lines):
        return Run(one_function(Read("work", "x", values, roles="loop", lines=lines), samples=len(values)))

    steps = [*range(40)]
    good = side([*steps, *steps], [20] * 80)
    bad = side([*steps, *[7] * 8, *steps[20:]] * 4, [*[20] * 41, *[21] * 27] * 4)
    ranking = rank([good], [bad])
    one = replace(ranking.functions[0], of_variable=Discount(0.0, Dimension.DURATION, True))
    found = abnormal_samples(ranking, one)
    assert (found.normal, found.abnormal) == ((1, 1), (8, 8))
    assert [(place.line, place.share) for place in found.read_at] == [(21, 0.875), (20, 0.125)]


def test_where_nothing_was_read_normally_every_reading_is_abnormal():
    def side(*reads):
        return Run(one_function(Read("main", "n", np.arange(N) % 7), *reads, samples=N))

    ranking = rank([side()], [side(Read("work", "x", np.arange(N) % 9 + 3))])
    one = next(one for one in ranking.functions if one.function.name == "work")
    found = abnormal_samples(ranking, one)
    assert (found.normal, found.abnormal) == (None, (3, 11))
    why = next(finding.why for finding in findings(ranking) if finding.function.name == "work")
    assert "3 .. 11, normally never read" in why


def test_only_variables_that_vprof_would_monitor_are_looked_at():
    def variable(name, kind=ValueKind.SIGNED, roles="loop", function=1, file="a.c"):
        scope = "global" if function == GLOBAL else "local"
        return Variable(function, name, "", kind, scope, 0, frozenset(roles.split()), file, 1)

    wanted = [
        variable("n"),
        variable("limit", roles="", function=GLOBAL),
        variable("list", ValueKind.POINTER),
        variable("*total"),
        variable("unknown", roles="", file="b.c"),
    ]
    left_out = [
        variable("total", ValueKind.POINTER),  # points to a basic type: its target counts
        variable("*list", ValueKind.POINTER),
        variable("list->length"),
        variable("shop.count"),
        variable("rows", ValueKind.SIZE),
        variable("unused", roles=""),  # in a file whose uses are known
    ]
    assert monitored([*wanted, *left_out]) == list(range(len(wanted)))
