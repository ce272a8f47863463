"""Guards of a trial: a run that crashed, or did other work, looks like a fast one."""

from __future__ import annotations

import math
import signal
import statistics
from collections.abc import Iterator, Sequence
from enum import Enum

from whyperf.proof.trial import RunEnding, Runs, TrialKind, TrialRun, amounts

LEAST_RUNS = 3
FIRST_LOOK = 2
"""After so many runs of each kind a clear case is told: noise alone makes none (tests/proof/test_judging.py)."""
_COMPARED = (TrialKind.GOOD, TrialKind.BAD, TrialKind.FORCED, TrialKind.SHAM)
_LEAST_EXCESS = 0.1  # of the good runs' amount
_WORK_TOLERANCE = 0.01
_SIGNALS = 128  # a status above is a signal's
_RUNS_WITH_OUTLIER = 5
"""From so many on, the slowest of those that should be fast may be the machine's fault."""


class GuardReason(Enum):
    """Why a trial shows nothing."""

    TOO_FEW = "too-few"
    NO_EXCESS = "no-excess"
    CRASHED = "crashed"  # when forced
    ALWAYS_CRASHES = "always-crashes"  # good or bad runs do, without anything forced
    STOPPED = "stopped"
    FAILED = "failed"  # to serve its load
    FRAGILE = "fragile"  # it fails without anything forced, or with its own value written back
    OUTPUT = "output"  # other output than the bad run's
    WORK = "work"
    NOT_MEASURED = "not-measured"
    SHAM = "sham"  # writing back what was there changes the time
    UNDECIDED = "undecided"


class Checked(Enum):
    """How far it was checked that forced runs did the same work."""

    OUTPUT = "output"
    SHAPE = "shape"  # only the output without its numbers is the same in every bad run
    NOTHING = "nothing"
    SILENT = "silent"  # nothing is printed or written into a file that was named


def stopped_by_guard(runs: Runs) -> GuardReason | None:
    """Why the times of these runs say nothing."""
    return next(_reasons(runs), None)


def _reasons(runs: Runs) -> Iterator[GuardReason]:
    good, usual, forced, sham = (
        runs[kind] for kind in (TrialKind.GOOD, TrialKind.BAD, TrialKind.FORCED, TrialKind.SHAM)
    )
    checked = output_checked(usual)
    if always_crashes(runs):
        yield GuardReason.ALWAYS_CRASHES
    if _are_sound(usual):
        yield from _endings(forced)  # however few runs there are
    is_known = _are_sound(good) and _are_sound(usual) and min(len(good), len(usual)) >= FIRST_LOOK
    if is_known and forced and not _writes_as_expected(runs, checked):
        yield GuardReason.OUTPUT
    if fewest(runs) < FIRST_LOOK:
        yield GuardReason.TOO_FEW
        return
    if not is_known or not _end_alike(sham, usual):
        yield GuardReason.FRAGILE
    if not same_output(sham, usual, checked):
        yield GuardReason.FRAGILE
    if not same_work(forced, usual) or not same_work(sham, usual):
        yield GuardReason.WORK
    if any(math.isnan(amount) for kind in _COMPARED for amount in amounts(runs, kind)):
        yield GuardReason.NOT_MEASURED
        return
    if not _is_excess(runs):
        yield GuardReason.NO_EXCESS


def always_crashes(runs: Runs) -> str:
    """By which signal all good runs, all bad runs, or both end, as a part of a sentence; empty: by none."""
    if min(len(runs[TrialKind.GOOD]), len(runs[TrialKind.BAD])) < FIRST_LOOK:
        return ""
    by = {kind: _common_signal(runs[kind]) for kind in (TrialKind.GOOD, TrialKind.BAD)}
    if len({*by.values()}) == 1 and all(by.values()):
        return f"by {by[TrialKind.BAD]} in every run"
    return " and ".join(f"by {name} in every {kind.value} run" for kind, name in by.items() if name)


def _common_signal(runs: Sequence[TrialRun]) -> str:
    """By which all of them end; empty: by none."""
    statuses = {run.status for run in runs}
    if len(statuses) != 1 or any(run.ending is not RunEnding.CRASHED for run in runs):
        return ""
    try:
        return signal.Signals(statuses.pop() - _SIGNALS).name
    except ValueError:
        return ""


