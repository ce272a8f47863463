"""The verdict: what the JSON, the terminal and the page show."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal

from whyperf.diagnose.origin import Origin, Proof
from whyperf.engines.finding import Detail, HotLine, SourceChange

Confidence = Literal["high", "medium", "low"]
PEAK_BYTES, ALLOCATED_BYTES = "peak_bytes", "allocated_bytes"
MEMORY_MEASURES = frozenset({PEAK_BYTES, ALLOCATED_BYTES})
"""Of symptoms that are no slowness."""


class VerdictKind(Enum):
    DIFFERENCE = "difference"
    NONE = "none"
    MORE_WORK = "more-work"
    INSUFFICIENT = "insufficient"


@dataclass(frozen=True)
class Symptom:
    kind: str  # cpu, wait, io, memory, latency, external
    unit: str
    good: float
    bad: float
    measure: str  # cpu_s, wall_s, own_s, latency_p99_s, peak_bytes ...
    runs: tuple[int, int]
    good_runs: tuple[float, ...] = ()
    bad_runs: tuple[float, ...] = ()
    sentence: str = ""


@dataclass(frozen=True)
class ValueSpread:
    typical: str
    histogram: tuple[float, ...]  # shares, over the same cells for good and bad


@dataclass(frozen=True)
class AbnormalVariable:
    name: str
    good: str  # range
    bad: str
    dimension: str  # value, delta, duration
    lines: tuple[int, ...]  # where abnormal values were read
    type: str = ""
    sentence: str = ""
    distance: float = 0.0  # Hellinger
    good_spread: ValueSpread | None = None
    bad_spread: ValueSpread | None = None
    read_at: tuple[HotLine, ...] = ()  # `lines` with their source; shares are of the abnormal readings
    file: str = ""  # of `lines`


@dataclass(frozen=True)
class Evidence:
    engine: str
    rank: int
    score: float
    detail: Detail
    why: str = ""  # what the engine says of it, in a sentence


@dataclass(frozen=True)
class Revision:
    """A commit that was built and recorded."""

    revision: str  # as the user calls it
    commit: str
    author: str  # as git prints it
    date: str
    subject: str


@dataclass(frozen=True)
class ChangedBy:
    """A commit between the two revisions that changed lines of a suspect, or of its nearest caller that changed."""

    commit: str
    author: str
    date: str
    subject: str
    function: str
    file: str  # in the repository
    added: tuple[int, ...]  # lines of the bad revision
    removed: tuple[int, ...]  # lines of the good one


@dataclass(frozen=True)
class Suspect:
    rank: int
    kind: str
    function: str
    module: str
    file: str
    line: int
    block: int
    process: str | None
    thread: str | None
    path: tuple[str, ...]
    score: float
    share: float
    confidence: Confidence
    pattern: str
    why: str
    variables: tuple[AbnormalVariable, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    lines: tuple[HotLine, ...] = ()
    decided_by: int = 0  # the line whose condition decides that `line` is reached; 0: none, or unknown
    change: SourceChange | None = None  # of its source, where two builds were compared and its code differs
    commits: tuple[ChangedBy, ...] = ()  # that made this change, where two revisions were compared
    origin: Origin | None = None  # who set what decides here, where that was followed
    proofs: tuple[Proof, ...] = ()  # what forcing a value or a function of it showed
    doubt: str = ""  # why the confidence is not high, and what would raise it


@dataclass(frozen=True)
class ContextStep:
    """A function on the way to where latency appeared. Seconds per unit; where the unit is `share`, shares."""

    function: str
    module: str
    layer: str
    added: float  # in its own code, within the context
    rank: int  # among the context's functions, 1 is the hottest


@dataclass(frozen=True)
class SlowContext:
    rank: int
    share: float  # of the excess
    good: float
    bad: float
    steps: tuple[ContextStep, ...]  # outermost first
    hot: int  # the step that answers for the time

    def __post_init__(self) -> None:
        if not 0 <= self.hot < len(self.steps):
            raise ValueError("the hot step is none of the steps")


@dataclass(frozen=True)
class ContextRanking:
    unit: str  # run, what the driver counts, iteration or share
    contexts: tuple[SlowContext, ...]


@dataclass(frozen=True)
class CallChange:
    """What changed by exact counts, with its part of the excess."""

    kind: str  # calls: a line's calls per call of its function; self: self time per call; outside: entries per unit
    function: str
    module: str
    line: int  # of calls; 0: unknown
    callee: str  # of calls; empty: none
    good: float
    bad: float
    share: float  # negative where it saves time
    sentence: str
    file: str = ""  # that holds the line


@dataclass(frozen=True)
class CallCounts:
    runs: tuple[int, int]  # counting runs: good, bad
    excess_s: float  # of the counted code, per unit; what shares are of
    changes: tuple[CallChange, ...]  # largest share first
    more: int = 0  # changes that are left out
    more_share: float = 0.0  # theirs


@dataclass(frozen=True)
class Percentile:
    """Of how long requests take, in seconds; the intervals hold 95 of 100 sets of runs like these."""

    percentile: float
    good: float
    bad: float
    good_interval: tuple[float, float]
    bad_interval: tuple[float, float]
    certain: bool  # it changed beyond doubt


@dataclass(frozen=True)
class TotalChange:
    """A total of the runs that changed beyond doubt, per unit of work."""

    measure: str
    good: float
    bad: float
    good_below: float | None = None  # `good` is an estimate from few looks at threads, and below this; None: it is not
    bad_below: float | None = None


@dataclass(frozen=True)
class Verdict:
    kind: VerdictKind
    symptom: Symptom
    suspects: tuple[Suspect, ...]
    notes: tuple[str, ...]
    next_command: str | None = None
    warnings: tuple[str, ...] = ()  # what casts doubt on the runs themselves: shown before anything else
    contexts: ContextRanking | None = None  # from kernel events, where there are any
    disagreements: tuple[str, ...] = ()  # between engines
    counts: CallCounts | None = None  # where counting runs were made
    memory_grew: bool = False  # its peak, beyond the spread between runs; by however little
    revisions: tuple[Revision, Revision] | None = None  # good and bad, where revisions were compared
    machine: str = ""  # why the machine itself makes these runs hard to judge: said first
    percentiles: tuple[Percentile, ...] = ()  # of requests, where all runs know them
    totals: tuple[TotalChange, ...] = ()  # largest change first
