"""`compare` goes on by itself: after the first runs it makes those that settle what is still open, within a budget."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from whyperf.cli.diagnose import ShownVerdict, judged
from whyperf.cli.investigating import DEFAULT_BUDGET_S, add_output_files, investigated, planned, tried_first
from whyperf.cli.memory_options import DEFAULT_INTERVAL
from whyperf.cli.progress import progress
from whyperf.cli.quantities import positive_duration, seconds_in_words
from whyperf.comparison.alternation import Side
from whyperf.comparison.endings import Outcomes
from whyperf.comparison.pairs import record_counting_runs, record_pairs
from whyperf.comparison.passes import (
    SHORTEST_BUDGET_S,
    Pass,
    fits,
    functions_first,
    further_pass,
    pairs_to_see_waits,
    seconds_of,
)
from whyperf.comparison.plan import ComparisonPlan
from whyperf.comparison.progress import Steps
from whyperf.errors import WhyperfError
from whyperf.recording.removal import ForeignFileError, is_provably_ours, remove_recording

if TYPE_CHECKING:
    from whyperf.diagnose.origin import Proof
    from whyperf.investigation.so_far import TriedFunctions
    from whyperf.revisions.investigating import Rebuilding
    from whyperf.revisions.suspects import ComparedCommits

Recorded = dict[Side, list[Path]]

_KEPT_FOR_PROOF = 0.5  # of the budget, where the user wants a proof: no other pass begins that would need it


def add_budget(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("going on by itself")
    further = group.add_mutually_exclusive_group()  # typed ones: a usual --budget of the project permits --quick
    further.add_argument(
        "--budget",
        metavar="TIME",
        type=positive_duration,
        help="how long further runs may take (default: as long again as the first ones, at least a minute)",
    )
    further.add_argument("--quick", action="store_true", help="the first runs only")
    group.add_argument(
        "--prove",
        action="store_true",
        help="follow the deciding value back to its origin, and force it: does the excess go away? (up to 5m more)",
    )
    add_output_files(group)


def check_going_on(args: argparse.Namespace) -> None:
    """Refuses options of which one would be ignored."""
    other = "--quick" if args.quick else "--deep" if args.deep else None
    if args.prove and other is not None:
        raise WhyperfError(f"--prove and {other} exclude each other.", "whyperf compare --prove GOOD BAD", status=2)
    if args.prove and args.redact:
        raise WhyperfError(
            "--prove and --redact exclude each other: a proof prints the values that it forces.",
            "whyperf compare --redact GOOD BAD",
            status=2,
        )


@dataclass(frozen=True)
class First:
    """What the first runs were and took."""

    recorded: Recorded
    seconds: float
    pairs: int


@dataclass(frozen=True)
class FurtherPasses:
    plan: ComparisonPlan
    args: argparse.Namespace
    traced: Callable[[ComparisonPlan], ComparisonPlan]  # the plan with kernel events
    outcomes: Outcomes  # of all runs so far; grows
    compared: ComparedCommits | None = None  # the revisions, where there are any

    def judge(self, first: First, answer: ShownVerdict) -> ShownVerdict:
        """The verdict after all passes that fit."""
        usual = DEFAULT_BUDGET_S if self.args.prove else max(first.seconds, SHORTEST_BUDGET_S)
        budget = self.args.budget or usual
        ends, pair_s = time.monotonic() + budget, first.seconds / first.pairs
        taken = self._chosen()
        recorded = first.recorded
        wanted = self.args.prove
        tries = wanted or functions_first(answer.verdict, taken, pair_s, budget)
        functions = self._functions(answer, ends) if tries else None
        if functions is not None and _is_settled(functions.proofs):
            return self._proven(answer, ends, functions)
        while (choice := further_pass(answer.verdict, answer.step, taken, wants_proof=wanted)) is not None:
            taken.add(choice.kind)
            needed = seconds_of(choice.kind, pair_s, first.pairs)
            is_proof = choice.kind is Pass.PROOF
            kept = _KEPT_FOR_PROOF * budget if wanted and not is_proof else 0.0
            if not fits(needed, ends - kept - time.monotonic()) and not (wanted and is_proof):
                left = "half of --budget is kept for the proof" if kept else "that is more than --budget leaves"
                needs = f"it needs about {seconds_in_words(needed)}, and {left}"
                _say(f"skipped {choice.what}: {needs}; a larger --budget allows it")
                if wanted:
                    continue
                break
            _say(choice.why)
            try:
                if is_proof:
                    answer = self._proven(answer, ends, functions)
                else:
                    runs = self.plan.runs
                    if choice.kind is Pass.WAITS:
                        left_s = ends - kept - time.monotonic()
                        runs = pairs_to_see_waits(answer.verdict, first.pairs, pair_s, left_s)
                    recorded, answer = self._take(choice.kind, recorded, answer, runs)
            except WhyperfError as error:
                _say(f"that failed: {error.sentence}")
            except KeyboardInterrupt:
                _say("interrupted; the verdict is of the runs before that")
                break
        return answer

    def _functions(self, answer: ShownVerdict, ends: float) -> TriedFunctions | None:
        """Of two builds: before the passes that only other proofs need. None: nothing was tried."""
        if self.plan.adapted is not None:
            return None
        from whyperf.investigation.so_far import TriedFunctions

        try:
            with progress() as shown:
                return tried_first(answer, planned(self.plan, self.args.output_file), ends, shown)
        except WhyperfError as error:
            _say(f"functions of the good build cannot be tried in the bad program: {error.sentence}")
        except KeyboardInterrupt:
            _say("interrupted; it goes on without functions of the good build")
        return TriedFunctions()

    def _proven(self, answer: ShownVerdict, ends: float, functions: TriedFunctions | None) -> ShownVerdict:
        from whyperf.revisions.investigating import investigate_hunks

        subject = planned(self.plan, self.args.output_file)
        with progress() as shown:
            verdict = investigated(answer, subject, ends, shown, functions)
            if self.compared is not None and self.args.prove:
                verdict = investigate_hunks(verdict, self.compared, subject, self._revisions(answer, ends, shown))
        return replace(answer, verdict=verdict)

    def _revisions(self, answer: ShownVerdict, ends: float, shown: Steps) -> Rebuilding:
        from whyperf.revisions.investigating import Rebuilding

        return Rebuilding(self.args.build, answer.examined.bad, ends, shown)

    def _chosen(self) -> set[Pass]:
        """What the user has decided about, or what cannot be had of one benchmark among many."""
        if self.plan.adapted is not None:
            return set(Pass)
        if self.args.trace or self.plan.measuring.clock == "wall":
            return set(Pass) - ({Pass.PROOF} if self.args.prove else set())
        measuring = self.plan.measuring
        decided = {Pass.MEMORY} if measuring.memory_interval else set()
        if measuring.withholds_values and not self.args.prove:
            decided |= {Pass.PROOF}  # it prints values as they are
        # Counting runs cannot tell how many units of work they did where calls of a function are the units.
        no_units = measuring.work_count is not None or measuring.latency is not None
        return decided | ({Pass.COUNTS} if self.plan.counts or no_units else set())

    def _take(
        self, kind: Pass, recorded: Recorded, answer: ShownVerdict, runs: int | None
    ) -> tuple[Recorded, ShownVerdict]:
        outcomes: Outcomes = {Side.GOOD: [], Side.BAD: []}
        if kind is Pass.COUNTS:
            number = len(recorded[Side.GOOD]) + 1
            try:
                with progress() as shown:
                    counted = record_counting_runs(self.plan, number, outcomes, shown)
            except KeyboardInterrupt:
                _discard(self.plan.folder / f"{side.value}-{number}" for side in Side)
                raise
            self._note(outcomes)
            both = {side: [*recorded[side], *counted[side]] for side in Side}
            return both, judged(both[Side.GOOD], both[Side.BAD], self.args)
        plans = {Pass.WAITS: _waits, Pass.MEMORY: _memory}
        further = plans.get(kind, self.traced)(self.plan)
        folder = self.plan.folder / kind.value
        with progress() as shown:
            paths = record_pairs(replace(further, folder=folder, runs=runs, counts=False), outcomes, shown)
        self._note(outcomes)
        again = judged(paths[Side.GOOD], paths[Side.BAD], self.args)
        return (paths, again) if again.verdict.suspects else (recorded, answer)

    def _note(self, outcomes: Outcomes) -> None:
        """How further runs ended is said like how the first ones did."""
        for side, runs in outcomes.items():
            self.outcomes[side] += runs


def _is_settled(proofs: tuple[Proof, ...]) -> bool:
    from whyperf.investigation.investigate import is_settled

    return is_settled(proofs)


def _waits(plan: ComparisonPlan) -> ComparisonPlan:
    return replace(plan, measuring=replace(plan.measuring, clock="wall"))


def _memory(plan: ComparisonPlan) -> ComparisonPlan:
    return replace(plan, measuring=replace(plan.measuring, memory_interval=DEFAULT_INTERVAL))


def _discard(recordings: Iterable[Path]) -> None:
    """Counts of one side, or of a part of a run, say nothing, and would be read with the runs beside them."""
    for path in recordings:
        with contextlib.suppress(OSError, ForeignFileError):
            if is_provably_ours(path):
                remove_recording(path)


def _say(sentence: str) -> None:
    print(f"whyperf: {sentence}", file=sys.stderr)
