"""The one comparison that would settle what is still open, chosen from what can be recorded."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from whyperf.diagnose.joining.confidence import HIGH
from whyperf.diagnose.joining.join import Joined
from whyperf.diagnose.measured.symptom_kind import Nature
from whyperf.diagnose.settings import DiagnoseSettings
from whyperf.diagnose.verdict import PEAK_BYTES, Suspect, Symptom
from whyperf.diagnose.wording import SPREAD_UNKNOWN
from whyperf.recording.names.identity import is_named_by_address
from whyperf.recording.symptom import SymptomKind, SymptomSpec

_WAITING = (Nature.WAIT, Nature.IO, Nature.MEMORY, Nature.LATENCY)


class Possible(Protocol):
    """What can be recorded where the next command will be typed, as far as whoever asks knows."""

    @property
    def trace(self) -> bool: ...
    @property
    def deep(self) -> bool: ...


@dataclass(frozen=True)
class KnownPossible:
    trace: bool = False
    deep: bool = False


@dataclass(frozen=True)
class RecordedSides:
    """What the recordings at hand hold."""

    traced: bool
    waits: bool  # blocked threads were sampled too
    fewest_runs: int  # of the kind with fewer
    memory: bool = False  # allocations were sampled
    inlined: frozenset[str] = frozenset()  # functions without a copy of their own, whose calls cannot be counted
    unseen: str = ""  # what they do not show of waits, though there must be some


@dataclass(frozen=True)
class NextStep:
    options: tuple[str, ...]  # of `whyperf compare`
    why: str


def next_step(
    symptom: Symptom, joined: Joined, recordings: RecordedSides, possible: Possible, settings: DiagnoseSettings
) -> NextStep | None:
    """None where nothing is open, or nothing that can be done here would tell."""
    nature = Nature(symptom.kind)
    if symptom.measure == PEAK_BYTES and recordings.memory:
        return None
    if symptom.measure == PEAK_BYTES:
        return NextStep(("--memory",), "Samples of time do not show who keeps memory: samples of allocations do.")
    if not joined.suspects and (step := _to_see(nature, recordings, possible)) is not None:
        return step
    if recordings.fewest_runs < 2:
        return NextStep(("--runs", str(settings.usual_runs)), SPREAD_UNKNOWN)
    if recordings.unseen and (step := _to_see_waits(recordings.unseen, recordings, possible)) is not None:
        return step
    why = "The first two suspects are close" if _is_close(joined, settings) else ""
    if joined.disagreements:
        why = "Until the engines agree, either may be right"
    return _to_decide(nature, joined, recordings, possible, why) if why else None


def _to_see(nature: Nature, recordings: RecordedSides, possible: Possible) -> NextStep | None:
    """What would show where the time went."""
    if nature is Nature.EXTERNAL and possible.trace and not recordings.traced:
        return NextStep(("--trace",), "Kernel events show other programs too: record with --trace.")
    if nature not in _WAITING:
        return None
    return _to_see_waits("The time went into waiting, which these recordings do not show", recordings, possible)


def _to_see_waits(unseen: str, recordings: RecordedSides, possible: Possible) -> NextStep | None:
    if not recordings.traced and possible.trace:
        return NextStep(("--trace",), f"{unseen}: record with --trace.")
    if not recordings.waits:
        return NextStep(("--clock", "wall"), f"{unseen}: record with --clock wall.")
    return None


def _to_decide(
    nature: Nature, joined: Joined, recordings: RecordedSides, possible: Possible, why: str
) -> NextStep | None:
    """What another witness would be asked with."""
    first = joined.suspects[0]
    symptom = _exactly(first, recordings.inlined)
    if nature is Nature.CPU and possible.deep and symptom is not None:
        return NextStep(("--deep", "--symptom", str(symptom)), f"{why}: exact counts would tell which of them changed.")
    if nature is not Nature.CPU and not recordings.traced and possible.trace:
        return NextStep(("--trace",), f"{why}: kernel events would tell who waits for whom.")
    if nature is not Nature.CPU and not recordings.waits:
        return NextStep(("--clock", "wall"), f"{why}: samples of waiting threads would be one more witness.")
    if first.confidence == HIGH:
        return None  # more of the same would show the same
    return NextStep(("--runs", str(2 * recordings.fewest_runs)), f"{why}: more runs would tell.")


def _exactly(suspect: Suspect, inlined: Collection[str]) -> SymptomSpec | None:
    """What exact counts can be asked about a suspect."""
    if is_named_by_address(suspect.function):
        return None
    if suspect.function not in inlined:
        return SymptomSpec(SymptomKind.INSTRUCTIONS, suspect.function)
    return SymptomSpec(SymptomKind.LINE, suspect.file, suspect.line) if suspect.file and suspect.line else None


def _is_close(joined: Joined, settings: DiagnoseSettings) -> bool:
    scores = [suspect.score for suspect in joined.suspects[:2]]
    return len(scores) == 2 and scores[1] >= settings.close_scores * scores[0] > 0
