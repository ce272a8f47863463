"""What a trial may be said to have shown."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whyperf.diagnose.origin import ProofFinding, ProofMeans
from whyperf.proof.guards import Checked, GuardReason
from whyperf.proof.judging import ProofJudgement, judged, shares_of
from whyperf.proof.sentences import ProofClaim, sentence_of
from whyperf.proof.trial import RunEnding, TrialKind, TrialRun

CLAIM = ProofClaim("plan_batches", "orders", "orders.c", 167, "size_window()", "2,731", "0")
TRUE = {
    TrialKind.GOOD: (1.0, 1.02, 0.99),
    TrialKind.BAD: (3.0, 3.1, 2.95),
    TrialKind.FORCED: (1.05, 1.01, 1.1),
    TrialKind.SHAM: (3.05, 2.98, 3.02),
    TrialKind.REVERSE: (2.8, 2.9, 2.95),
}


def runs_of(changed: dict[TrialKind, tuple[float, ...]] | None = None) -> dict[TrialKind, list[TrialRun]]:
    amounts = {**TRUE, **(changed or {})}
    outputs = {TrialKind.GOOD: "good", TrialKind.REVERSE: "good"}
    return {
        kind: [
            TrialRun(amount, 0, output=outputs.get(kind, "bad"), shape=outputs.get(kind, "bad")) for amount in values
        ]
        for kind, values in amounts.items()
    }


def finding(runs: dict[TrialKind, list[TrialRun]], **wishes: bool) -> tuple[ProofFinding, GuardReason | None]:
    found = judged(runs, **wishes)
    return found.finding, found.reason


def _changed(kind: TrialKind, **fields: object) -> dict[TrialKind, list[TrialRun]]:
    runs = runs_of()
    return {**runs, kind: [replace(run, **fields) for run in runs[kind]]}  # type: ignore[arg-type]


def test_a_cause_is_proven_and_said_so() -> None:
    judgement = judged(runs_of())
    assert judgement.finding is ProofFinding.PROVEN and judgement.is_final
    said = sentence_of(CLAIM, judgement, "cpu_s")
    assert said.startswith("Proven: with `size_window()` forced to 2,731 in the bad run, 98% (")
    assert (
        "of the excess is gone; writing back its own value changes nothing; forcing 0 in the good run makes 95%" in said
    )


def test_what_removes_nothing_is_refuted() -> None:
    runs = runs_of({TrialKind.FORCED: (3.0, 3.05, 2.96), TrialKind.REVERSE: (1.0, 1.01, 1.03)})
    assert finding(runs) == (ProofFinding.REFUTED, None)
    assert sentence_of(CLAIM, judged(runs), "cpu_s").startswith("Refuted: with `size_window()` forced to 2,731")


def test_without_its_reverse_it_is_only_supported() -> None:
    judgement = judged(runs_of({TrialKind.REVERSE: (1.0, 1.01, 1.03)}))
    assert judgement.finding is ProofFinding.SUPPORTED and not judgement.is_final
    assert finding(_changed(TrialKind.REVERSE, output="other", shape="other")) == (ProofFinding.SUPPORTED, None)
    assert finding(_changed(TrialKind.REVERSE, ending=RunEnding.CRASHED, status=139)) == (ProofFinding.SUPPORTED, None)


@pytest.mark.parametrize("kind", list(TrialKind))
def test_nothing_is_proven_where_a_run_crashed(kind: TrialKind) -> None:
    runs = runs_of()
    crashed = replace(runs[kind][1], ending=RunEnding.CRASHED, status=139, amount=0.01)
    found, reason = finding({**runs, kind: [runs[kind][0], crashed, runs[kind][2]]})
    assert found is not ProofFinding.PROVEN
    assert kind is not TrialKind.FORCED or reason is GuardReason.CRASHED


def test_a_crash_is_told_at_once() -> None:
    runs = {kind: some[:1] for kind, some in _changed(TrialKind.FORCED, ending=RunEnding.CRASHED, status=139).items()}
    judgement = judged(runs)
    assert judgement.reason is GuardReason.CRASHED and judgement.is_final
    assert (
        sentence_of(CLAIM, judgement, "cpu_s")
        == "Not testable: with `size_window()` forced to 2,731 in the bad run, it crashes."
    )


def test_other_output_is_no_proof() -> None:
    assert finding(_changed(TrialKind.FORCED, output="other", shape="other")) == (
        ProofFinding.NOT_TESTABLE,
        GuardReason.OUTPUT,
    )
    assert finding(_changed(TrialKind.FORCED, status=1)) == (ProofFinding.NOT_TESTABLE, GuardReason.OUTPUT)
    assert finding(_changed(TrialKind.FORCED, ending=RunEnding.STOPPED)) == (
        ProofFinding.NOT_TESTABLE,
        GuardReason.STOPPED,
    )
    assert finding(_changed(TrialKind.SHAM, output="other", shape="other")) == (
        ProofFinding.NOT_TESTABLE,
        GuardReason.FRAGILE,
    )


def test_the_input_that_differs_is_a_trigger() -> None:
    becomes_good = _changed(TrialKind.FORCED, output="good", shape="good")
    assert finding(becomes_good) == (ProofFinding.TRIGGER, None)
    assert finding(runs_of(), from_outside=True) == (ProofFinding.TRIGGER, None)
    assert sentence_of(CLAIM, judged(becomes_good), "cpu_s").endswith(
        " of the excess is gone, but with it, the program's output becomes the good run's, so this may be what the "
        "program is asked to do rather than a mistake."
    )


def test_a_trigger_says_why_it_is_one() -> None:
    def said(runs: dict[TrialKind, list[TrialRun]], **claimed: object) -> str:
        claim = replace(CLAIM, **claimed)  # type: ignore[arg-type]
        found = judged(runs, from_outside=claim.from_outside)
        assert found.finding is ProofFinding.TRIGGER
        return sentence_of(claim, found, "cpu_s").partition(" of the excess is gone, but ")[2]

    becomes_good = _changed(TrialKind.FORCED, output="good", shape="good")
    asked = "so this may be what the program is asked to do rather than a mistake."
    handed_on = "it comes straight from outside: this is the input that differs, not the mistake."
    assert said(runs_of(), from_outside=True) == said(becomes_good, from_outside=True) == handed_on
    # ... a condition is no value that could come from outside
    decision = {"from_outside": True, "means": ProofMeans.DECISION}
    assert said(runs_of(), **decision) == f"its condition tests a value that comes straight from outside, {asked}"
    # ... nor is what the program makes of the input right where it reads it
    made = {"from_outside": True, "is_made": True}
    assert said(runs_of(), **made) == f"it is made directly from the input, {asked}"
    made_decision = {**made, "means": ProofMeans.DECISION}
    assert said(runs_of(), **made_decision).startswith(
        "its condition tests a value that is made directly from the input"
    )
    assert said(becomes_good, **made) == f"with it, the program's output becomes the good run's, {asked}"


def test_a_program_that_always_crashes_is_no_fragile_one() -> None:
    def said(*crashing: TrialKind, status: int = 134) -> str:
        runs = {
            kind: [replace(run, ending=RunEnding.CRASHED, status=status) for run in some] if kind in crashing else some
            for kind, some in runs_of().items()
        }
        found = judged({kind: some[:2] if kind in crashing else [] for kind, some in runs.items()} | _usual(runs))
        assert found.is_stopped
        return sentence_of(CLAIM, found, "cpu_s")

    def _usual(runs: dict[TrialKind, list[TrialRun]]) -> dict[TrialKind, list[TrialRun]]:
        return {kind: runs[kind][:2] for kind in (TrialKind.GOOD, TrialKind.BAD)}

    no_other = "so a forced crash could not be told from its own."
    assert said(*TrialKind) == f"Not testable: it ends by SIGABRT in every run, {no_other}"
    assert said(TrialKind.BAD, TrialKind.FORCED, status=139) == (
        f"Not testable: it ends by SIGSEGV in every bad run, {no_other}"
    )
    assert said(TrialKind.GOOD) == f"Not testable: it ends by SIGABRT in every good run, {no_other}"


def test_a_forced_run_that_was_stopped_says_when() -> None:
    runs = _changed(TrialKind.FORCED, ending=RunEnding.STOPPED, limit_s=18.6)
    runs = {**runs, TrialKind.BAD: [replace(run, wall_s=3.1) for run in runs[TrialKind.BAD]]}
    assert sentence_of(CLAIM, judged(runs), "cpu_s") == (
        "Not testable: with `size_window()` forced to 2,731 in the bad run, it did not end within 18.6 s (the bad run "
        "takes 3.10 s)."
    )


def test_what_was_not_forced_in_good_runs_is_not_counted_as_a_reverse() -> None:
    # GIVEN reverse runs that are as slow as bad ones by chance, but did not come to the place
    judgement = judged(_changed(TrialKind.REVERSE, is_reached=False))
    assert judgement.finding is ProofFinding.SUPPORTED
    assert sentence_of(CLAIM, judgement, "cpu_s").endswith(
        "; this place is not reached in good runs, so that nothing could be forced there."
    )


def test_other_work_is_no_proof() -> None:
    runs = {kind: [replace(run, work=100.0) for run in some] for kind, some in runs_of().items()}
    assert finding(runs) == (ProofFinding.PROVEN, None)
    fewer = {**runs, TrialKind.FORCED: [replace(run, work=50.0) for run in runs[TrialKind.FORCED]]}
    assert finding(fewer) == (ProofFinding.NOT_TESTABLE, GuardReason.WORK)


def test_output_that_differs_from_run_to_run_checks_nothing() -> None:
    """Its numbers aside, it may; what is checked is said."""
    runs = runs_of()
    numbered = {kind: [replace(run, output=f"{n}") for n, run in enumerate(some)] for kind, some in runs.items()}
    judgement = judged({**numbered, **{kind: numbered[kind] for kind in (TrialKind.GOOD, TrialKind.REVERSE)}})
    assert (judgement.finding, judgement.checked) == (ProofFinding.PROVEN, Checked.SHAPE)
    wild = {
        kind: [replace(run, output=f"{n}", shape=f"{n}") for n, run in enumerate(some)] for kind, some in runs.items()
    }
    judgement = judged(wild)
    assert (judgement.finding, judgement.checked) == (ProofFinding.SUPPORTED, Checked.NOTHING)
    assert "nothing shows that the same work was done" in sentence_of(CLAIM, judgement, "cpu_s")


def _first(count: int, runs: dict[TrialKind, list[TrialRun]]) -> dict[TrialKind, list[TrialRun]]:
    return {kind: some[:count] for kind, some in runs.items()}


def test_a_first_look_tells_clear_cases_only() -> None:
    assert finding(_first(2, runs_of())) == (ProofFinding.PROVEN, None)
    innocent = runs_of({TrialKind.FORCED: (3.0, 3.05, 2.96), TrialKind.REVERSE: (1.0, 1.01, 1.03)})
    assert finding(_first(2, innocent)) == (ProofFinding.REFUTED, None)
    unclear = (ProofFinding.NOT_TESTABLE, GuardReason.TOO_FEW)
    assert finding(_first(2, runs_of({TrialKind.REVERSE: (1.0, 1.01, 1.03)}))) == unclear
    assert not judged(_first(2, runs_of({TrialKind.REVERSE: (1.0, 1.01, 1.03)}))).is_final
    assert finding(_first(2, runs_of()), from_outside=True) == (ProofFinding.TRIGGER, None)
    half = runs_of({TrialKind.FORCED: (1.7, 2.2, 1.8)})
    assert finding(_first(2, half), from_outside=True) == unclear


def test_what_needs_no_reverse_runs_is_told_without_them() -> None:
    def without(runs: dict[TrialKind, list[TrialRun]]) -> dict[TrialKind, list[TrialRun]]:
        return {**runs, TrialKind.REVERSE: []}

    innocent = runs_of({TrialKind.FORCED: (3.0, 3.05, 2.96)})
    assert finding(without(innocent)) == (ProofFinding.REFUTED, None)
    assert finding(without(runs_of()), from_outside=True) == (ProofFinding.TRIGGER, None)
    assert finding(without(runs_of())) == (ProofFinding.NOT_TESTABLE, GuardReason.TOO_FEW)


def test_other_output_is_told_at_once() -> None:
    """As soon as two good and two bad runs say what is usual."""
    runs = _changed(TrialKind.FORCED, output="other", shape="other")
    usual = {kind: runs[kind][:2] for kind in (TrialKind.GOOD, TrialKind.BAD)}
    none = {kind: list[TrialRun]() for kind in TrialKind}
    judgement = judged({**none, **usual, TrialKind.FORCED: runs[TrialKind.FORCED][:1]})
    assert judgement.reason is GuardReason.OUTPUT and judgement.is_stopped
    unknown = {kind: some[:1] for kind, some in usual.items()}
    assert not judged({**none, **unknown, TrialKind.FORCED: runs[TrialKind.FORCED][:1]}).is_final


@pytest.mark.parametrize(
    ("measure", "named"),
    [
        ("cpu_s", "CPU time"),
        ("wall_s", "elapsed time"),
        ("latency_p99_s", "p99 latency"),
        ("peak_bytes", "peak memory"),
    ],
)
def test_runs_that_do_not_differ_enough_say_in_what(measure: str, named: str) -> None:
    # GIVEN runs whose elapsed time may well differ
    small = judged(runs_of({kind: tuple(1 + value / 50 for value in values) for kind, values in TRUE.items()}))
    assert small.reason is GuardReason.NO_EXCESS
    assert sentence_of(CLAIM, small, measure) == (
        f"Not testable: the runs of this trial do not differ enough: the {named} of bad runs is hardly higher than "
        "that of good runs, or not in every run."
    )
    unknown = judged(_changed(TrialKind.FORCED, amount=math.nan))
    assert sentence_of(CLAIM, unknown, measure) == f"Not testable: not every run reports its {named}."


def test_too_small_an_excess_too_few_runs_and_costly_forcing() -> None:
    small = runs_of({kind: tuple(1 + value / 50 for value in values) for kind, values in TRUE.items()})
    assert finding(small) == (ProofFinding.NOT_TESTABLE, GuardReason.NO_EXCESS)
    assert finding(_first(1, runs_of())) == (ProofFinding.NOT_TESTABLE, GuardReason.TOO_FEW)
    costly = runs_of({TrialKind.SHAM: (4.0, 4.1, 4.2)})
    assert finding(costly) == (ProofFinding.NOT_TESTABLE, GuardReason.SHAM)
    half = runs_of({TrialKind.FORCED: (2.4, 2.3, 2.5)})
    assert finding(half) == (ProofFinding.NOT_TESTABLE, GuardReason.UNDECIDED)


@given(st.lists(st.floats(0.01, 1e4), min_size=15, max_size=15))
@settings(max_examples=200)
def test_any_numbers_are_judged_and_put_into_words(values: list[float]) -> None:
    runs = runs_of({kind: tuple(values[3 * n : 3 * n + 3]) for n, kind in enumerate(TrialKind)})
    judgement = judged(runs)
    assert sentence_of(CLAIM, judgement, "cpu_s").endswith(".")
    if judgement.finding is ProofFinding.PROVEN:
        fast = max(run.amount for kind in (TrialKind.GOOD, TrialKind.FORCED) for run in runs[kind])
        assert fast < min(run.amount for kind in (TrialKind.BAD, TrialKind.SHAM) for run in runs[kind])


@given(st.integers(0, 2**32), st.sampled_from([0.01, 0.1, 0.3, 0.6]), st.sampled_from([3, 5]))
@settings(max_examples=60)
def test_shares_of_what_costs_the_same_in_every_run_are_within_their_intervals(
    seed: int, spread: float, count: int
) -> None:
    runs = _noise(seed, spread, count, innocent=True)
    shares = shares_of(runs)
    for share in (shares.removed, shares.sham, shares.reverse):
        assert share.low <= share.value <= share.high


def _noise(seed: int, spread: float, count: int, *, innocent: bool) -> dict[TrialKind, list[TrialRun]]:
    """No difference at all; or, if innocent, one that forcing does not touch. Spreads as on a busy machine."""
    random = np.random.default_rng(seed)
    centre = dict.fromkeys(TrialKind, 1.0)
    if innocent:
        centre |= {TrialKind.BAD: 2.0, TrialKind.FORCED: 2.0, TrialKind.SHAM: 2.0}
    return runs_of({kind: tuple(centre[kind] * np.exp(random.normal(0, spread, count))) for kind in TrialKind})


@pytest.mark.parametrize("innocent", [False, True])
@pytest.mark.parametrize("spread", [0.02, 0.15, 0.4])
def test_same_distributions_are_practically_never_proven(spread: float, innocent: bool) -> None:
    """Of 300 trials, a third of them with five runs."""
    found: Counter[ProofFinding] = Counter()
    for seed in range(300):
        found[judged(_noise(seed, spread, 5 if seed % 3 == 0 else 3, innocent=innocent)).finding] += 1
    assert found[ProofFinding.PROVEN] <= 1, found
    assert found[ProofFinding.PROVEN] + found[ProofFinding.TRIGGER] + found[ProofFinding.SUPPORTED] <= 3, found


@pytest.mark.parametrize("innocent", [False, True])
@pytest.mark.parametrize("spread", [0.02, 0.15, 0.4])
def test_looking_after_every_round_proves_noise_no_more_often(spread: float, innocent: bool) -> None:
    proven = 0
    for seed in range(300):
        runs = _noise(seed, spread, 5, innocent=innocent)
        proven += _told(runs) is ProofFinding.PROVEN
    assert proven <= 1


@pytest.mark.parametrize("spread", [0.02, 0.15])
def test_an_input_that_removes_nothing_is_no_trigger_by_noise(spread: float) -> None:
    noises = (_noise(seed, spread, 5, innocent=True) for seed in range(300))
    assert sum(_told(runs, from_outside=True) is ProofFinding.TRIGGER for runs in noises) == 0


def _told(runs: dict[TrialKind, list[TrialRun]], *, from_outside: bool = False) -> ProofFinding | None:
    """By the first look that is final; None: by none."""
    looks = (judged(_first(count, runs), from_outside=from_outside) for count in range(2, 6))
    return next((one.finding for one in looks if one.is_final), None)


@pytest.mark.parametrize("spread", [0.02, 0.1])
def test_a_cause_is_hardly_ever_refuted_by_a_first_look(spread: float) -> None:
    random, refuted = np.random.default_rng(3), 0
    centre = dict.fromkeys(TrialKind, 2.0) | dict.fromkeys((TrialKind.GOOD, TrialKind.FORCED), 1.0)
    for _ in range(300):
        noise = {kind: tuple(centre[kind] * np.exp(random.normal(0, spread, 2))) for kind in TrialKind}
        refuted += judged(runs_of(noise)).finding is ProofFinding.REFUTED
    assert refuted == 0


def test_a_judgement_without_shares_is_not_testable() -> None:
    assert ProofJudgement(ProofFinding.NOT_TESTABLE, GuardReason.NO_EXCESS).shares is None
