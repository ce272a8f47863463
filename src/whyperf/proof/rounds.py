"""The runs of a trial: five kinds, one of each in a round, until they tell or the time is up."""

from __future__ import annotations

import contextlib
import math
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from whyperf.collect.observation.run import DIGEST_OF_NOTHING, digest, observe
from whyperf.collect.observation.sites import ObservationLimits, Observed, ObservedSite
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.program import Program
from whyperf.debuginfo.probes.plan_file import PatchPlan
from whyperf.diagnose.measured.latency import PREFIX
from whyperf.diagnose.measured.threads import queued_s
from whyperf.diagnose.origin import Proof, ProofFinding
from whyperf.diagnose.verdict import PEAK_BYTES
from whyperf.errors import WhyperfError
from whyperf.proof.judging import ProofJudgement, judged, removed_in_part, tells_without_reverse
from whyperf.proof.sentences import ProofClaim
from whyperf.proof.trial import RunEnding, TrialKind, TrialRun

_FIRST_SIGNAL = 129
_CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP, signal.SIGSYS)
_BY_US = ("driver", "for")
_PATIENCE, _LEAST_PATIENCE_S = 6.0, 10.0
_CLOCK_STEP_NS = 20_000_000  # files are stamped by a coarser clock
_BETWEEN, _OLD = ":", "old"  # digests; of a file that is left from an earlier run
ONCE = ObservationLimits(records=1, traps=1, hits_again=0)
"""Tells whether a place is passed at all."""
UsualRuns = dict[TrialKind, list[TrialRun]]
"""Good and bad runs as they are, which all trials of a kind compare with."""


@dataclass(frozen=True)
class ProofSide:
    """How the good runs, or the bad ones, are made."""

    program: Program
    lifecycle: Lifecycle
    environment: Mapping[str, str]
    counted_calls: str = ""
    """The function whose calls are the units of work; empty: the driver reports them, or nobody."""


@dataclass(frozen=True)
class Trying:
    """What is measured, what is compared, and how long it may take."""

    measure: str = "cpu_s"  # or another one of the symptom's that `measuring` knows
    output_files: tuple[Path, ...] = ()
    most_runs: int = 5  # of each kind
    budget_s: float | None = None
    on_run: Callable[[TrialKind, int], None] = lambda _kind, _number: None
    """Before every run, with how many of its kind came before it in the same trial."""
    on_tick: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class Put:
    """What is put into a run."""

    sites: Sequence[ObservedSite] = ()
    transplants: Sequence[PatchPlan] | None = None
    program: Program | None = None
    """One that takes the place of the side's own."""
    is_possible: bool = True
    """False: there is no such run, which tells nothing."""
    is_reached: bool = True
    """False: there is none because the program does not come to the place."""


def usual_runs() -> UsualRuns:
    return {TrialKind.GOOD: [], TrialKind.BAD: []}


class SharedFileError(WhyperfError):
    """Nothing is put into a program that works with files which others have open: it could damage them."""


class NotPutError(Exception):
    """What was to be put into a run cannot be there; the text says why, in a sentence."""


