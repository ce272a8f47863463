"""One benchmark: both revisions built, run in turns within the budget, and judged."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from whyperf.ci.benchmark import Benchmark
from whyperf.ci.causes import causes_of
from whyperf.ci.configuration import FEWEST_RUNS
from whyperf.ci.judging import judge_change
from whyperf.ci.result import Result
from whyperf.ci.state import BenchmarkState
from whyperf.ci.wording import too_few_pairs
from whyperf.collect.setup.lifecycle import Measuring, RunOutcome
from whyperf.collect.target.program import Program, check_followable
from whyperf.collect.target.shell import command_line, split_words
from whyperf.collect.target.shell_syntax import needs_shell
from whyperf.comparison.adapting import adapted
from whyperf.comparison.alternation import Side
from whyperf.comparison.endings import Outcomes, endings, last_output
from whyperf.comparison.pairs import RunError, record_pairs
from whyperf.comparison.plan import ComparisonPlan
from whyperf.comparison.progress import Steps
from whyperf.diagnose.diagnosis import diagnose
from whyperf.diagnose.verdict import Verdict
from whyperf.engines.quantities import seconds
from whyperf.errors import WhyperfError
from whyperf.recording.sealed.reader import Recording
from whyperf.revisions.checkout import Built, built
from whyperf.revisions.command import program_in, words_for
from whyperf.revisions.git import Repository
from whyperf.revisions.suspects import ComparedCommits, with_history, with_short_paths
from whyperf.seal.opening import open_recording

_NAMES = {Side.GOOD: "base", Side.BAD: "head"}


class OutOfTime(Exception):  # noqa: N818 (no error: whoever catches it judges what there is)
    """The budget has ended."""


class SideError(Exception):
    """What this side's benchmark cannot do."""

    def __init__(self, side: Side, sentence: str) -> None:
        super().__init__(sentence)
        self.side, self.sentence = side, sentence


@dataclass(frozen=True)
class Ground:
    """What all benchmarks of a job share."""

    repository: Repository
    commits: Mapping[Side, str]
    recordings: Path | None  # where they are kept; None: nowhere
    budget_s: float
    deadline: float  # by the monotonic clock
    environment: Mapping[str, str]

    @property
    def spent(self) -> str:
        return f"The time budget of {seconds(self.budget_s)} has ended"


@dataclass(frozen=True)
class TimedBenchmark:
    """Says which benchmark it is that goes on, and ends it when time is up."""

    shown: Steps
    name: str
    deadline: float

    def step(self, what: str, done: float, left_s: float | None) -> None:
        self.shown.step(f"{self.name}: {what}", done, left_s)

    def tick(self) -> None:
        if time.monotonic() > self.deadline:
            raise OutOfTime
        self.shown.tick()


def run_benchmark(benchmark: Benchmark, ground: Ground, shown: Steps) -> Result:
    """Whatever happens, a result: nothing that was asked for is left out."""
    began = time.monotonic()
    if began >= ground.deadline:
        return Result(benchmark, BenchmarkState.INSUFFICIENT, too_few_pairs(0, FEWEST_RUNS, ground.spent))
    with tempfile.TemporaryDirectory(prefix="whyperf-ci-") as scratch:
        try:
            result = _Attempt(
                benchmark, ground, TimedBenchmark(shown, benchmark.name, ground.deadline), Path(scratch)
            ).result()
        except OutOfTime:
            result = Result(benchmark, BenchmarkState.INSUFFICIENT, too_few_pairs(0, FEWEST_RUNS, ground.spent))
        except SideError as failed:
            state = BenchmarkState.FAILED if failed.side is Side.BAD else BenchmarkState.INSUFFICIENT
            result = Result(benchmark, state, f"The {_NAMES[failed.side]} cannot be measured: {failed.sentence}")
        except WhyperfError as error:
            result = Result(benchmark, BenchmarkState.INSUFFICIENT, error.sentence)
    return replace(result, seconds=time.monotonic() - began)


