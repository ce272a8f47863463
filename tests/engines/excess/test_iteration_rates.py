"""A loop that does the rest of its rounds as ever goes round as often as ever."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.engines.made import recording
from whyperf.engines.excess.compare import DataEvidence, compare, weigh
from whyperf.engines.excess.iteration_rates import IterationRates
from whyperf.engines.excess.settings import ExcessSettings
from whyperf.engines.run import Run
from whyperf.recording.schemas.tables import Clock

OTHER_WORK = [(("main", "other"), 4.0)]
CALL, BESIDE = "plan@21*", "plan@22*"  # both in every round of the loop at line 20
IN_ROUNDS = {("plan", 21): 20, ("plan", 22): 20}


def shares(beside, *, in_rounds=IN_ROUNDS, calls=CALL, by=20.0, outside=0.0, abnormal=()):
    """Who answers when scan, called from plan's loop, takes longer; `beside`: what else good and bad runs do there;
    `outside`: what plan does outside of the loop; `abnormal`: functions whose data went wrong."""
    sides = []
    for scan, rest in zip((1.0, by), beside, strict=True):
        stacks = [*OTHER_WORK, (("main", "serve", calls, "scan*", "probe"), scan)]
        stacks += [(("main", "serve", BESIDE, "seal"), rest)] if rest else []
        stacks += [(("main", "serve", "plan@30"), outside)] if outside else []
        sides.append(Run(recording(stacks, decided=in_rounds, every_round=in_rounds)))
    excess = compare(sides[:1], sides[1:])
    keys = {function.key.name: function.key for function in excess.index.functions}
    excess = weigh(excess, DataEvidence({keys[name]: 1.0 for name in abnormal}, {}, set(), set()))
    return {excess.name(account.function): account.share for account in excess.accounts if account.share > 1e-9}


def test_then_growth_comes_in_with_the_callee():
    # GIVEN ten samples beside it, which take as long as ever
    found = shares((0.05, 0.05))
    assert found["scan"] == pytest.approx(0.5, abs=0.01) and "plan" not in found


def test_where_the_rest_has_grown_alike_the_loop_goes_round_more_often():
    assert shares((0.05, 1.0), outside=0.5)["plan"] > 0.7
    # BUT if it does nothing else as ever, it may be called more often itself
    assert shares((0.05, 1.0))["plan"] < 0.6


def test_what_more_rounds_explain_the_callees_data_do_not():
    # GIVEN an index that grows with the rounds of the loop which calls with it
    found = shares((0.05, 1.0), outside=0.5, abnormal=["scan"])
    assert found["plan"] > 0.6 and found["scan"] < 0.3
    # WHEN nothing shows that there are more rounds THEN they do
    assert shares((0.05, 0.05), abnormal=["scan"])["scan"] > 0.9


def test_rounds_that_were_too_few_to_be_seen_are_more_for_certain_when_many_are():
    explained = {rest: shares((0.0, rest), abnormal=["scan"]).get("scan", 0.0) for rest in (0.05, 0.1, 0.5)}
    assert explained[0.05] > explained[0.1] > explained[0.5]
    assert explained[0.5] < 0.01


@pytest.mark.parametrize(
    ("beside", "more"),
    [
        pytest.param((0.02, 0.02), {}, id="four-samples"),
        pytest.param((0.0, 0.0), {}, id="nothing-beside-it"),
        pytest.param((0.05, 0.05), {"by": 2.5}, id="growth-within-the-error"),
        pytest.param((0.05, 0.05), {"in_rounds": {("plan", 21): 20, ("plan", 22): 19}}, id="another-loop"),
        pytest.param((0.05, 0.05), {"in_rounds": {("plan", 22): 20}}, id="a-call-that-rounds-may-leave-out"),
        pytest.param((0.05, 0.05), {"calls": "plan@25*"}, id="a-call-of-which-nothing-is-known"),
    ],
)
def test_else_nothing_is_known_of_the_loop(beside, more):
    assert shares(beside, **more)["plan"] > 0.2


def test_lines_are_counted_from_the_declaration():
    # GIVEN a build in which the function stands ten lines further down
    def stacks(scan, down):
        return [
            *OTHER_WORK,
            (("main", "serve", f"plan@{21 + down}*", "scan*", "probe"), scan),
            (("main", "serve", f"plan@{22 + down}*", "seal"), 0.2),
        ]

    def run(scan, down):
        rounds = {("plan", 21 + down): 20 + down, ("plan", 22 + down): 20 + down}
        made = recording(stacks(scan, down), decided=rounds, every_round=rounds, declared={"plan": 15 + down})
        return Run(made)

    excess = compare([run(1.0, 0)], [run(20.0, 10)])
    assert not [one for one in excess.accounts if excess.name(one.function) == "plan" and one.share > 1e-9]


@pytest.mark.parametrize("weightless", [(0,), (1,), (0, 1)])
def test_samples_without_weight_tell_nothing(weightless):
    # GIVEN runs of which one side's samples stand for no time at all
    sides = []
    for number, scan in enumerate((1.0, 20.0)):
        stacks = [
            *OTHER_WORK,
            (("main", "serve", CALL, "scan*", "probe"), scan),
            (("main", "serve", BESIDE, "seal"), 0.5),
        ]
        made = recording(stacks, decided=IN_ROUNDS, every_round=IN_ROUNDS)
        if number in weightless:
            samples = made.tables["samples"]
            at = samples.schema.get_field_index("weight")
            none = pa.array([0] * samples.num_rows, pa.int64())
            made.tables["samples"] = samples.set_column(at, samples.schema.field(at), none)
        sides.append(Run(made))
    excess = compare(sides[:1], sides[1:])
    # THEN nobody knows how many rounds there were
    rounds = IterationRates(excess.index, excess.costs, dict.fromkeys(sides, 1.0), Clock.CPU, ExcessSettings())
    for node in range(1, len(excess.costs.tree.parent)):
        assert rounds.grown(node).least <= rounds.grown(node).most
        assert rounds.calls(node).least <= rounds.calls(node).most