class ProofRounds:
    """`put`: what each kind of run gets; `why_not`: why what a run got that has ended says nothing, if so;
    `usual`: good and bad runs that other trials have made in the same way, to which this one adds its own."""

    def __init__(
        self,
        good: ProofSide,
        bad: ProofSide,
        trying: Trying,
        put: Callable[[TrialKind], Put],
        why_not: Callable[[TrialKind, Observed], str] = lambda _kind, _seen: "",
        *,
        usual: UsualRuns | None = None,
    ) -> None:
        self._good, self._bad, self._trying, self._put, self._why_not = good, bad, trying, put, why_not
        self._begun = time.monotonic()
        self.slowest_s = 0.0  # of runs so far, by which others are limited
        self._last_s: dict[TrialKind, float] = {}
        self._made: Counter[TrialKind] = Counter()
        self._without_reverse = False
        self.removed_in_part: float | None = None
        """In the first round, where it was paused for that."""
        known = usual if usual is not None else usual_runs()
        self.runs: dict[TrialKind, list[TrialRun]] = {kind: known.get(kind, []) for kind in TrialKind}

    @property
    def done(self) -> int:
        return min(len(self.runs[kind]) for kind in self._kinds())

    def judged(
        self,
        *,
        from_outside: bool = False,
        is_code: bool = False,
        pauses: bool = False,
        most_runs: int | None = None,
    ) -> ProofJudgement:
        """After as many rounds as it takes. NotPutError where something could not be put into a run. `pauses`: after
        the first round, if only a part of the excess is gone; it goes on when it is asked again. `most_runs`: of each
        kind, if that has changed since."""
        judgement = judged(self.runs, from_outside=from_outside, is_code=is_code)
        most = self._trying.most_runs if most_runs is None else most_runs
        while self.done < most and not self.is_time_up:
            for kind in self._next_round():
                if kind not in self._kinds():
                    continue
                began = time.monotonic()
                self.runs[kind].append(self.run(kind, self._put(kind)))
                self._last_s[kind] = time.monotonic() - began
                judgement = judged(self.runs, from_outside=from_outside, is_code=is_code)
                self._without_reverse = tells_without_reverse(self.runs, from_outside=from_outside, is_code=is_code)
                if judgement.is_stopped:
                    break  # the others of this round would not change it
            if judgement.is_final:
                break
            if pauses and self.done == 1 and (part := removed_in_part(self.runs)) is not None:
                self.removed_in_part = part
                break
        return judgement

    def observed(self, kind: TrialKind, put: Put, limits: ObservationLimits = ObservationLimits()) -> Observed:  # noqa: B008 (frozen)
        """One run of that kind's program. SharedFileError where it must not be made."""
        if kind not in (TrialKind.GOOD, TrialKind.BAD):
            self._refuse_shared()
        side = self._side(kind)
        self._trying.on_run(kind, self._made[kind])
        self._made[kind] += 1
        seen = observe(
            put.program or side.program,
            put.sites,
            transplants=put.transplants,
            lifecycle=side.lifecycle,
            environment=side.environment,
            limits=replace(limits, seconds=self._limit_s(kind)),
            counted_calls=side.counted_calls,
            on_tick=self._trying.on_tick,
        )
        self.slowest_s = max(self.slowest_s, seen.totals.wall_s)
        if seen.failure is not None:
            if kind in (TrialKind.GOOD, TrialKind.BAD):
                raise seen.failure
            _remove_ready_file(side.lifecycle)
        return seen

    def run(self, kind: TrialKind, put: Put) -> TrialRun:
        """The same, as trials look at it."""
        if not put.is_possible:
            return TrialRun(0.0, -1, RunEnding.CRASHED, is_reached=put.is_reached)
        began, limit_s = time.time_ns(), self._limit_s(kind)
        seen = self.observed(kind, put)
        if seen.not_transplanted:
            raise NotPutError(f"{seen.not_transplanted}.")
        run = replace(self._run(seen, self._side(kind), began), limit_s=limit_s)
        if kind is TrialKind.REVERSE and is_missed(put, seen):
            return replace(run, is_reached=False)
        why_not = (self._why_not(kind, seen) or _not_placed(put, seen)) if run.ending is RunEnding.EXITED else ""
        if why_not and kind is not TrialKind.REVERSE:
            raise NotPutError(f"{why_not}.")
        return replace(run, ending=RunEnding.FAILED) if why_not else run

    def _limit_s(self, kind: TrialKind) -> float | None:
        """What the user runs may take as long as it does."""
        is_usual = kind in (TrialKind.GOOD, TrialKind.BAD)
        if is_usual or not self.slowest_s or self._side(kind).lifecycle.for_s is not None:
            return None
        return max(_LEAST_PATIENCE_S, _PATIENCE * self.slowest_s)

    def _refuse_shared(self) -> None:
        for run in (*self.runs[TrialKind.GOOD], *self.runs[TrialKind.BAD]):
            if run.open_elsewhere:
                raise SharedFileError(
                    f"Nothing is forced into a program that writes to files which others use: {run.open_elsewhere}."
                )

    def _side(self, kind: TrialKind) -> ProofSide:
        return self._good if kind in (TrialKind.GOOD, TrialKind.REVERSE) else self._bad

    @property
    def is_time_up(self) -> bool:
        """Before another round ends."""
        budget = self._trying.budget_s
        if budget is None:
            return False
        ahead = sum(self._last_s.get(kind, 0.0) for kind in self._next_round())
        return time.monotonic() - self._begun + ahead > budget

    def _kinds(self) -> list[TrialKind]:
        """Of which there are to be runs, as far as is known by now."""
        return [kind for kind in TrialKind if kind is not TrialKind.REVERSE or not self._without_reverse]

    def _next_round(self) -> list[TrialKind]:
        """Kinds of which one more run is needed, beginning with another one each time."""
        number, kinds = self.done, self._kinds()
        turned = kinds[number % len(kinds) :] + kinds[: number % len(kinds)]
        return [kind for kind in turned if len(self.runs[kind]) == number]

    def _run(self, seen: Observed, side: ProofSide, began: int) -> TrialRun:
        amount = amount_of(seen, self._trying.measure)
        files = "".join(f"{_BETWEEN}{_written(path, began)}" for path in self._trying.output_files)
        return TrialRun(
            amount=math.nan if amount is None else amount,
            status=seen.status,
            ending=ending_of(seen, side.lifecycle),
            output=seen.output + files,
            shape=seen.output_shape + files,
            work=(seen.work or None) if side.lifecycle.for_s is None else None,
            open_elsewhere=seen.open_elsewhere,
            wall_s=seen.totals.wall_s,
        )


