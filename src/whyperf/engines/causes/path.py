"""What a walk finds: the causal path from a stalled thread to the one that should have acted."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class Certainty(Enum):
    """How well founded a link of the path is."""

    STRONG = "strong"
    WEAK = "weak"
    INFERRED = "inferred"  # nothing was seen: it is who should have acted
    GUESS = "guess"


@dataclass(frozen=True)
class Link:
    """Why a thread's waiting leads to another thread."""

    mechanism: str
    certainty: Certainty
    why: str


@dataclass(frozen=True)
class Rung:
    """A thread that waited, and what for."""

    thread: int
    begin: int  # of the part within the window
    end: int
    wait: int  # row of the waits
    link: Link | None  # to the next rung or to the culprit


class CulpritEnding(Enum):
    """What the last thread of a path did instead."""

    RAN = "ran"
    STARVED = "starved"  # was ready to run and got no CPU
    SLEPT = "slept"
    DEVICE = "device"  # waited for the kernel or a device
    NO_REPLY = "no-reply"  # finished its turn without doing what it does as a rule
    GONE = "gone"  # had ended
    OUTSIDE = "outside"  # waited for somebody outside the recording
    POLLED = "polled"  # polled something that cannot be seen
    CYCLE = "cycle"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Culprit:
    ending: CulpritEnding
    thread: int
    begin: int
    end: int
    node: int  # stack: where it waited, or where most of its samples agree; -1: none
    wait: int = -1  # the wait that it ended in, if it did
    fed_by: tuple[int, ...] = ()  # threads that had asked for it
    skipped: tuple[str, ...] = ()  # functions of its normal turns that are missing
    added: tuple[str, ...] = ()  # functions that its normal turns do not have
    others: tuple[tuple[int, int], ...] = ()  # threads on the CPUs meanwhile, and for how long


@dataclass(frozen=True)
class StallPath:
    rungs: tuple[Rung, ...]
    culprit: Culprit

    @property
    def guessed(self) -> bool:
        return any(rung.link is not None and rung.link.certainty is Certainty.GUESS for rung in self.rungs)


@dataclass(frozen=True)
class Anomaly:
    """A wait, a turn of a thread's loop, or a task's time in its queue, that lasted far longer than normal."""

    thread: int
    begin: int
    end: int
    excess: int
    normal: int  # how long it lasts at most
    instances: int  # on which that rests
    wait: int = -1  # -1: it is a turn or a task
    task: int = -1  # row of the tasks: one that stayed in its queue, for this thread to run it

    @property
    def is_turn(self) -> bool:
        return self.wait < 0 and self.task < 0


@dataclass(frozen=True)
class Stall:
    """An anomaly explained."""

    anomaly: Anomaly
    path: StallPath
    along: tuple[Anomaly, ...] = field(default=())  # stalls on the path or with the same end: they waited along
