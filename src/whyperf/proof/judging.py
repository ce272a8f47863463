"""What a trial has shown: guards first, shares of the excess afterwards."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from whyperf.diagnose.origin import ProofFinding, Share
from whyperf.proof.guards import (
    LEAST_RUNS,
    Checked,
    GuardReason,
    always_crashes,
    are_apart,
    becomes_good,
    fewest,
    is_reached,
    output_checked,
    reverse_counts,
    stopped_by_guard,
)
from whyperf.proof.trial import RunEnding, Runs, TrialKind, TrialRun, amounts

_MOST_GONE, NOTHING_GONE = 0.5, 0.2
_SHAM_NOTHING = 0.25
_MORE_THAN_ALL = 1.3
"""Who removes so much more than the excess does something else."""
_MAY_CHANGE = (GuardReason.TOO_FEW, GuardReason.NO_EXCESS, GuardReason.SHAM, GuardReason.UNDECIDED)
_RESAMPLED = 2000
_INTERVAL = (2.5, 97.5)
_SEED = 1
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class StoppedRun:
    """A forced run that did not end in time."""

    limit_s: float
    bad_s: float  # that bad runs take


@dataclass(frozen=True)
class ProofJudgement:
    finding: ProofFinding
    reason: GuardReason | None = None
    """Why it is not testable."""
    shares: Shares | None = None
    checked: Checked = Checked.OUTPUT
    reverse_counts: bool = True
    """The reverse run did the good run's work."""
    reverse_reached: bool = True
    """False: a good run does not come to the place, so that nothing was forced into it."""
    becomes_good: bool = False
    """With it, bad runs write what good ones do."""
    crashes: str = ""
    """As `always_crashes` has it."""
    stopped: StoppedRun | None = None
    """When the reason is that it was stopped."""

    @property
    def is_final(self) -> bool:
        """More runs would not change it, but for chance."""
        if self.finding is ProofFinding.NOT_TESTABLE:
            return self.reason not in _MAY_CHANGE
        return self.finding is not ProofFinding.SUPPORTED

    @property
    def is_stopped(self) -> bool:
        """A guard has said that it will never tell anything."""
        return self.finding is ProofFinding.NOT_TESTABLE and self.is_final


def judged(runs: Runs, *, from_outside: bool = False, is_code: bool = False) -> ProofJudgement:
    """`from_outside`: what was forced comes straight from the user's input; `is_code`: it is code of the other build,
    which is no input."""
    reason = stopped_by_guard(runs)
    if reason is not None:
        stopped = next((one for run in runs[TrialKind.FORCED] if (one := stopped_run(run, runs)) is not None), None)
        return ProofJudgement(ProofFinding.NOT_TESTABLE, reason, crashes=always_crashes(runs), stopped=stopped)
    found = ProofJudgement(
        ProofFinding.SUPPORTED,
        None,
        shares_of(runs),
        output_checked(runs[TrialKind.BAD]),
        reverse_counts(runs, is_code=is_code),
        is_reached(runs[TrialKind.REVERSE]),
        becomes_good(runs) and not is_code,
    )
    told = _by_shares(runs, found, is_input=_is_input(runs, from_outside=from_outside, is_code=is_code))
    lacks_reverse = told.finding is ProofFinding.SUPPORTED and not runs[TrialKind.REVERSE]
    if lacks_reverse or (fewest(runs) < LEAST_RUNS and not _is_clear(told, runs)):
        return ProofJudgement(ProofFinding.NOT_TESTABLE, GuardReason.TOO_FEW)
    return told


def stopped_run(forced: TrialRun, runs: Runs) -> StoppedRun | None:
    if forced.ending is not RunEnding.STOPPED or forced.limit_s is None or not runs[TrialKind.BAD]:
        return None
    return StoppedRun(forced.limit_s, statistics.median(run.wall_s for run in runs[TrialKind.BAD]))


def tells_without_reverse(runs: Runs, *, from_outside: bool, is_code: bool) -> bool:
    """Whether reverse runs would not change what is said: by the runs so far it is an input, or forcing removes
    nothing."""
    if not all(runs[kind] for kind in (TrialKind.GOOD, TrialKind.BAD, TrialKind.FORCED)):
        return False
    good, bad, forced = (np.median(amounts(runs, kind)) for kind in (TrialKind.GOOD, TrialKind.BAD, TrialKind.FORCED))
    removes_nothing = bool(bad - forced < NOTHING_GONE * (bad - good))
    return removes_nothing or _is_input(runs, from_outside=from_outside, is_code=is_code)


