"""Who set the value that decides, hop by hop, and the proof that it is the cause: what reports show of both."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from whyperf.engines.quantities import part


class HopKind(Enum):
    VARIABLE = "variable"  # where the search began
    LOADED = "loaded"
    COMPUTED = "computed"
    CHOSEN = "chosen"  # one of several, by a condition
    DECIDED = "decided"  # a condition that decides what runs
    ARGUMENT = "argument"
    RETURNED = "returned"
    STORED = "stored"
    ENTERED = "entered"  # how often a function is called; `good` and `bad` are counts
    CONSTANT = "constant"


class ChainEnd(Enum):
    """Why a chain ends."""

    CONSTANT = "constant"
    OUTSIDE = "outside"  # an option, the environment, a file, a socket
    CHANGED_CODE = "changed-code"  # the two builds differ here
    SAME_INPUTS = "same-inputs"  # equal before, different after: good turns into bad here
    NO_DIFFERENCE = "no-difference"  # nothing to follow: good and bad runs hold the same values
    CHANCE = "chance"  # time or randomness
    ADDRESS = "address"  # only where it lies in memory differs
    NOT_FOLLOWED = "not-followed"


def supplied(share: float | None) -> str:
    """Of one run only: how many of the values came from a hop; empty where it is all of them."""
    if share is None or share == 1:
        return ""
    return f"supplied {part(share)} of the values"


def compared_with(good: str, *, differs: bool) -> str:
    """`, was 30`; else that nothing shows a difference."""
    if not good:
        return ""
    return f", was {good}" if differs else f", and {good} in good runs: no difference shown"


@dataclass(frozen=True)
class Hop:
    """One place on the way from where time is paid to where a value was made."""

    kind: HopKind
    function: str
    module: str
    file: str
    line: int  # 0: unknown
    source: str  # the line's text; empty: unknown
    what: str  # `batch`, `size_window()`, `megabytes << 20`
    good: str  # values as people write them: `2,731`, `1 to 40`; empty: there is one run only
    bad: str
    sentence: str
    deep: bool = False  # a run under Valgrind led here
    share: float | None = None  # of one run only: of the values of the hop before, those that came from here
    differs: bool = True  # False: one side is unknown, or what was seen of both may be the same

    @property
    def compared(self) -> str:
        """What is said of good runs behind the bad runs' value; empty: there is one run only."""
        return compared_with(self.good, differs=self.differs)


@dataclass(frozen=True)
class Origin:
    hops: tuple[Hop, ...]  # the first is where time is paid
    end: ChainEnd
    sentence: str  # why it ends there
    turn: int | None  # the hop where good turns into bad; None: no hop is known to differ, or one command was run
    runs: int
    seconds: float
    is_alone: bool = False  # one command was run and nothing compared
    narrows: bool = False  # at the turn many values become few, as with a bad hash: there is no one good value to force

    def __post_init__(self) -> None:
        if self.turn is not None and not 0 <= self.turn < len(self.hops):
            raise ValueError("the turn is none of the hops")


class ProofFinding(Enum):
    PROVEN = "proven"
    SUPPORTED = "supported"
    REFUTED = "refuted"
    TRIGGER = "trigger"  # the input that differs, not the mistake
    NOT_TESTABLE = "not-testable"


class ProofMeans(Enum):
    VALUE = "value"
    SPREAD = "spread"  # its own values, spread evenly
    FUNCTION = "function"  # of the good build, put into the bad program
    VARIABLE = "variable"  # of the bad program, which begins with what the good build has for it
    HUNK = "hunk"  # taken back, and built
    DECISION = "decision"  # a conditional jump, made as in good runs


@dataclass(frozen=True)
class Share:
    """Of the excess, with its 95% interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Proof:
    finding: ProofFinding
    means: ProofMeans
    function: str
    module: str
    file: str
    line: int
    what: str  # that was forced
    good: str
    bad: str
    removed: Share | None  # of the excess, by forcing the good value into bad runs; None: not measured
    sham: Share | None  # by writing back what was there
    reverse: Share | None  # how much of the excess the bad value makes in good runs
    runs: int  # of each kind
    measure: str  # cpu_s, wall_s ...
    sentence: str
    is_part: bool = False  # `good` and `bad` are values of a nameless part of `what`, not of `what`

    @property
    def is_settled(self) -> bool:
        """It may change who is the cause. A decision that is forced may leave out work that is needed: only a whole
        proof counts."""
        is_supported = self.finding is ProofFinding.SUPPORTED and self.means is not ProofMeans.DECISION
        return is_supported or self.finding is ProofFinding.PROVEN
