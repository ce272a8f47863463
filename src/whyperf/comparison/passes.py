"""Which further runs would settle a comparison: chosen by what the first ones showed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from math import ceil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whyperf.diagnose.next_command.next_step import NextStep
    from whyperf.diagnose.verdict import Verdict

SHORTEST_BUDGET_S = 60.0  # below it no proof would fit, not even of programs that run for seconds
_OFF = 1.1
_PROOF_PAIRS = 5.0  # following and proving took ten runs in the middle of 97 cases (`python -m bench.proven_totals`)
_LOOKS_HZ = 100.0  # at a thread that waits, on a busy machine; a quiet one has up to 200
_LOOKS_NEEDED = 45.0  # half as many again as name functions: the next runs differ
_MOST_PAIRS = 20
_FUNCTIONS_PAIRS = 6.0  # two runs of each kind that a trial of one function takes, and one that tells who is entered


class Pass(Enum):
    COUNTS = "counts"  # one run of each kind, whose calls are counted
    TRACE = "trace"  # pairs with kernel events
    WAITS = "waits"  # pairs in which waiting threads are sampled too
    MEMORY = "memory"  # pairs whose allocations are sampled
    PROOF = "proof"  # runs with probes that follow a value back, and force it


@dataclass(frozen=True)
class PassChoice:
    kind: Pass
    what: str  # "counting calls"
    because: str = ""  # "the program computes more"

    @property
    def why(self) -> str:
        """A part of a sentence."""
        return f"{self.what}, because {self.because}" if self.because else self.what


_BY_OPTION = {
    "--trace": PassChoice(Pass.TRACE, "recording kernel events", "the time went into waiting"),
    "--clock": PassChoice(Pass.WAITS, "sampling waiting threads", "the time went into waiting"),
}
_WITHOUT_EVENTS = PassChoice(Pass.WAITS, "sampling waiting threads", "kernel events did not tell who waits")
_MEMORY = PassChoice(Pass.MEMORY, "sampling allocations", "memory grew and time did not")
_PROVE = PassChoice(Pass.PROOF, "following values back to where they are set, and forcing them")
_COUNT = PassChoice(Pass.COUNTS, "counting calls", "the program computes more")
_COUNT_FREES = PassChoice(
    Pass.COUNTS, "counting calls, to see whether the function that freed the memory is still called"
)


def further_pass(
    verdict: Verdict, step: NextStep | None, taken: Collection[Pass], *, wants_proof: bool = False
) -> PassChoice | None:
    """None where nothing is open that whyperf can find out by itself; `step` is what would settle it. By itself it
    proves what needs CPU time; `wants_proof`: whatever grew."""
    if Pass.MEMORY not in taken and _only_memory_grew(verdict):
        return _MEMORY
    if verdict.kind.value != "difference":
        return None
    asked = None if step is None else _BY_OPTION.get(step.options[0])
    if asked is not None and asked.kind not in taken:
        return asked
    is_open = not verdict.suspects and verdict.symptom.kind != "external"
    if is_open and asked is not None and asked.kind is Pass.TRACE and Pass.WAITS not in taken:
        return _WITHOUT_EVENTS
    return next((one for one in _of_the_program(verdict, wants_proof=wants_proof) if one.kind not in taken), None)


def _of_the_program(verdict: Verdict, *, wants_proof: bool) -> list[PassChoice]:
    """What tells more of the program's own code."""
    if _needs_cpu_time(verdict):
        return [_COUNT, _PROVE]
    return [_COUNT_FREES] * _is_no_longer_freed(verdict) + [_PROVE] * wants_proof


def functions_first(verdict: Verdict, taken: Collection[Pass], pair_s: float, left_s: float) -> bool:
    """Whether functions of another build are tried although nobody asked for a proof."""
    is_open = verdict.kind.value == "difference" and _needs_cpu_time(verdict) and Pass.PROOF not in taken
    return is_open and fits(_FUNCTIONS_PAIRS * pair_s, left_s)


def _needs_cpu_time(verdict: Verdict) -> bool:
    return verdict.symptom.kind == "cpu" and verdict.symptom.measure.endswith("_s")


def _only_memory_grew(verdict: Verdict) -> bool:
    """Beyond the spread between runs, while nobody knows of more time."""
    if verdict.symptom.kind == "memory":
        return verdict.kind.value == "difference" and verdict.symptom.measure == "peak_bytes"
    return verdict.memory_grew and verdict.kind.value != "difference"


def pairs_to_see_waits(verdict: Verdict, pairs: int, pair_s: float, left_s: float) -> int:
    """At least as many pairs as the first ones; more where runs are so short that the added wait would hardly be seen,
    as many as fit."""
    symptom = verdict.symptom
    added_s = (symptom.bad - symptom.good) / 2  # more than half of it was spent waiting
    if symptom.unit != "run" or symptom.measure not in ("wall_s", "own_s") or added_s <= 0:
        return pairs
    wanted = min(ceil(_LOOKS_NEEDED / (_LOOKS_HZ * added_s)), _MOST_PAIRS)
    while wanted > pairs and not fits(seconds_of(Pass.WAITS, pair_s, wanted), left_s):
        wanted -= 1
    return max(wanted, pairs)


def _is_no_longer_freed(verdict: Verdict) -> bool:
    """Whether the first suspect is one that freed memory in good runs."""
    from whyperf.engines.memory.detail import MemoryDetail  # numpy and more, which a command's start does not need

    return any(
        isinstance(one.detail, MemoryDetail) and one.detail.freed_in == first.function
        for first in verdict.suspects[:1]
        for one in first.evidence
    )


def seconds_of(kind: Pass, pair_s: float, pairs: int) -> float:
    """How long it will take, by how long a pair of the first runs took with all that belongs to it."""
    return {Pass.COUNTS: 2.0, Pass.PROOF: _PROOF_PAIRS}.get(kind, float(pairs)) * pair_s


def fits(needed_s: float, left_s: float) -> bool:
    """Guesses may be a little off: as long again as the first runs is as long as what is left then."""
    return needed_s <= _OFF * left_s
