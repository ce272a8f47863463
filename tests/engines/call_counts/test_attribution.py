"""The excess is divided exactly, and among those who decide."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings

from tests.engines.call_counts.graphs import Pair, cost, matrix, pairs
from whyperf.engines.call_counts.attribution import Attribution, attribute
from whyperf.engines.call_counts.call_graph import CallGraph, Floats
from whyperf.engines.call_counts.changes import netted
from whyperf.engines.call_counts.parameters import Measured, Parameters, parameters


@given(pairs())
def test_solved_as_a_dense_system_is(pair: Pair) -> None:
    graph, given_ = pair.graph, pair.slow
    dense = np.eye(graph.functions) - matrix(graph, given_.calls)
    activations = graph.activations(given_.calls[:, None], given_.outside[:, None])[:, 0]
    costs = graph.total_costs(given_.calls[:, None], given_.self_cost[:, None])[:, 0]
    assert np.allclose(activations, np.linalg.solve(dense.T, given_.outside))
    assert np.allclose(costs, np.linalg.solve(dense, given_.self_cost))


@pytest.mark.thorough
@given(pairs())
def test_parts_add_up_to_the_excess(pair: Pair) -> None:
    found = attribute(pair.graph, pair.baseline, pair.slow)
    assert found.slow == pytest.approx(cost(pair.graph, pair.slow))
    assert found.attributed == pytest.approx(found.excess, rel=1e-5, abs=1e-5 * max(found.slow, found.baseline, 1e-9))


@pytest.mark.thorough
@given(pairs())
def test_the_other_way_round_only_signs_change(pair: Pair) -> None:
    there = attribute(pair.graph, pair.baseline, pair.slow)
    back = attribute(pair.graph, pair.slow, pair.baseline)
    size = max(there.slow, there.baseline, 1e-9)
    for one, other in ((there.calls, back.calls), (there.self_cost, back.self_cost), (there.outside, back.outside)):
        assert np.allclose(one, -other, atol=1e-5 * size)


@pytest.mark.thorough
@given(pairs())
def test_what_did_not_change_has_no_part(pair: Pair) -> None:
    found = attribute(pair.graph, pair.baseline, pair.slow)
    assert not found.calls[pair.baseline.calls == pair.slow.calls].any()
    assert not found.self_cost[pair.baseline.self_cost == pair.slow.self_cost].any()
    same = attribute(pair.graph, pair.slow, pair.slow)
    assert same.attributed == same.excess == 0.0


@pytest.mark.thorough
@settings(max_examples=30)
@given(pairs())
def test_against_small_steps(pair: Pair) -> None:
    """The same path, walked in steps so small that half as large ones change little: in each, every parameter is moved
    alone and the cost is computed anew."""
    found = attribute(pair.graph, pair.baseline, pair.slow)
    ours = np.concatenate((found.calls, found.self_cost, found.outside))
    steps, before, walked = 60, np.full(len(ours), np.inf), np.concatenate(small_steps(pair, 60))
    # Parts may be far larger than their sum; the steps' error grows with them.
    while not np.allclose(before, walked, atol=0.02 * np.abs(walked).max()):
        assert steps < 2000
        steps, before = 2 * steps, walked
        walked = np.concatenate(small_steps(pair, steps))
    assert np.allclose(ours, walked, atol=0.02 * np.abs(walked).max())


def small_steps(pair: Pair, steps: int) -> list[Floats]:
    graph = pair.graph

    def at(leg: int, way: float) -> list[Floats]:
        values = []
        for before, after in zip(columns(pair.baseline), columns(pair.slow), strict=True):
            both = (before > 0) & (after > 0)
            gone = np.where(~both & (before > 0), before * ((1 - way) if leg == 0 else 0.0), 0.0)
            came = np.where(~both & (after > 0), after * (way if leg == 2 else 0.0), 0.0)
            share = (0.0, way, 1.0)[leg]
            kept = np.where(both, np.where(both, before, 1.0) ** (1 - share) * np.where(both, after, 1.0) ** share, 0.0)
            values.append(kept + gone + came)
        return values

    def evenly(leg: int, way: float) -> list[Floats]:
        """Within circles: calls per activation where both change linearly between the ends of the leg."""
        values, ends = at(leg, way), [at(leg, end) for end in (0.0, 1.0)]
        runs = [np.linalg.solve(np.eye(graph.functions) - matrix(graph, one[0]).T, one[2]) for one in ends]
        for site in (int(one) for circle in graph.circles for one in circle):
            weights = [part * run[graph.caller[site]] for part, run in zip((1 - way, way), runs, strict=True)]
            if sum(weights) > 0:
                values[0][site] = np.average([one[0][site] for one in ends], weights=weights)
            else:
                values[0][site] = (1 - way) * ends[0][0][site] + way * ends[1][0][site]
        return values

    parts = [np.zeros(len(column)) for column in columns(pair.baseline)]
    for leg in range(3):
        for step in range(steps):
            # Closer together at the ends, where calls within circles may change fast: that changes no integral.
            here, there = (evenly(leg, (1 - math.cos(math.pi * one / steps)) / 2) for one in (step, step + 1))
            middle = [(a + b) / 2 for a, b in zip(here, there, strict=True)]
            for kind in range(3):
                for number in np.flatnonzero(here[kind] != there[kind]):
                    ends = []
                    for end in (here, there):
                        moved = [column.copy() for column in middle]
                        moved[kind][number] = end[kind][number]
                        ends.append(cost(pair.graph, Parameters(*moved)))
                    parts[kind][number] += ends[1] - ends[0]
    return parts


def columns(given_: Parameters) -> tuple[Floats, Floats, Floats]:
    return given_.calls, given_.self_cost, given_.outside


class Program:
    """Functions and sites by name: what was counted in both runs."""

    def __init__(self, *sites: tuple[str, str]) -> None:
        self.names = sorted({name for site in sites for name in site})
        number = {name: i for i, name in enumerate(self.names)}
        self.sites = list(sites)
        self.graph = CallGraph(
            len(self.names), np.array([number[f] for f, _ in sites]), np.array([number[g] for _, g in sites])
        )

    def measured(self, calls: list[float], seconds: dict[str, float], outside: dict[str, float]) -> Measured:
        made = np.array(calls, float)
        entered = np.array([outside.get(name, 0.0) for name in self.names])
        np.add.at(entered, self.graph.callee, made)
        return Measured(entered, made, np.array([seconds.get(name, 0.0) for name in self.names]))

    def shares(self, found: Attribution) -> dict[str, float]:
        rows = {f"{f} -> {g}": found.calls[i] for i, (f, g) in enumerate(self.sites)}
        rows |= {name: found.self_cost[i] for i, name in enumerate(self.names)}
        rows |= {f"outside {name}": found.outside[i] for i, name in enumerate(self.names)}
        return {name: value / found.excess for name, value in rows.items() if abs(value) > 1e-9}


def divided(program: Program, baseline: Measured, slow: Measured) -> dict[str, float]:
    return program.shares(attribute(program.graph, *parameters(program.graph, baseline, slow)))


def test_who_calls_more_often_is_blamed_and_not_the_helper() -> None:
    program = Program(("main", "plan"), ("plan", "flush"), ("main", "report"), ("report", "flush"))
    baseline = program.measured([1, 10, 1, 10], {"flush": 2.0, "plan": 0.1}, {"main": 1})
    slow = program.measured([1, 990, 1, 10], {"flush": 100.0, "plan": 0.1}, {"main": 1})
    shares = divided(program, baseline, slow)
    assert shares == {"plan -> flush": pytest.approx(1.0)}


def test_slower_code_is_blamed_and_not_its_callers() -> None:
    program = Program(("main", "serve"), ("serve", "hash"))
    baseline = program.measured([5, 50], {"hash": 1.0, "serve": 1.0}, {"main": 1})
    slow = program.measured([5, 50], {"hash": 9.0, "serve": 1.0}, {"main": 1})
    assert divided(program, baseline, slow) == {"hash": pytest.approx(1.0)}


def test_a_function_that_is_called_only_now_is_its_callers_doing() -> None:
    # `serve` calls `verify` only now; what `verify` does in a call nobody can compare
    program = Program(("main", "serve"), ("serve", "verify"), ("verify", "hash"), ("serve", "hash"))
    baseline = program.measured([5, 0, 0, 50], {"hash": 1.0}, {"main": 1})
    slow = program.measured([5, 5, 500, 50], {"hash": 11.0, "verify": 1.0}, {"main": 1})
    assert divided(program, baseline, slow) == {"serve -> verify": pytest.approx(1.0)}


def test_more_work_from_outside() -> None:
    program = Program(("request", "parse"))
    baseline = program.measured([100], {"parse": 1.0}, {"request": 100})
    slow = program.measured([300], {"parse": 3.0}, {"request": 300})
    assert divided(program, baseline, slow) == {"outside request": pytest.approx(1.0)}


def test_calls_that_change_their_direction_do_not_diverge() -> None:
    program = Program(("main", "f"), ("main", "g"), ("f", "g"), ("g", "f"))
    baseline = program.measured([1, 1, 10, 0], {"f": 1.0, "g": 11.0}, {"main": 1})
    slow = program.measured([1, 1, 0, 40], {"f": 41.0, "g": 1.0}, {"main": 1})
    shares = divided(program, baseline, slow)
    assert sum(shares.values()) == pytest.approx(1.0)
    assert shares["g -> f"] == pytest.approx(40 / 30) and shares["f -> g"] == pytest.approx(-10 / 30)


def test_deeper_recursion_is_the_recursive_sites_doing() -> None:
    program = Program(("main", "walk"), ("walk", "walk"))
    baseline = program.measured([1, 9], {"walk": 1.0}, {"main": 1})
    slow = program.measured([1, 999], {"walk": 100.0}, {"main": 1})
    assert divided(program, baseline, slow) == {"walk -> walk": pytest.approx(1.0)}


def test_a_sort_that_recurses_as_often_by_another_of_its_calls_is_no_change() -> None:
    # GIVEN a sort whose two recursive calls divide its work otherwise, and a comparison that really takes longer
    program = Program(("main", "sort"), ("sort", "sort"), ("sort", "sort"), ("sort", "less"))
    many = 100_000.0
    baseline = program.measured([1, 0.53 * many, 0.47 * many, 17 * many], {"sort": 1.0, "less": 2.0}, {"main": 1})
    slow = program.measured([1, 0.56 * many, 0.44 * many, 17 * many], {"sort": 1.0, "less": 9.0}, {"main": 1})
    found = attribute(program.graph, *parameters(program.graph, baseline, slow))
    after = netted(program.graph, found)
    assert after.self_cost[program.names.index("less")] / after.excess == pytest.approx(1.0, abs=0.01)
    assert np.abs(after.calls / after.excess).max() < 0.01
    assert after.attributed == pytest.approx(after.excess)


# A log replayer whose window shrank to nothing: what was counted and sampled of it (seconds).
REPLAYER = Program(
    ("main", "plan"), ("plan", "apply"), ("plan", "flush"), ("apply", "mix"), ("flush", "checksum"), ("main", "mix")
)
REPLAYED = (
    REPLAYER.measured(
        [60, 60 * 71, 60 * 71, 60 * 71 * 338, 60 * 71 * 20, 60],
        {"apply": 0.4, "mix": 1.0, "flush": 0.05, "checksum": 0.1},
        {"main": 1},
    ),
    REPLAYER.measured(
        [60, 60 * 24_000, 60 * 24_000, 60 * 24_000, 60 * 24_000 * 5, 60],
        {"apply": 0.4, "mix": 1.0, "flush": 12.0, "checksum": 8.4},
        {"main": 1},
    ),
)


def test_work_in_smaller_pieces_is_netted() -> None:
    graph = REPLAYER.graph
    found = attribute(graph, *parameters(graph, *REPLAYED))
    before, after = REPLAYER.shares(found), REPLAYER.shares(netted(graph, found))
    # `apply` is called 338 times as often and does as much less each time: that cancels
    assert before["plan -> apply"] > 0.15
    assert abs(after.get("plan -> apply", 0.0)) < 0.02
    assert max(after, key=lambda name: after[name]) == "plan -> flush"
    assert sum(after.values()) == pytest.approx(1.0)


@pytest.mark.thorough
@given(pairs())
def test_netting_keeps_the_sum_and_adds_no_blame(pair: Pair) -> None:
    found = attribute(pair.graph, pair.baseline, pair.slow)
    after = netted(pair.graph, found)
    size = max(found.slow, found.baseline, 1e-9)
    assert after.attributed == pytest.approx(found.attributed, abs=1e-9 * size, rel=1e-6)
    for one, other in ((found.calls, after.calls), (found.self_cost, after.self_cost)):
        assert (np.abs(other) <= np.abs(one) * (1 + 1e-9) + 1e-12).all()
        assert (one * other >= 0).all()


@given(pairs())
def test_parameters_give_back_what_was_measured(pair: Pair) -> None:
    graph = pair.graph
    sides = []
    for given_ in (pair.baseline, pair.slow):
        entered = graph.activations(given_.calls[:, None], given_.outside[:, None])[:, 0]
        sides.append(Measured(entered, entered[graph.caller] * given_.calls, entered * given_.self_cost))
    for known, made in zip(sides, parameters(graph, *sides), strict=True):
        entered = graph.activations(made.calls[:, None], made.outside[:, None])[:, 0]
        assert np.allclose(entered, known.activations, rtol=1e-6, atol=1e-6 * known.activations.max(initial=1.0))
        total = float(known.self_cost.sum())
        assert cost(graph, made) == pytest.approx(total, rel=1e-6, abs=1e-6 * max(total, 1.0))
