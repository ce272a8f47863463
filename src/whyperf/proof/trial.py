"""The runs of a trial, as far as its judgement needs to know them."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum


class TrialKind(Enum):
    GOOD = "good"
    BAD = "bad"
    FORCED = "forced"  # the bad run with what the good one has
    SHAM = "sham"  # the bad run with its own, put in the same way
    REVERSE = "reverse"  # the good run with what the bad one has


class RunEnding(Enum):
    EXITED = "exited"
    CRASHED = "crashed"
    STOPPED = "stopped"  # it ran for so long that it was stopped
    FAILED = "failed"  # it was never ready, or its driver failed


@dataclass(frozen=True)
class TrialRun:
    """One run."""

    amount: float  # of what is measured, for each unit of work where units are counted; not a number: unknown
    status: int  # as the shell counts
    ending: RunEnding = RunEnding.EXITED
    output: str = ""  # digest of all that it wrote where somebody looks
    shape: str = ""  # the same without numbers
    work: float | None = None  # units, where the same number is expected of every run
    open_elsewhere: str = ""  # as `Observed` has it
    wall_s: float = 0.0
    limit_s: float | None = None  # after which it would have been stopped; None: never
    is_reached: bool = True  # False: it did not come to any place where something was to be forced


Runs = Mapping[TrialKind, Sequence[TrialRun]]


def amounts(runs: Runs, kind: TrialKind) -> list[float]:
    return [run.amount for run in runs[kind]]


def middle(runs: Runs, kind: TrialKind) -> float:
    """The median of a kind's amounts."""
    return statistics.median(amounts(runs, kind))


def excess(runs: Runs) -> float:
    """By how much bad runs cost more than good ones."""
    return middle(runs, TrialKind.BAD) - middle(runs, TrialKind.GOOD)
