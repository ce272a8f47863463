"""What the excess engine measured of a finding."""

from __future__ import annotations

from dataclasses import dataclass

from whyperf.engines.excess.blame_reasons import BlameReason
from whyperf.engines.finding import Detail

CHANGED = "changed"  # the code of a function, between two builds


@dataclass(frozen=True)
class TimeInside:
    """A function that holds excess for which another one answers."""

    function: str
    module: str
    share: float  # of that excess


@dataclass(frozen=True, kw_only=True)
class ExcessDetail(Detail):
    role: BlameReason
    repeats: bool  # what it answers for is in a loop of its own
    in_every_round: bool  # nothing but the loop around it decides that its hottest line is reached
    two_builds: bool  # the good runs are of another build that was told to do the same
    new_code: bool  # the good runs' program does not have what it answers for
    code: str  # between two builds: CHANGED, same, or unknown
    good_self_s: float  # in its own code; `good_runs` are what it answers for, which may be in other functions
    bad_self_s: float
    good_inclusive_s: float  # with what it calls
    bad_inclusive_s: float
    charged_s: float  # of the excess
    sigma: float
    inside: tuple[TimeInside, ...]
