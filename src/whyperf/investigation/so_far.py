"""What the chains of one investigation share: runs that were made, trials, and why some led nowhere."""

from __future__ import annotations

from dataclasses import dataclass, field

from whyperf.diagnose.origin import ChainEnd, Origin, Proof
from whyperf.investigation.subject import MOST_RUNS
from whyperf.proof.guards import always_crashes
from whyperf.proof.places import ForcedPlace
from whyperf.proof.rounds import Trying, UsualRuns, usual_runs

_A_LOOK = 2  # runs: a good and a bad one
_LEAST_OF_A_TRIAL = 5
"""Runs of one that uses others' good and bad runs: one that looks, two forced, two with the own value."""
_LEAST_ROUNDS = 2
_OWN_KINDS = 3  # of the five kinds of runs, those that no other trial makes


@dataclass(frozen=True)
class TriedFunctions:
    """Of two builds: what functions of the good one do in the bad program."""

    proofs: tuple[Proof, ...] = ()
    forbidden: str = ""
    """Why nothing may be forced at all, if so: a sentence."""


@dataclass
class SoFar:
    most_runs: int = MOST_RUNS
    runs: int = 0
    usual: UsualRuns = field(default_factory=usual_runs)
    proofs: dict[frozenset[ForcedPlace], Proof] = field(default_factory=dict)
    """Of what was forced; no chain tries it again."""
    dead_ends: list[str] = field(default_factory=list)
    """Why starts led nowhere: a sentence each."""
    ran_out: bool = False
    """Something was not done for want of runs."""
    forbidden: str = ""
    """Why nothing may be forced at all, if so: a sentence."""
    decisions_forced: str = ""
    """In how many runs branches were forced, and what came of it; empty: in none."""
    decisions_note: str = ""
    """Why not all decisions were tried, if so."""

    @property
    def left(self) -> int:
        return max(0, self.most_runs - self.runs)

    @property
    def always_crashes(self) -> bool:
        """A trial has shown, and said, that all good or all bad runs end by the same signal."""
        return bool(always_crashes(self.usual))

    def count(self, followed: Origin) -> None:
        self.runs += followed.runs
        self.ran_out |= followed.end is ChainEnd.NOT_FOLLOWED and self.left < _A_LOOK

    def leave_decisions(self, why: str) -> None:
        self.decisions_note = self.decisions_note or why

    def has_room_for_a_chain(self) -> bool:
        return self._has_room(_A_LOOK)

    def has_room_for_a_trial(self) -> bool:
        """A first one is always made: without it, all runs before were in vain."""
        return self.is_first_trial or self._has_room(_LEAST_OF_A_TRIAL)

    def most_of_each_kind(self) -> int:
        """Of the next trial's runs. The first one goes on until it tells; others do if runs are left."""
        return Trying.most_runs if self.is_first_trial else max(_LEAST_ROUNDS, self.rounds_after(0))

    def rounds_after(self, done: int) -> int:
        """So many in all can a trial have that has had `done`. It lacks those of the usual runs that no trial made."""
        left, rounds = self.left, done
        while rounds < Trying.most_runs:
            left -= _OWN_KINDS + sum(len(runs) <= rounds for runs in self.usual.values())
            if left < 0:
                break
            rounds += 1
        return rounds

    def can_go_on(self, done: int) -> bool:
        """Whether a trial that waits may have another round."""
        self.ran_out |= self.rounds_after(done) <= done
        return self.rounds_after(done) > done

    @property
    def is_first_trial(self) -> bool:
        """The next one is."""
        return not any(self.usual.values())

    def _has_room(self, runs: int) -> bool:
        self.ran_out |= self.left < runs
        return self.left >= runs
