"""What one investigation runs again, for how long, and what all of its trials share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from whyperf.investigation.so_far import SoFar
from whyperf.investigation.subject import ProofBounds, Say, Subject
from whyperf.proof.rounds import ProofSide, Trying
from whyperf.proof.trial import TrialKind


@dataclass(frozen=True)
class Investigated:
    subject: Subject
    measure: str
    bounds: ProofBounds
    say: Say
    so_far: SoFar = field(default_factory=SoFar)
    all_time: ProofBounds | None = None
    """For the first chain, and for a trial that has begun, where `bounds` are a part of that."""

    @property
    def longest(self) -> ProofBounds:
        return self.all_time or self.bounds

    @property
    def sides(self) -> tuple[ProofSide, ProofSide]:
        """Good, bad."""
        of_good, of_bad = self.subject.lifecycles
        calls_of_good, calls_of_bad = self.subject.units.calls
        environment = self.subject.environment
        return (
            ProofSide(self.subject.good, of_good, environment, calls_of_good),
            ProofSide(self.subject.bad, of_bad, environment, calls_of_bad),
        )

    def trying(self, what: str) -> Trying:
        """Its runs are among those that the investigation may make."""

        def told(kind: TrialKind, number: int) -> None:
            self.so_far.runs += 1
            self._say_run(what, kind, number)

        return replace(self._trying(told), most_runs=self.so_far.most_of_each_kind())

    def trying_uncounted(self, what: str) -> Trying:
        return self._trying(lambda kind, number: self._say_run(what, kind, number))

    def _trying(self, told: Callable[[TrialKind, int], None]) -> Trying:
        return Trying(self.measure, self.subject.output_files, budget_s=self.longest.left_s, on_run=told)

    def _say_run(self, what: str, kind: TrialKind, number: int) -> None:
        self.say(f"{what}: {kind.value} run {number + 1}")
