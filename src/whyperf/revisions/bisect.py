"""From two ends that differ to the first slow commit, and to the verdict between it and its parent."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from whyperf.comparison.alternation import Side
from whyperf.comparison.endings import Outcomes, endings, remarks
from whyperf.comparison.pairs import record_pairs
from whyperf.comparison.plan import ComparisonPlan
from whyperf.comparison.progress import Steps
from whyperf.diagnose.verdict import MEMORY_MEASURES, Verdict, VerdictKind
from whyperf.report.printable import printable
from whyperf.revisions.checkout import BuildError, Built, built
from whyperf.revisions.command import program_in
from whyperf.revisions.commits import CandidateCommit, merged, prior
from whyperf.revisions.search import CommitRange, Progressed, SearchEnding, SearchResult, SearchSettings, find
from whyperf.revisions.suspects import ComparedCommits
from whyperf.revisions.timed import TimedRuns, TimedSubject

if TYPE_CHECKING:
    from whyperf.report.html.examined import Examined


@dataclass(frozen=True)
class JudgedPair:
    """Two commits, recorded and compared."""

    compared: ComparedCommits
    verdict: Verdict
    examined: Examined

    @property
    def is_slower(self) -> bool:
        symptom = self.verdict.symptom
        is_difference = self.verdict.kind is VerdictKind.DIFFERENCE
        return is_difference and symptom.bad > symptom.good and symptom.measure not in MEMORY_MEASURES

    @property
    def may_be_slower(self) -> bool:
        """Also where so few recorded runs do not tell: unrecorded ones are cheap."""
        symptom = self.verdict.symptom
        return self.is_slower or (self.verdict.kind is VerdictKind.INSUFFICIENT and symptom.bad > symptom.good)


@dataclass(frozen=True)
class Searched:
    """A search among commits, ended or not."""

    commits: Sequence[CandidateCommit]
    state: Progressed
    ending: SearchEnding | None  # None: interrupted
    measure: str
    runs: int
    seconds: float
    outer: Searched | None = None  # that found the merge in which this one looks

    @property
    def comparisons(self) -> int:
        return len(self.state.comparisons) + (self.outer.comparisons if self.outer else 0)

    @property
    def probability(self) -> float:
        """That the answer is right, and the merge was."""
        return self.answer.probability * (self.outer.probability if self.outer else 1.0)

    @property
    def answer(self) -> CommitRange:
        return self.state.answer

    @property
    def suspected(self) -> Sequence[CandidateCommit]:
        """The first slow commit, or those that cannot be told apart."""
        return self.commits[self.answer.first : self.answer.last + 1]


class Bisection:
    """`plan` is that of all recordings; its programs and folder are replaced for each comparison."""

    def __init__(self, subject: TimedSubject, plan: ComparisonPlan, ends: tuple[Built, Built], shown: Steps) -> None:
        self._subject, self._plan, self._ends, self._shown = subject, plan, ends, shown
        self._began = time.monotonic()
        self.searched: Searched | None = None  # as far as it got

    def judge_ends(self, names: tuple[str, str]) -> JudgedPair:
        return self._judge(self._ends, names, self._plan.folder / "ends")

    def search(
        self,
        commits: Sequence[CandidateCommit],
        ends: JudgedPair,
        settings: SearchSettings,
        measure: str,
        budget_s: float | None = None,
    ) -> Searched:
        """By the time that `measure` names. Also within what a merge brought in, if the first slow commit is one."""
        self._subject = replace(self._subject, measure=measure)
        weights = prior(commits, ends.verdict, ends.compared, ends.examined.bad)
        found = self._search(commits, weights, settings, budget_s, None)
        while found.ending is SearchEnding.FOUND and len(found.suspected) == 1 and len(found.suspected[0].parents) == 2:
            inside = merged(self._subject.repository, found.suspected[0])
            if len(inside) == 1 or len(inside) == len(found.commits):
                break
            found = self._search(inside, [1 / len(inside)] * len(inside), settings, budget_s, found)
        return found

    def judge_found(self, found: Searched) -> JudgedPair:
        """The commit that was found and the one before it that can be built."""
        commit = found.suspected[-1].commit
        parent = self._before(found)
        pair = parent, built(self._subject.repository, commit, self._subject.build, shown=self._shown)
        if all(one.commit == end.commit for one, end in zip(pair, self._ends, strict=True)):
            pair = self._ends
        return self._judge(pair, (pair[0].commit[:10], pair[1].commit[:10]), self._plan.folder / "found")

    def _before(self, found: Searched) -> Built:
        first = found.answer.first
        parents = found.suspected[0].parents[:1]
        earlier = [*parents, *(one.commit for one in reversed(found.commits[: max(first - 1, 0)]))]
        for commit in earlier:
            try:
                return built(self._subject.repository, commit, self._subject.build, shown=self._shown)
            except BuildError:
                continue
        return self._ends[0]

    def _search(
        self,
        commits: Sequence[CandidateCommit],
        weights: Sequence[float],
        settings: SearchSettings,
        budget_s: float | None,
        outer: Searched | None,
    ) -> Searched:
        runs = TimedRuns(self._subject, commits, self._ends, self._shown)
        runs.runs = outer.runs if outer else 0
        if budget_s is not None:
            runs.deadline = self._began + budget_s
        self._shown.step("measuring both ends", 0.0, None)
        for step in find(weights, runs, settings):
            ending, state = (step.ending, step.state) if isinstance(step, SearchResult) else (None, step)
            spent = time.monotonic() - self._began
            self.searched = Searched(commits, state, ending, self._subject.measure, runs.runs, spent, outer)
            if ending is None and state.answer.probability < settings.sure:
                self._say(self.searched, settings)
        assert self.searched is not None  # find() always yields
        return self.searched

    def _say(self, so_far: Searched, settings: SearchSettings) -> None:
        likely = so_far.suspected[-1]
        left = sum(share > (1 - settings.sure) / len(so_far.commits) for share in so_far.state.posterior)
        number = so_far.comparisons + 1
        what = f"comparison {number}: {left} of {len(so_far.commits)} commits left"
        if number > 1:
            what += f", {so_far.answer.probability:.0%} for {likely.short} {printable(likely.subject)}"
        self._shown.step(what, min(so_far.answer.probability, 0.99), None)

    def _judge(self, pair: tuple[Built, Built], names: tuple[str, str], folder: Path) -> JudgedPair:
        programs = {
            side: program_in(one, self._subject.words, os.environ)
            for side, one in zip((Side.GOOD, Side.BAD), pair, strict=True)
        }
        verdict, examined = _record_and_judge(replace(self._plan, programs=programs, folder=folder), self._shown)
        return JudgedPair(ComparedCommits(self._subject.repository, *pair, names), verdict, examined)


def _record_and_judge(plan: ComparisonPlan, shown: Steps) -> tuple[Verdict, Examined]:
    """The verdict of new recordings, and what it was made of."""
    from whyperf.diagnose.diagnosis import examine
    from whyperf.report.html.examined import Examined
    from whyperf.seal.opening import open_recording

    outcomes: Outcomes = {Side.GOOD: [], Side.BAD: []}
    paths = record_pairs(plan, outcomes, shown)
    shown.step("comparing", 1.0, None)
    good, bad = ([open_recording(path) for path in paths[side]] for side in (Side.GOOD, Side.BAD))
    diagnosis = examine(good, bad)
    notes = dict.fromkeys((*remarks(outcomes), *diagnosis.verdict.notes))
    verdict = replace(diagnosis.verdict, notes=tuple(notes), warnings=tuple(endings(outcomes)))
    return verdict, Examined(good, bad, diagnosis.excess, diagnosis.values)
