"""What the tools return. The SDK makes each tool's output schema of these classes."""

from __future__ import annotations

from dataclasses import dataclass

Argument = str | int | float | bool | list[str]


@dataclass(frozen=True)
class NextCall:
    """A call that would tell more."""

    tool: str
    arguments: dict[str, Argument]
    why: str


@dataclass(frozen=True)
class ResultSymptom:
    """What is slower: amounts per unit of work, run by run."""

    kind: str  # cpu, wait, io, memory, external
    measure: str
    unit: str
    good: float | None
    bad: float | None
    good_runs: list[float]
    bad_runs: list[float]
    sentence: str


@dataclass(frozen=True)
class ChangedVariable:
    """A variable whose values differ between good and bad runs."""

    name: str
    function: str  # empty: a global
    good: str
    bad: str
    sentence: str


@dataclass(frozen=True)
class ResultSuspect:
    """A ranked cause. `share` is of the excess, from 0 to 1."""

    rank: int
    function: str
    module: str
    file: str
    line: int
    share: float
    confidence: str  # high, medium, low
    pattern: str
    why: str
    path: list[str]  # outermost caller first
    variables: list[ChangedVariable]
    variables_left_out: int


@dataclass(frozen=True)
class Recordings:
    good: list[str]
    bad: list[str]
    folder: str | None  # that holds them all, as `compare` made it


@dataclass(frozen=True)
class DiagnosisResult:
    """Why the bad runs are slower than the good ones."""

    verdict: str  # difference, none, more-work, insufficient
    symptom: ResultSymptom
    suspects: list[ResultSuspect]
    suspects_left_out: int
    notes: list[str]  # what was lost, and what else casts doubt
    notes_left_out: int
    recordings: Recordings
    next: list[NextCall]
    next_command: str | None  # for a terminal


@dataclass(frozen=True)
class RecordingResult:
    """A finished recording."""

    recording: str
    command: list[str]
    ended: str
    wall_s: float
    cpu_s: float
    samples: int
    threads: int
    remarks: list[str]  # of the recorder
    last_wrote: list[str]  # to stderr by the program, if it failed
    lost: list[str]
    next: list[NextCall]


@dataclass(frozen=True)
class ExplanationResult:
    """All that is known of a suspect, of the functions of a name, or of the variables of a name."""

    subject: str
    sentences: list[str]
    sentences_left_out: int
    suspect: ResultSuspect | None
    variables: list[ChangedVariable]
    next: list[NextCall]


@dataclass(frozen=True)
class ResultLine:
    number: int
    text: str
    good_s: float | None  # per unit of work, that the function answers for; None: not compared
    bad_s: float | None


@dataclass(frozen=True)
class SourceResult:
    """Source as a recording keeps it, around a line or of a function."""

    file: str
    function: str
    unit: str
    lines: list[ResultLine]
    lines_left_out: int
    also: list[str]  # other places that were meant, as file:line
    next: list[NextCall]