def is_missed(put: Put, seen: Observed) -> bool:
    """Whether values were to be forced, and the run came to none of the places. A site forced by a jump counts no
    hits: nothing is known of it."""
    is_counted = put.sites and all(site.forced is not None and not site.forced.by_jump for site in put.sites)
    return bool(is_counted) and all(seen.placed) and not any(seen.hits)


def _not_placed(put: Put, seen: Observed) -> str:
    """Why something that was to be changed in a run was not."""
    refused = zip(put.sites, seen.placed, seen.refused, strict=True)
    return next(
        (
            f"the instruction at {site.address:#x} cannot be changed: {why}"
            for site, is_there, why in refused
            if not is_there
        ),
        "",
    )


def ending_of(seen: Observed, lifecycle: Lifecycle) -> RunEnding:
    by_itself = seen.status >= _FIRST_SIGNAL and seen.stopped_by not in _BY_US
    if by_itself or seen.signal in _CRASHES:  # a driver may notice a crash before we do
        return RunEnding.CRASHED
    if seen.failure is not None:
        return RunEnding.FAILED
    return RunEnding.STOPPED if seen.stopped_by == "for" and lifecycle.for_s is None else RunEnding.EXITED


def _remove_ready_file(lifecycle: Lifecycle) -> None:
    """A server that something was put into, and that could not end in order, leaves the file by which it was ready. It
    was not there before that run, and the next one cannot begin with it."""
    kind, _, path = (lifecycle.ready or "").partition(":")
    if kind == "file":
        with contextlib.suppress(OSError):
            ((lifecycle.folder or Path()) / path).unlink()


def _written(path: Path, began: int) -> str:
    """Digest of a file that the run wrote; one that is left from an earlier run does not count."""
    try:
        is_new = path.stat().st_mtime_ns >= began - _CLOCK_STEP_NS
    except OSError:
        return ""
    return digest(path) if is_new else _OLD


def wrote_nothing(run: TrialRun) -> bool:
    """Neither to its streams nor into a file that was named."""
    return {*run.output.split(_BETWEEN)} <= {DIGEST_OF_NOTHING, "", _OLD}


def proof_of(claim: ProofClaim, judgement: ProofJudgement, runs: int, measure: str, sentence: str) -> Proof:
    shares = judgement.shares
    return Proof(
        finding=judgement.finding,
        means=claim.means,
        function=claim.function,
        module=claim.module,
        file=claim.file,
        line=claim.line,
        what=claim.what,
        good=claim.good,
        bad=claim.bad,
        removed=shares.removed if shares else None,
        sham=shares.sham if shares else None,
        reverse=shares.reverse if shares and judgement.reverse_counts else None,
        runs=runs,
        measure=measure,
        sentence=sentence,
        is_part=claim.is_part,
    )


def not_testable(claim: ProofClaim, measure: str, why: str) -> Proof:
    """`why`: a whole sentence."""
    return proof_of(claim, ProofJudgement(ProofFinding.NOT_TESTABLE), 0, measure, f"Not testable: {why}")


def amount_of(seen: Observed, measure: str) -> float | None:
    """For each unit of work where somebody counts them, but for latency and memory. None: the run does not say."""
    totals = seen.totals
    if measure.startswith(PREFIX):
        which = float(measure.removeprefix(PREFIX).removesuffix("_s"))
        return None if totals.latency is None else totals.latency.percentile(which)
    if measure == PEAK_BYTES:
        return float(totals.max_rss_bytes) or None
    seconds = totals.cpu_s
    if measure in ("wall_s", "own_s"):
        queued = queued_s(totals, seen.stopped_by) if measure == "own_s" else 0.0
        seconds = max(0.0, totals.wall_s - (queued or 0.0))
    return seconds / seen.work if seen.work else seconds
