"""Decisions: conditional jumps of the bad run that take a branch that the good run never takes.

One good and one bad run of the same build note the branches of their jumps. Only forcing shows whether one is the
cause: they are tried in the order in which the bad run makes them, since what follows from one comes later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from whyperf.collect.blocks.run import EnteredBlocks, ModuleBlocks, check_branches, run_noting_blocks
from whyperf.collect.observation.sites import ObservedSite
from whyperf.diagnose.origin import Proof, ProofMeans
from whyperf.errors import WhyperfError
from whyperf.investigation.trials import Investigated
from whyperf.origin.hops import own_place, statement
from whyperf.origin.program_code import ProgramCode
from whyperf.origin.source_text import read_line
from whyperf.proof.by_decision import DecisionPlace, OfInput, OutOf, prove_decision
from whyperf.proof.rounds import ProofSide, SharedFileError
from whyperf.proof.sentences import ProofClaim
from whyperf.proof.trial import TrialKind

_MOST_LOOKS = 30
"""Ten are enough for one of three searches among 16 jumps of which a third change the output, 20 for four of five."""
_DIFFERENT = "Good and bad runs take different branches, and"
_UNTRIED = {
    OutOf.TIME: f"{_DIFFERENT} there was no time to try all of them: `whyperf prove --budget` allows more.",
    OutOf.LOOKS: f"{_DIFFERENT} {_MOST_LOOKS} runs that force them were not enough to try all of them.",
}
_NOT_FORCED = "No branch was forced. {why}"
_FORCED = "Branches were forced to go as in the good run, in {runs}{result}."
_NO_RESULT = ": the output changed, or most of the excess stayed"
_NOTHING_NOTED = "The {kind} run noted no branches, so none could be compared."
_NOT_WHOLE = "The good run's branches are not all known: part of it could not be observed."


@dataclass(frozen=True)
class OtherDecision:
    """A conditional jump."""

    module: Path
    address: int
    taken_in_good: bool
    """It always is there, or never."""
    first_ns: int
    """When it went the other way in the bad run for the first time."""


def other_decisions(good: EnteredBlocks, bad: EnteredBlocks) -> list[OtherDecision]:
    """In the order in which the bad run makes them."""
    of_good = {(one.path, one.plan.build_id): one for one in good.modules}
    pairs = ((of_good.get((one.path, one.plan.build_id)), one) for one in bad.modules)
    found = (decision for mine, other in pairs if mine is not None for decision in _in_module(mine, other))
    return sorted(found, key=lambda one: (one.first_ns, one.address))


def _in_module(good: ModuleBlocks, bad: ModuleBlocks) -> Iterator[OtherDecision]:
    mine, its = good.ways, bad.ways
    for old, new, first in ((mine.taken, mine.passed, its.passed), (mine.passed, mine.taken, its.taken)):
        for row in np.flatnonzero((old > 0) & (new == 0) & (first > 0)).tolist():
            yield OtherDecision(bad.path, int(its.address[row]), old is mine.taken, int(first[row]))


def tried_decisions(
    code: ProgramCode, investigated: Investigated, of_input: Callable[[DecisionPlace], OfInput | None]
) -> tuple[Proof, ...]:
    """What forcing showed of the first that removes most of the excess, or of the few with which the program does other
    work. `of_input`: what of the input a decision tests, if that is all it tests, so that it only tells one input from
    the other."""
    so_far = investigated.so_far
    if not investigated.bounds.left_s or so_far.forbidden or so_far.always_crashes:
        return ()
    try:
        places = _compared(code, investigated)
    except WhyperfError as error:
        so_far.leave_decisions(_NOT_FORCED.format(why=error.sentence))
        return ()
    trying, forced = investigated.trying_uncounted("forcing decisions"), 0

    def told(kind: TrialKind, number: int) -> None:
        nonlocal forced
        forced += kind is TrialKind.FORCED
        trying.on_run(kind, number)

    result = ""
    try:
        tried = prove_decision(
            *investigated.sides,
            places,
            replace(trying, on_run=told),
            of_input=of_input,
            most_looks=_MOST_LOOKS,
            usual=so_far.usual,
            on_untried=lambda out_of: so_far.leave_decisions(_UNTRIED[out_of]),
        )
        result = "" if tried else _NO_RESULT
        return tried
    except SharedFileError as error:
        so_far.forbidden = error.sentence
        return ()
    except WhyperfError as error:
        so_far.leave_decisions(error.sentence)
        return ()
    finally:
        if forced:
            so_far.decisions_forced = _FORCED.format(runs=f"{forced} {'run' if forced == 1 else 'runs'}", result=result)


def _compared(code: ProgramCode, investigated: Investigated) -> list[DecisionPlace]:
    """After two runs."""
    for side in investigated.sides:
        check_branches(side.program, side.environment)
    good, bad = (
        _noted(kind, side, investigated) for kind, side in zip(("good", "bad"), investigated.sides, strict=True)
    )
    if not good.is_whole:
        raise WhyperfError(_NOT_WHOLE)
    return [_place(code, one) for one in other_decisions(good, bad)]


def _noted(kind: str, side: ProofSide, investigated: Investigated) -> EnteredBlocks:
    investigated.say(f"noting branches: {kind} run")
    seen = run_noting_blocks(
        side.program, lifecycle=side.lifecycle, environment=side.environment, seconds=investigated.bounds.left_s
    )
    if seen.failure is not None:
        raise seen.failure
    if not seen.modules:
        raise WhyperfError(_NOTHING_NOTED.format(kind=kind))
    return seen


def _place(code: ProgramCode, decision: OtherDecision) -> DecisionPlace:
    own = own_place(code.module(decision.module).places(decision.address))
    return DecisionPlace(
        ProofClaim(
            own.function,
            decision.module.name,
            own.file,
            own.line,
            statement(read_line(own.file, own.line)) or f"the jump at {decision.address:#x}",
            "",
            "",
            means=ProofMeans.DECISION,
        ),
        ObservedSite(decision.module, decision.address),
        decision.taken_in_good,
    )
