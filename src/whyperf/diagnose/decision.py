"""What is decided before it is asked whose doing it is, with what engines claim of that."""

from __future__ import annotations

from dataclasses import dataclass

from whyperf.diagnose.joining.claims import Claim
from whyperf.diagnose.measured.symptom_kind import Nature
from whyperf.diagnose.verdict import Symptom, VerdictKind
from whyperf.engines.excess.compare import Excess
from whyperf.engines.values.compare import Values


@dataclass(frozen=True)
class Decision:
    kind: VerdictKind
    symptom: Symptom
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()
    next_command: str | None = None  # where it is known whatever is claimed
    added_s: float | None = None  # what a bad run took longer; None where the symptom is not that
    excess: Excess | None = None  # what claims were chosen from
    values: Values | None = None
    unseen: str = ""  # what other recordings would show of waits

    @property
    def nature(self) -> Nature:
        return Nature(self.symptom.kind)
