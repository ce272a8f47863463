"""Numbers of one verdict agree, in JSON, terminal and page, whatever was recorded."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tests.engines.made import Made, recording
from whyperf.diagnose.diagnosis import diagnose
from whyperf.diagnose.origin import Proof, ProofFinding, ProofMeans, Share
from whyperf.diagnose.verdict import Verdict
from whyperf.engines.quantities import percent, seconds
from whyperf.investigation.cause import with_proofs
from whyperf.report.html.build import page_model
from whyperf.report.html.examined import Examined
from whyperf.report.json import to_json
from whyperf.report.terminal import show

FUNCTIONS = ["a", "b", "c", "d", "e", "libc:memcpy", "libc:malloc"]
NOISE = (1.0, 1.02, 0.98)
STATED = re.compile(r"([\d.,]+ (?:s|ms|µs|ns))\b")
SLIGHTLY = 0.06

frame = st.builds("{}@{}".format, st.sampled_from(FUNCTIONS), st.integers(2, 9))
stack = st.lists(frame, min_size=1, max_size=4).map(lambda frames: ("main@1", *frames))
cost = st.sampled_from([0.01, 0.1, 0.5, 1.0, 2.0, 5.0])
grown = st.tuples(stack, cost, st.sampled_from([0.2, 0.5, 1.0, 1.0, 2.0, 5.0]))
recorded = st.tuples(
    st.lists(grown, min_size=1, max_size=7), st.lists(st.tuples(stack, cost), max_size=2)
)  # what both kinds do, and what only bad runs do


def verdict_of(program: Any) -> tuple[Verdict, list[Made], list[Made]]:
    shared, added = program

    def runs(stacks: Any) -> list[Made]:
        return [recording([(frames, spent * noise) for frames, spent in stacks]) for noise in NOISE]

    good = runs([(frames, spent) for frames, spent, _ in shared])
    bad = runs([*((frames, spent * factor) for frames, spent, factor in shared), *added])
    verdict = diagnose(good, bad)
    assume(verdict.suspects)
    return verdict, good, bad


SET_OFF = ([(("main@1", "a@2"), 2.0, 2.0), (("main@1", "b@3"), 5.0, 0.5), (("main@1", "c@4"), 5.0, 2.0)], [])


@pytest.mark.thorough
@settings(max_examples=60, deadline=None)
@given(recorded)
@example(SET_OFF)
def test_shares_sentences_and_runs_use_the_same_figures(program: Any) -> None:
    verdict, good, bad = verdict_of(program)
    plain = json.loads(to_json(verdict))
    assert sum(one["share"] for one in plain["suspects"]) <= 1.0 + 1e-9
    excess = plain["symptom"]["bad"] - plain["symptom"]["good"]
    for one in plain["suspects"]:
        _check_suspect(one, excess)
    _check_terminal(verdict, plain)
    _check_page(verdict, plain, Examined(good, bad))


@pytest.mark.thorough
@settings(max_examples=30, deadline=None)
@given(recorded, st.floats(-0.2, 1.2), st.integers(0, 9), st.booleans())
def test_who_is_proven_answers_for_what_the_proof_took_away(
    program: Any, removed: float, whom: int, is_suspected: bool
) -> None:
    verdict, good, bad = verdict_of(program)
    named = verdict.suspects[whom % len(verdict.suspects)].function if is_suspected else "somebody_else"
    proof = Proof(
        ProofFinding.PROVEN, ProofMeans.FUNCTION, named, "tool", "/src/t.c", 9, named, "", "",
        Share(removed, removed - 0.1, removed + 0.1), None, None, 3, "cpu_s", "Said.",
    )  # fmt: skip
    proven = with_proofs(verdict, [proof])
    plain = json.loads(to_json(proven))
    first = plain["suspects"][0]
    assert (first["function"], first["share"]) == (named, pytest.approx(min(1.0, max(0.0, removed))))
    assert sum(one["share"] for one in plain["suspects"]) <= 1.0 + 1e-9
    for one in plain["suspects"]:
        detail = one["evidence"][0]["detail"]
        assert one["share"] > 0 or "good_runs" not in detail
        low, high = detail.get("interval", (0.0, 1.0))
        assert low <= one["share"] + 1e-9 and one["share"] <= high + 1e-9
    _check_terminal(proven, plain)
    _check_page(proven, plain, Examined(good, bad))


def _check_suspect(one: dict[str, Any], excess: float) -> None:
    detail = one["evidence"][0]["detail"]
    # THEN the share is that of the seconds that it answers for
    assert np.isclose(one["share"] * excess, detail["charged_s"], rtol=0.1, atol=0.02 * abs(excess))
    # THEN runs are only shown where they say the same as the share: more
    if "good_runs" in detail:
        assert np.mean(detail["bad_runs"]) > np.mean(detail["good_runs"])
        assert one["share"] > 0
    # THEN the sentence states what it answers for, or a growth that is as much
    growths = {
        "own": detail["bad_self_s"] - detail["good_self_s"],
        "inclusive": detail["bad_inclusive_s"] - detail["good_inclusive_s"],
    }
    stated = seconds(detail["charged_s"]) in STATED.findall(one["why"])
    alike = any(abs(growth - detail["charged_s"]) <= SLIGHTLY * abs(growth) for growth in growths.values())
    is_others = "other functions are charged with it" in one["why"] or "go there" in one["why"]
    assert stated or alike or is_others, one["why"]


def _check_terminal(verdict: Verdict, plain: dict[str, Any]) -> None:
    out = io.StringIO()
    show(verdict, file=out, width=160, colour=False)
    shown = out.getvalue()
    for one in plain["suspects"][:3]:
        row = next(
            line for line in shown.splitlines() if re.match(rf" +{one['rank']}  {re.escape(one['function'])} ", line)
        )
        assert f" {percent(one['share'])} " in row


def _check_page(verdict: Verdict, plain: dict[str, Any], examined: Examined) -> None:
    page = page_model(verdict, examined).verdict
    assert page is not None
    assert [one.share for one in page.suspects] == [one["share"] for one in plain["suspects"]]
    assert [one.why for one in page.suspects] == [one["why"] for one in plain["suspects"]]
    assert (page.good, page.bad) == (plain["symptom"]["good"], plain["symptom"]["bad"])
    for shown, told in zip(page.suspects, plain["suspects"], strict=True):
        runs = told["evidence"][0]["detail"].get("bad_runs")
        assert (shown.runs is None) == (runs is None)
        assert shown.runs is None or list(shown.runs.bad) == runs
