"""The investigation of a verdict, within bounds: the first chain that forcing proves is its cause."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from whyperf.collect.observation.devices import why_not_read_only
from whyperf.collect.observation.run import observe
from whyperf.diagnose.measured.measures import is_measurable
from whyperf.diagnose.origin import ChainEnd, Origin, Proof, ProofFinding
from whyperf.diagnose.verdict import Suspect, Verdict, VerdictKind
from whyperf.errors import WhyperfError
from whyperf.investigation.cause import with_cause, with_proofs
from whyperf.investigation.decisions import tried_decisions
from whyperf.investigation.proving import ChainProof, Tried, ends_with_made, hands_on_input, tried_functions
from whyperf.investigation.so_far import SoFar, TriedFunctions
from whyperf.investigation.starts import Beginning, FindBinary, beginnings
from whyperf.investigation.subject import ProofBounds, Say, Subject
from whyperf.investigation.trials import Investigated
from whyperf.investigation.units import why_not_counted
from whyperf.origin.ahead import tells_something
from whyperf.origin.evidence import Bounds, Observing, Targets
from whyperf.origin.search import FoundOrigin, KnownPrograms, search
from whyperf.origin.starts import Start, StartAtLine, StartAtVariable, UnknownVariableError, start_at_line
from whyperf.proof.by_decision import DecisionPlace, OfInput

_CHAINS = 4  # that are followed
_MOST_STARTS = 12  # of which they begin
_MOST_TOLD = 3  # reasons why nothing was followed
_SAME_VALUES = "The values {} are the same in good and bad runs."
_NO_BEGINNING = "The suspects have no variable, call or line with debug information to begin from."
_LOST = (ChainEnd.NOT_FOLLOWED, ChainEnd.ADDRESS)
_PART = 0.4  # of the time that is left, for one chain
_FOR_VALUES = 0.5  # of the time that is left, where decisions are tried as well: further chains begin only then
_RUNS_OF_INPUT = 8  # to see whether a decision is about the input
_MORE = 3  # times as many runs, to be tried next
_RAN_OUT = (
    "{runs} runs followed or forced values, and something was left untried. `{again} --most-runs {more}` tries more."
)
_DEVICES_AT_RISK = "Forced runs can remove device files: /dev could not be made read-only for them ({why})."


@dataclass(frozen=True)
class FollowedSuspect:
    suspect: Suspect
    found: FoundOrigin
    tried: tuple[Tried, ...]

    @property
    def is_proven(self) -> bool:
        return any(one.proof.finding is ProofFinding.PROVEN for one in self.tried)

    @property
    def leads_to_few(self) -> bool:
        """Whether many values become few somewhere on the way, and not only where it begins."""
        return self.found.origin.narrows and bool(self.found.origin.turn)

    @property
    def worth(self) -> tuple[int, bool, bool, int]:
        """Which chain is shown where nothing is proven: what forcing supports, then what ended the search, then what
        leads to an end, and says most. It changes no rank."""
        ranks = {
            ProofFinding.PROVEN: 4,
            ProofFinding.SUPPORTED: 3,
            ProofFinding.TRIGGER: 2,
            ProofFinding.NOT_TESTABLE: 1,
        }
        found = max((ranks.get(one.proof.finding, 0) for one in self.tried if one.is_run), default=1)
        origin = self.found.origin
        return found, self.leads_to_few, origin.end not in _LOST, len(origin.hops)


def investigate(
    verdict: Verdict,
    subject: Subject,
    binary_of: FindBinary,
    bounds: ProofBounds,
    say: Say,
    *,
    again: str,
    functions: TriedFunctions | None = None,
) -> Verdict:
    """The verdict with origin, proofs and cause; as it was where nothing leads further than it did. `again`: the
    command that investigates these recordings. `functions`: what `investigate_functions` has found already."""
    measure = measure_of(verdict)
    if verdict.kind is not VerdictKind.DIFFERENCE or measure is None:
        return verdict
    if why := why_not_counted(subject, measure):
        return _without_chain(verdict, [why], ())
    if why := why_not_read_only():
        verdict = _with_notes(verdict, _DEVICES_AT_RISK.format(why=why))
    investigated = Investigated(subject, measure, bounds, say, SoFar(bounds.runs))
    if functions is None:
        functions = tried_functions(verdict.suspects, investigated)
    investigated.so_far.forbidden = functions.forbidden
    if is_settled(functions.proofs):
        return with_proofs(verdict, functions.proofs)
    return _without_functions(verdict, investigated, binary_of, again=again, of_functions=functions.proofs)


def _without_functions(
    verdict: Verdict, deciding: Investigated, binary_of: FindBinary, *, again: str, of_functions: tuple[Proof, ...]
) -> Verdict:
    """By values and decisions: functions have settled nothing."""
    subject, bounds, so_far, chains = deciding.subject, deciding.bounds, deciding.so_far, list[FollowedSuspect]()
    of_values = bounds if subject.has_two_builds else bounds.part(_FOR_VALUES)
    investigated = replace(deciding, bounds=of_values, all_time=bounds)
    try:
        known = KnownPrograms(subject.good, subject.bad)
    except WhyperfError as error:
        return _without_chain(_with_notes(verdict, so_far.forbidden), [error.sentence], of_functions)
    for chain in _chains(beginnings(verdict, binary_of), investigated, known):
        tried = ChainProof(chain.found, investigated).tried()
        chains.append(FollowedSuspect(chain.suspect, chain.found, tuple(tried)))
        if chains[-1].is_proven or chains[-1].leads_to_few or len(chains) == _CHAINS:
            break
    best = max(chains, key=lambda one: one.worth, default=None)
    decided: tuple[Proof, ...] = ()
    if not subject.has_two_builds and not (best is not None and best.is_proven):
        decided = tried_decisions(known.code, deciding, lambda place: _of_input(place, deciding, known))
    if is_settled(decided):
        return with_proofs(verdict, decided)
    verdict = _with_notes(verdict, so_far.forbidden)
    is_shown = bool(decided) and not (best is not None and is_settled(one.proof for one in best.tried))
    forced = "" if is_shown else so_far.decisions_forced
    of_decisions = [one for one in (forced, so_far.decisions_note) if one]
    if so_far.ran_out and not (best is not None and best.is_proven):
        note = _RAN_OUT.format(runs=so_far.runs, again=again, more=_MORE * bounds.runs)
        verdict = _with_notes(verdict, note)
    if best is None:
        return _without_chain(verdict, so_far.dead_ends, (*decided, *of_functions), of_decisions)
    verdict = _with_notes(verdict, *of_decisions)
    beside = [one.proof for chain in chains if chain is not best for one in chain.tried if one.is_run]
    return with_cause(verdict, best.suspect, best.found.origin, best.tried, beside=(*beside, *decided, *of_functions))


def _with_notes(verdict: Verdict, *notes: str) -> Verdict:
    return replace(verdict, notes=(*verdict.notes, *filter(None, notes)))


def _without_chain(
    verdict: Verdict, dead_ends: Sequence[str], proofs: Sequence[Proof], of_decisions: Sequence[str] = ()
) -> Verdict:
    """`of_decisions`: sentences on which branches were forced, and which were not."""
    reasons = list(dict.fromkeys(dead_ends))[:_MOST_TOLD] or [_NO_BEGINNING]
    note = " ".join(["No value was forced.", *reasons, *of_decisions])
    return with_proofs(_with_notes(verdict, note), proofs)


def investigate_functions(verdict: Verdict, subject: Subject, bounds: ProofBounds, say: Say) -> TriedFunctions | None:
    """Of two builds: what functions of the good one do in the bad program, which needs no other pass. None where there
    is one build, or nothing to be tried."""
    measure = measure_of(verdict)
    if verdict.kind is not VerdictKind.DIFFERENCE or measure is None or not subject.has_two_builds:
        return None
    if why_not_counted(subject, measure):  # `investigate` says so
        return None
    return tried_functions(verdict.suspects, Investigated(subject, measure, bounds, say))


def _why_it_ends(start: Start, origin: Origin) -> str:
    """Of what, where several starts may have been followed: others may differ."""
    if origin.end is ChainEnd.NO_DIFFERENCE and isinstance(start, StartAtVariable):
        return _SAME_VALUES.format(f"of `{start.variable}` in {start.function}")
    if origin.end is ChainEnd.NO_DIFFERENCE and isinstance(start, StartAtLine):
        return _SAME_VALUES.format(f"that line {start.line} of {Path(start.file).name} compares or passes on")
    return origin.sentence


def is_settled(proofs: Iterable[Proof]) -> bool:
    return any(one.is_settled for one in proofs)


def measure_of(verdict: Verdict) -> str | None:
    """What a trial measures; None: it cannot."""
    measure = verdict.symptom.measure
    return measure if is_measurable(measure) else None


def follow(
    start: Start,
    subject: Subject,
    bounds: ProofBounds,
    say: Say,
    known: KnownPrograms | None = None,
    *,
    alone: bool = False,
) -> FoundOrigin:
    """`known`: of other chains in the same programs. `alone`: only the bad one is run."""
    return search(
        start,
        subject.good,
        subject.bad,
        lifecycles=subject.lifecycles,
        environment=subject.environment,
        budget_s=bounds.left_s,
        most_runs=bounds.runs,
        progress=say,
        deep=bounds.deep,
        known=known,
        alone=alone,
    )


def _of_input(place: DecisionPlace, investigated: Investigated, known: KnownPrograms) -> OfInput | None:
    """What it tests, if that is the input or what is made directly of it."""
    claim, bounds = place.claim, investigated.bounds
    part = replace(bounds.part(_PART), runs=_RUNS_OF_INPUT, deep=False)
    try:
        start = start_at_line(place.jump.module, claim.file, claim.line)
        found = follow(start, investigated.subject, part, investigated.say, known)
    except WhyperfError:  # nothing is known of it
        return None
    if not found.origin.hops or not hands_on_input(found, 0):
        return None
    return OfInput.MADE if ends_with_made(found) else OfInput.HANDED_ON


def _telling_first(
    starts: list[Beginning], subject: Subject, bounds: ProofBounds, say: Say, known: KnownPrograms
) -> tuple[list[Beginning], int]:
    """Those whose values differ before those whose values do not; and how many runs it took to tell."""
    left = bounds.left_s
    if len(starts) < 2 or not left:
        return starts, 0
    targets = Targets((subject.good, subject.bad), subject.lifecycles, subject.environment)
    limits, observing = Bounds(bounds.runs, bounds.ends, left), Observing(observe, say)
    try:
        tells, runs = tells_something([one.start for one in starts], targets, limits, observing, known)
    except WhyperfError:  # whoever follows one says why
        return starts, 0
    order = sorted(range(len(starts)), key=lambda number: not tells[number])
    return [starts[number] for number in order], runs


def _chains(starts: Iterable[Beginning], investigated: Investigated, known: KnownPrograms) -> Iterator[FollowedSuspect]:
    """Those that say more than where they began; of the others, it is noted why."""
    subject, bounds, say, so_far = investigated.subject, investigated.bounds, investigated.say, investigated.so_far
    few = list(islice(starts, _MOST_STARTS))
    few, runs = _telling_first(few, subject, bounds, say, known)
    so_far.runs += runs
    for number, beginning in enumerate(few):
        if not bounds.left_s:
            so_far.dead_ends.append("There was no time left to follow one.")
            return
        if not so_far.has_room_for_a_chain():
            so_far.dead_ends.append("There were no runs left to follow one.")
            return
        try:
            time_of = bounds if number else investigated.longest
            part = replace(time_of.part(_PART), runs=so_far.left)
            found = follow(beginning.start, subject, part, say, known)
        except UnknownVariableError:  # a name of the source line may be a type
            continue
        except WhyperfError as error:  # no code reads it there, or it has no debug information
            so_far.dead_ends.append(error.sentence)
            continue
        so_far.count(found.origin)
        if len(found.origin.hops) > 1:
            yield FollowedSuspect(beginning.suspect, found, ())
        else:
            so_far.dead_ends.append(_why_it_ends(beginning.start, found.origin))
