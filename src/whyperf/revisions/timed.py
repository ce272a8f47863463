"""Runs of built commits, in turns with those of both ends: what the search asks for."""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from whyperf.collect.runs.unrecorded_run import run_unrecorded
from whyperf.collect.setup.lifecycle import Lifecycle, RunOutcome
from whyperf.collect.target.program import Program
from whyperf.comparison.endings import last_output
from whyperf.comparison.progress import Steps
from whyperf.errors import WhyperfError
from whyperf.revisions.checkout import BuildError, Built, built
from whyperf.revisions.command import program_in
from whyperf.revisions.commits import CandidateCommit
from whyperf.revisions.git import Repository
from whyperf.revisions.search import Unmeasurable

_SHORTEST_S = 1e-4  # what the kernel counts of CPU time
_ORDERS = ((0, 1, 2), (2, 1, 0), (1, 0, 2), (2, 0, 1), (0, 2, 1), (1, 2, 0))  # each as often first, and last


@dataclass(frozen=True)
class TimedSubject:
    """What is run, and what of it is measured."""

    repository: Repository
    build: str | None
    words: tuple[str, ...]
    lifecycle: Lifecycle
    measure: str = "cpu"  # or elapsed


class TimedRuns:
    """`search.Runs` of real commits."""

    def __init__(
        self, subject: TimedSubject, commits: Sequence[CandidateCommit], ends: tuple[Built, Built], shown: Steps
    ) -> None:
        self._subject, self._commits, self._shown = subject, commits, shown
        self._ends = tuple(program_in(end, subject.words, os.environ) for end in ends)
        self._statuses = set[int]()
        self._checked_out: tuple[int, Built] | None = None
        self._rounds = 0
        self.deadline = math.inf  # of time.monotonic()
        self.runs = 0

    def is_over(self) -> bool:
        return time.monotonic() >= self.deadline

    def ends(self) -> tuple[float, float]:
        good, bad = self._in_turns(self._ends)
        return good, bad

    def beside_ends(self, commit: int) -> tuple[float, float, float]:
        good, bad = self._ends
        first, candidate, last = self._in_turns((good, self._program(commit), bad), candidate=1)
        return first, candidate, last

    def _in_turns(self, programs: Sequence[Program], candidate: int | None = None) -> list[float]:
        order = [one for one in _ORDERS[self._rounds % len(_ORDERS)] if one < len(programs)]
        self._rounds += 1
        times = [0.0] * len(programs)
        for number in order:
            times[number] = self._time(programs[number], is_end=number != candidate)
        return times

    def _program(self, commit: int) -> Program:
        if self._checked_out is None or self._checked_out[0] != commit:
            self._checked_out = None
            one = self._commits[commit]
            try:
                checkout = built(self._subject.repository, one.commit, self._subject.build, shown=self._shown)
            except BuildError as error:
                raise Unmeasurable(error.sentence) from None
            self._checked_out = commit, checkout
        try:
            return program_in(self._checked_out[1], self._subject.words, os.environ)
        except WhyperfError as error:
            raise Unmeasurable(error.sentence) from None

    def _time(self, program: Program, *, is_end: bool) -> float:
        """The run's logarithm of seconds per unit of work."""
        with tempfile.TemporaryDirectory(prefix="whyperf-") as output:
            outcome = run_unrecorded(
                program,
                Path(output),
                lifecycle=self._subject.lifecycle,
                environment=dict(os.environ),
                on_tick=self._shown.tick,
            )
            self.runs += 1
            if outcome.stopped_by == "interrupt":
                raise KeyboardInterrupt
            self._check(outcome, is_end)
        totals = outcome.totals
        seconds = totals.wall_s if self._subject.measure == "elapsed" else totals.cpu_user_s + totals.cpu_system_s
        return math.log(max(seconds, _SHORTEST_S) / (outcome.work or 1.0))

    def _check(self, outcome: RunOutcome, is_end: bool) -> None:
        """A run that ends in another way than the ends' does something else."""
        if outcome.failure is None and is_end:
            self._statuses.add(outcome.shell_status)
        if outcome.failure is None and (is_end or outcome.shell_status in self._statuses):
            return
        what = outcome.failure.sentence if outcome.failure else f"The command ended with status {outcome.shell_status}."
        if is_end:
            said = last_output(outcome.path)
            raise WhyperfError(f"{what}{' It last wrote: ' + said if said else ''}")
        raise Unmeasurable(what)
