"""Single runs that tell which of several changes is worth a whole trial."""

from __future__ import annotations

from dataclasses import dataclass

from whyperf.proof.guards import FIRST_LOOK, output_checked, same_output
from whyperf.proof.rounds import ProofRounds, Put
from whyperf.proof.trial import RunEnding, TrialKind, TrialRun, excess, middle

_MOST = 0.5  # of the excess


@dataclass(frozen=True)
class Screened:
    """One run of one side, with something put into it."""

    run: TrialRun
    is_sound: bool
    """It ends as runs of its side do, and writes what they write."""
    share: float
    """Of the excess: what a forced run removes, or what a reverse run makes."""

    @property
    def tells(self) -> bool:
        return self.is_sound and self.share > _MOST


class Screening:
    def __init__(self, rounds: ProofRounds) -> None:
        self._rounds = rounds

    def has_excess(self) -> bool:
        """Makes the usual runs that are still needed for that."""
        for kind in (TrialKind.GOOD, TrialKind.BAD):
            while len(self._rounds.runs[kind]) < FIRST_LOOK:
                self._rounds.runs[kind].append(self._rounds.run(kind, Put()))
        return excess(self._rounds.runs) > 0

    def forced(self, put: Put) -> Screened:
        """NotPutError where it cannot be put there."""
        run = self._rounds.run(TrialKind.FORCED, put)
        return self._screened(run, TrialKind.BAD, middle(self._rounds.runs, TrialKind.BAD) - run.amount)

    def reverse(self, put: Put) -> Screened:
        run = self._rounds.run(TrialKind.REVERSE, put)
        return self._screened(run, TrialKind.GOOD, run.amount - middle(self._rounds.runs, TrialKind.GOOD))

    def _screened(self, run: TrialRun, side: TrialKind, amount: float) -> Screened:
        usual = self._rounds.runs[side]
        ends_alike = run.ending is RunEnding.EXITED and run.status == usual[0].status
        is_sound = ends_alike and same_output([run], usual, output_checked(usual))
        return Screened(run, is_sound, amount / excess(self._rounds.runs))
