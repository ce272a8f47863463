"""Which runs a trial makes, without processes."""

from __future__ import annotations

from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.program import Program
from whyperf.diagnose.origin import ProofFinding
from whyperf.proof.guards import GuardReason
from whyperf.proof.rounds import ProofRounds, ProofSide, Put, Trying, UsualRuns, usual_runs
from whyperf.proof.trial import RunEnding, TrialKind, TrialRun

_SIDE = ProofSide(Program("/bin/true", ("/bin/true",)), Lifecycle(), {})
_FAST, _SLOW = 1.0, 3.0
_QUICK = TrialRun(_FAST, 0)


class _Rounds(ProofRounds):
    """Each kind of run takes as long as it is told, and writes what it is told."""

    def __init__(self, usual: UsualRuns | None = None, *, forced: TrialRun = _QUICK) -> None:
        super().__init__(_SIDE, _SIDE, Trying(), lambda _kind: Put(), usual=usual)
        slow = TrialRun(_SLOW, 0)
        self.one = dict.fromkeys(TrialKind, slow) | {TrialKind.GOOD: _QUICK, TrialKind.FORCED: forced}
        self.made: list[TrialKind] = []

    def run(self, kind: TrialKind, put: Put) -> TrialRun:
        self.made.append(kind)
        return self.one[kind]


def test_a_clear_case_takes_two_runs_of_each_kind() -> None:
    rounds = _Rounds()
    assert rounds.judged().finding is ProofFinding.PROVEN
    assert sorted(rounds.made, key=list(TrialKind).index) == [kind for kind in TrialKind for _ in range(2)]


def test_good_and_bad_runs_are_shared() -> None:
    usual = usual_runs()
    _Rounds(usual).judged()
    second = _Rounds(usual)
    assert second.judged().finding is ProofFinding.PROVEN
    assert not {TrialKind.GOOD, TrialKind.BAD} & set(second.made) and len(second.made) == 6


def test_a_trial_that_goes_on_without_more_runs_is_judged_as_what_it_is() -> None:
    rounds = _Rounds()
    assert rounds.judged(from_outside=True).finding is ProofFinding.TRIGGER
    made = len(rounds.made)
    assert rounds.judged(from_outside=True, most_runs=rounds.done).finding is ProofFinding.TRIGGER
    assert len(rounds.made) == made


def test_reverse_runs_are_made_only_where_they_could_tell_something() -> None:
    innocent = _Rounds(forced=TrialRun(_SLOW, 0))
    assert innocent.judged().finding is ProofFinding.REFUTED
    assert len(innocent.made) == 8 and TrialKind.REVERSE not in innocent.made
    outside = _Rounds()
    assert outside.judged(from_outside=True).finding is ProofFinding.TRIGGER
    assert len(outside.made) == 8 and TrialKind.REVERSE not in outside.made


def test_reverse_runs_are_made_up_for_where_forcing_removes_more_later() -> None:
    rounds = _Rounds(forced=TrialRun(_SLOW, 0))

    def run(kind: TrialKind, _put: Put) -> TrialRun:
        rounds.made.append(kind)
        return _QUICK if kind is TrialKind.FORCED and rounds.made.count(kind) > 1 else rounds.one[kind]

    rounds.run = run  # type: ignore[method-assign]
    assert rounds.judged().finding is not ProofFinding.REFUTED
    assert len(rounds.runs[TrialKind.REVERSE]) == len(rounds.runs[TrialKind.GOOD]) > 1


def test_an_unclear_case_gets_as_many_of_its_own_as_are_allowed() -> None:
    usual = usual_runs()
    _Rounds(usual).judged()
    half = _Rounds(usual, forced=TrialRun(2.0, 0))
    assert half.judged().reason is GuardReason.UNDECIDED
    assert {kind: len(runs) for kind, runs in half.runs.items()} == dict.fromkeys(TrialKind, 5)


def test_a_run_that_crashes_or_writes_something_else_ends_the_trial() -> None:
    usual = usual_runs()
    _Rounds(usual).judged()
    crashed = _Rounds(usual, forced=TrialRun(0.1, 139, RunEnding.CRASHED))
    assert crashed.judged().reason is GuardReason.CRASHED and crashed.made == [TrialKind.FORCED]
    other = _Rounds(usual, forced=TrialRun(_FAST, 0, output="other", shape="other"))
    assert other.judged().reason is GuardReason.OUTPUT and other.made == [TrialKind.FORCED]
