"""What came of one case: where every tool ranks the known functions, and how right whyperf's answer is besides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from bench.accuracy.blocks import BlockDistance, block_distance
from bench.cases.case import Case, Truth
from bench.cases.ranks import rank, same
from bench.peers.peer import Peer, Ranking

CHILD = "child process"


@dataclass(frozen=True)
class Ranks:
    """Rank of the mistake and of the place where the excess is spent, by one tool; or why it gave none."""

    cause: int | None
    spent: int | None
    problem: str = ""

    def __str__(self) -> str:
        return self.problem or f"{self.cause or '-'}/{self.spent or '-'}"


@dataclass(frozen=True)
class Cost:
    """What a diagnosis of the case's recordings takes."""

    wall_s: float
    cpu_s: float
    memory_mb: float


@dataclass(frozen=True)
class Answers:
    """The verdicts that whyperf gives on the same recordings."""

    whole: Mapping[str, Any]
    without_values: Mapping[str, Any]
    paper: Mapping[str, Any]
    single: tuple[Mapping[str, Any], ...]  # one good and one bad recording each


@dataclass(frozen=True)
class Outcome:
    case: str
    verdict: str
    pattern: str  # of the first suspect
    pattern_right: bool
    variable: str  # that the culprit's entry names rightly, if any
    lines_away: int | None  # from the line of the mistake to the nearest one in the culprit's entry
    blocks_away: BlockDistance | None  # None: not in one function's code, or the culprit is not named
    ahead: int | None  # suspects before the culprit that are neither it nor where the excess is spent
    excess: float  # bad / good of the symptom
    suspects: tuple[str, ...]
    ours: Ranks
    without_values: Ranks
    paper: Ranks
    single: tuple[Ranks, ...]
    cost: Cost
    peers: Mapping[str, Ranks] = field(default_factory=dict)
    load: float = 0.0  # average of the machine when it was recorded


def score(case: Case, answers: Answers, programs: Sequence[Path], cost: Cost, load: float = 0.0) -> Outcome:
    truth, verdict = case.truth, answers.whole
    suspects, symptom = verdict["suspects"], verdict["symptom"]
    culprit = next((one for one in suspects if _is(one, truth.cause)), None)
    pattern = suspects[0]["pattern"] if suspects else ""
    return Outcome(
        case=case.id,
        verdict=verdict["verdict"],
        pattern=pattern,
        pattern_right=pattern in (truth.pattern, *truth.also),
        variable=_variable(culprit, truth) if culprit else "",
        lines_away=min((abs(line - truth.line) for line in lines_named(culprit, truth)), default=None),
        blocks_away=block_distance(programs, truth.file, truth.line, lines_named(culprit, truth)),
        ahead=_ahead(suspects, truth),
        excess=symptom["bad"] / symptom["good"] if symptom["good"] else float("inf"),
        suspects=tuple(one["function"] for one in suspects[:10]),
        ours=ranks_in(verdict, truth),
        without_values=ranks_in(answers.without_values, truth),
        paper=ranks_in(answers.paper, truth),
        single=tuple(ranks_in(one, truth) for one in answers.single),
        cost=cost,
        load=load,
    )


def ranks_in(verdict: Mapping[str, Any], truth: Truth) -> Ranks:
    names = [suspect["function"] for suspect in verdict["suspects"]]
    return Ranks(rank(names, truth.cause), rank(names, truth.spent))


def peer_ranks(peer: Peer, told: Ranking, truth: Truth) -> Ranks:
    cause, spent = rank(told.names, truth.cause), rank(told.names, truth.spent)
    unseen = truth.in_child and not peer.follows_children and cause is None
    return Ranks(cause, spent, told.problem or (CHILD if unseen else ""))


def lines_named(suspect: Mapping[str, Any] | None, truth: Truth) -> list[int]:
    """Lines of the true file that a suspect's entry names: its own, the one that decides that it is reached, and those
    where abnormal values were read."""
    if suspect is None or PurePath(suspect["file"] or "").name != PurePath(truth.file).name:
        return []
    told = [
        suspect["line"],
        suspect["decided_by"],
        *(line for variable in suspect["variables"] for line in variable["lines"]),
    ]
    return [line for line in told if line]


def _is(suspect: Mapping[str, Any], names: Sequence[str]) -> bool:
    return any(same(suspect["function"], name) for name in names)


def _ahead(suspects: Sequence[Mapping[str, Any]], truth: Truth) -> int | None:
    place = next((at for at, one in enumerate(suspects) if _is(one, truth.cause)), None)
    return None if place is None else sum(not _is(one, truth.spent) for one in suspects[:place])


def _variable(suspect: Mapping[str, Any], truth: Truth) -> str:
    named = (variable["name"] for variable in suspect["variables"])
    return next((name for name in named if name in truth.variables), "")