class _Attempt:
    def __init__(self, benchmark: Benchmark, ground: Ground, shown: TimedBenchmark, scratch: Path) -> None:
        self._benchmark, self._ground, self._shown, self._scratch = benchmark, ground, shown, scratch
        self._outcomes: Outcomes = {Side.GOOD: [], Side.BAD: []}

    def result(self) -> Result:
        # The head first: what neither can do is the head's failure.
        trees = {side: self._built(side) for side in (Side.BAD, Side.GOOD)}
        plan, taken = self._plan(trees)
        try:
            record_pairs(plan, self._outcomes, self._shown)
        except OutOfTime:
            pass  # what is complete may be enough
        except RunError as failed:
            raise SideError(failed.side, failed.sentence) from None
        self._check_endings()
        pairs = min(len(runs) for runs in self._outcomes.values())
        if pairs < FEWEST_RUNS:
            return Result(
                self._benchmark, BenchmarkState.INSUFFICIENT, too_few_pairs(pairs, FEWEST_RUNS, self._ground.spent)
            )
        result = self._judged(trees, pairs)
        notes = [*endings(self._outcomes)]
        if pairs < self._benchmark.runs:
            notes.append(f"{self._ground.spent}: {pairs} of {self._benchmark.runs} pairs of runs were made.")
        if taken:
            notes.append(f"Not in both revisions, so taken from the work tree: {', '.join(taken)}.")
        return replace(result, notes=(*notes, *result.notes))

    def _built(self, side: Side) -> Built:
        try:
            return built(self._ground.repository, self._ground.commits[side], self._benchmark.build, shown=self._shown)
        except WhyperfError as error:
            raise SideError(side, error.sentence) from None

    def _plan(self, trees: Mapping[Side, Built]) -> tuple[ComparisonPlan, Sequence[str]]:
        benchmark, taken = self._benchmark, list[str]()
        programs = dict[Side, Program]()
        for side, tree in trees.items():
            try:
                programs[side], taken = self._program(tree, [one.folder for one in trees.values()])
                check_followable(programs[side])
            except WhyperfError as error:
                raise SideError(side, error.sentence) from None
        plan = ComparisonPlan(
            programs,
            {side: replace(benchmark.lifecycle, folder=tree.folder) for side, tree in trees.items()},
            Measuring(unit=benchmark.unit, work_count=benchmark.work_count, latency=benchmark.latency),
            self._folder(),
            benchmark.runs,
            show_output=False,
            force=True,
            deadline=self._ground.deadline,
        )
        if benchmark.inner is not None:
            inner = self._scratch / "inner"
            inner.mkdir()
            plan = adapted(plan, benchmark.inner, inner, self._ground.environment)
        return plan, taken

    def _program(self, tree: Built, folders: Sequence[Path]) -> tuple[Program, list[str]]:
        command, environment = self._benchmark.command, self._ground.environment
        if needs_shell(command):
            return command_line(command, environment, tree.folder), []
        here = self._ground.repository.top / self._ground.repository.inside
        words = words_for(split_words(command), here, folders)
        return program_in(tree, words.words, environment), list(words.taken)

    def _folder(self) -> Path:
        if self._ground.recordings is None:
            return self._scratch / "recordings"
        name = re.sub(r"[^\w.-]+", "-", self._benchmark.name).strip("-.")[:80] or "benchmark"
        return self._ground.recordings / name

    def _check_endings(self) -> None:
        """A side that fails where the other does not is not the same program at work."""
        failed = {side: next((run for run in runs if _ended_badly(run)), None) for side, runs in self._outcomes.items()}
        for side, other in ((Side.BAD, Side.GOOD), (Side.GOOD, Side.BAD)):
            run = failed[side]
            if run is not None and failed[other] is None:
                how = f"status {run.status}" if run.signal is None else f"signal {run.signal}"
                raise SideError(
                    side, f"its command ended with {how}, the {_NAMES[other]}'s did not.{last_output(run.path)}"
                )

    def _judged(self, trees: Mapping[Side, Built], pairs: int) -> Result:
        self._shown.shown.step(f"{self._benchmark.name}: judging", 1.0, None)
        runs = {side: [open_recording(one.path) for one in made[:pairs]] for side, made in self._outcomes.items()}
        forward, backward = Side.GOOD, Side.BAD
        judged = judge_change(
            self._verdict(trees, runs, forward), lambda: self._verdict(trees, runs, backward), self._benchmark.threshold
        )
        changed = judged.state in (BenchmarkState.SLOWER, BenchmarkState.FASTER)
        compared = self._compared(trees, backward if judged.state is BenchmarkState.FASTER else forward)
        causes = causes_of(judged.verdict, judged.state, compared) if changed else ()
        return Result(
            self._benchmark,
            judged.state,
            judged.sentence,
            judged.figures,
            causes,
            (*judged.verdict.warnings, *judged.verdict.notes) if changed else (),
            with_short_paths(judged.verdict, compared),
        )

    def _verdict(self, trees: Mapping[Side, Built], runs: Mapping[Side, list[Recording]], good: Side) -> Verdict:
        bad = Side.BAD if good is Side.GOOD else Side.GOOD
        verdict = diagnose(runs[good], runs[bad])
        return with_history(verdict, self._compared(trees, good), runs[bad]) if verdict.suspects else verdict

    def _compared(self, trees: Mapping[Side, Built], good: Side) -> ComparedCommits:
        bad = Side.BAD if good is Side.GOOD else Side.GOOD
        return ComparedCommits(self._ground.repository, trees[good], trees[bad], (_NAMES[good], _NAMES[bad]))


def _ended_badly(run: RunOutcome) -> bool:
    return run.stopped_by in ("exit", "signal") and run.shell_status != 0