def fewest(runs: Runs) -> int:
    """Of any kind; reverse runs are not made where they would tell nothing."""
    return min(len(runs[kind]) for kind in TrialKind if runs[kind] or kind is not TrialKind.REVERSE)


def _writes_as_expected(runs: Runs, checked: Checked) -> bool:
    """Forced runs end as bad ones do, and write what those do, or what good ones do."""
    forced, usual = runs[TrialKind.FORCED], runs[TrialKind.BAD]
    return _end_alike(forced, usual) and (becomes_good(runs) or same_output(forced, usual, checked))


def _endings(forced: Sequence[TrialRun]) -> Iterator[GuardReason]:
    endings = {run.ending for run in forced}
    if RunEnding.CRASHED in endings:
        yield GuardReason.CRASHED
    if RunEnding.STOPPED in endings:
        yield GuardReason.STOPPED
    if RunEnding.FAILED in endings:
        yield GuardReason.FAILED


def output_checked(usual: Sequence[TrialRun]) -> Checked:
    """By runs of one kind: what differs among themselves proves nothing."""
    if len({run.output for run in usual}) == 1:
        return Checked.OUTPUT
    return Checked.SHAPE if len({run.shape for run in usual}) == 1 else Checked.NOTHING


def same_output(runs: Sequence[TrialRun], usual: Sequence[TrialRun], checked: Checked) -> bool:
    if checked is Checked.NOTHING:
        return True
    if checked is Checked.OUTPUT:
        return all(run.output == usual[0].output for run in runs)
    return all(run.shape == usual[0].shape for run in runs)


def becomes_good(runs: Runs) -> bool:
    """Forced runs write what good ones do, and bad ones write something else."""
    good, bad, forced = (
        {run.output for run in runs[kind]} for kind in (TrialKind.GOOD, TrialKind.BAD, TrialKind.FORCED)
    )
    return len(good) == 1 and good == forced and not good & bad


def same_work(runs: Sequence[TrialRun], usual: Sequence[TrialRun]) -> bool:
    """Where somebody counted it."""
    expected = [run.work for run in usual if run.work is not None]
    if not expected:
        return True
    low, high = min(expected) * (1 - _WORK_TOLERANCE), max(expected) * (1 + _WORK_TOLERANCE)
    return all(run.work is not None and low <= run.work <= high for run in runs)


def reverse_counts(runs: Runs, *, is_code: bool = False) -> bool:
    """Reverse runs do the good run's work. `is_code`: code was put in, which may also write what it wrote in its own
    program."""
    good, reverse = runs[TrialKind.GOOD], runs[TrialKind.REVERSE]
    if is_code and becomes_good(runs) and same_output(reverse, runs[TrialKind.BAD], Checked.OUTPUT):
        good = runs[TrialKind.BAD]
    alike = is_reached(reverse) and _end_alike(reverse, good) and same_work(reverse, good)
    return alike and same_output(reverse, good, output_checked(good))


def is_reached(reverse: Sequence[TrialRun]) -> bool:
    """Whether good runs come to the place where something is forced into bad ones."""
    return all(run.is_reached for run in reverse)


def are_apart(runs: Runs) -> bool:
    """All that should be fast was faster than all that should be slow."""
    fast = [*_without_outlier(amounts(runs, TrialKind.GOOD)), *_without_outlier(amounts(runs, TrialKind.FORCED))]
    slow = [*amounts(runs, TrialKind.BAD), *amounts(runs, TrialKind.SHAM)]
    return max(fast) < min(slow)


def _is_excess(runs: Runs) -> bool:
    """Bad runs cost clearly more than good ones."""
    good, bad = amounts(runs, TrialKind.GOOD), amounts(runs, TrialKind.BAD)
    excess = statistics.median(bad) - statistics.median(good)
    return excess > _LEAST_EXCESS * statistics.median(good) and max(_without_outlier(good)) < min(bad)


def _are_sound(runs: Sequence[TrialRun]) -> bool:
    return bool(runs) and all(run.ending is RunEnding.EXITED for run in runs) and len({run.status for run in runs}) == 1


def _end_alike(runs: Sequence[TrialRun], usual: Sequence[TrialRun]) -> bool:
    return _are_sound(runs) and runs[0].status == usual[0].status


def _without_outlier(values: Sequence[float]) -> Sequence[float]:
    return sorted(values)[:-1] if len(values) >= _RUNS_WITH_OUTLIER else values