def removed_in_part(runs: Runs) -> float | None:
    """By the first runs: the share that forcing removes, if what is left counts, and if the reverse makes only a part
    as well. None where it may be nothing or all."""
    good, bad, forced = (np.median(amounts(runs, kind)) for kind in (TrialKind.GOOD, TrialKind.BAD, TrialKind.FORCED))
    removed = float((bad - forced) / (bad - good)) if bad > good else math.nan
    reverse = [run for run in runs[TrialKind.REVERSE] if run.ending is RunEnding.EXITED and run.is_reached]
    makes_all = any((run.amount - good) / (bad - good) >= 1 - NOTHING_GONE for run in reverse)
    return removed if NOTHING_GONE < removed < 1 - NOTHING_GONE and not makes_all else None


def _is_input(runs: Runs, *, from_outside: bool, is_code: bool) -> bool:
    return from_outside or (becomes_good(runs) and not is_code)


def _is_clear(told: ProofJudgement, runs: Runs) -> bool:
    """Whether it may be told after a first look."""
    if told.finding is ProofFinding.TRIGGER:
        assert told.shares is not None
        return told.shares.removed.low > _MOST_GONE and are_apart(runs)
    return told.finding in (ProofFinding.PROVEN, ProofFinding.REFUTED)


def _by_shares(runs: Runs, found: ProofJudgement, *, is_input: bool) -> ProofJudgement:
    shares = found.shares
    assert shares is not None
    is_sham_felt = not shares.sham.low <= 0 <= shares.sham.high
    if is_sham_felt and abs(shares.sham.value) > _SHAM_NOTHING:
        return replace(found, finding=ProofFinding.NOT_TESTABLE, reason=GuardReason.SHAM)
    if shares.removed.high < NOTHING_GONE:
        return replace(found, finding=ProofFinding.REFUTED)
    if shares.removed.low <= NOTHING_GONE or shares.removed.value <= _MOST_GONE:
        return replace(found, finding=ProofFinding.NOT_TESTABLE, reason=GuardReason.UNDECIDED)
    if is_input:
        return replace(found, finding=ProofFinding.TRIGGER)
    proven = (
        shares.removed.low > _MOST_GONE
        and shares.removed.value < _MORE_THAN_ALL
        and abs(shares.sham.value) <= _SHAM_NOTHING
        and found.reverse_counts
        and shares.reverse.low > _MOST_GONE
        and found.checked is not Checked.NOTHING
        and are_apart(runs)
    )
    return replace(found, finding=ProofFinding.PROVEN) if proven else found


@dataclass(frozen=True)
class Shares:
    removed: Share
    sham: Share
    reverse: Share


def shares_of(runs: Runs) -> Shares:
    """What each kind of run removes or makes of the difference between bad and good medians, which must not be 0. The
    intervals are a bootstrap over the runs of each kind.
    """
    random = np.random.default_rng(_SEED)
    columns = {kind: np.array(amounts(runs, kind) or [np.nan]) for kind in TrialKind}  # perhaps no reverse runs
    medians = {kind: np.median(values) for kind, values in columns.items()}
    again = {kind: _resampled(values, random) for kind, values in columns.items()}
    point = _shares({kind: np.array([median]) for kind, median in medians.items()})
    many = _shares(again)
    return Shares(*(_share(float(value[0]), values) for value, values in zip(point, many, strict=True)))


def _resampled(values: Floats, random: np.random.Generator) -> Floats:
    picked = random.integers(0, len(values), (_RESAMPLED, len(values)))
    medians: Floats = np.median(values[picked], axis=1)
    return medians


def _shares(medians: dict[TrialKind, Floats]) -> tuple[Floats, Floats, Floats]:
    good, bad = medians[TrialKind.GOOD], medians[TrialKind.BAD]
    excess = bad - good
    with np.errstate(divide="ignore", invalid="ignore"):
        return (
            (bad - medians[TrialKind.FORCED]) / excess,
            (bad - medians[TrialKind.SHAM]) / excess,
            (medians[TrialKind.REVERSE] - good) / excess,
        )


def _share(value: float, many: Floats) -> Share:
    kept = many[np.isfinite(many)]
    low, high = np.percentile(kept, _INTERVAL) if len(kept) else (value, value)
    return Share(value, float(min(low, value)), float(max(high, value)))
