"""What came of one case: where every tool ranks the known functions, and how right the first answer is besides."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path, PurePath
from typing import Any

from bench.cases.case import Case, Truth
from bench.cases.peers import PeerRankings
from bench.cases.ranks import rank, same


@dataclass(frozen=True)
class Ranks:
    """Rank of the mistake and of the place where the excess is spent, by one tool."""

    cause: int | None
    spent: int | None

    def __str__(self) -> str:
        return f"{self.cause or '-'}/{self.spent or '-'}"


@dataclass(frozen=True)
class Answers:
    """The verdicts that whyperf gives on the same recordings."""

    whole: Mapping[str, Any]
    without_values: Mapping[str, Any]
    paper: Mapping[str, Any]


@dataclass(frozen=True)
class Outcome:
    case: str
    verdict: str
    pattern: str  # of the first suspect
    pattern_right: bool
    variable: str  # that the culprit's entry names rightly, if any
    lines_away: int | None  # from the line of the mistake to the nearest one in the culprit's entry
    excess: float  # bad / good of the symptom
    suspects: list[str]
    ours: Ranks
    without_values: Ranks
    paper: Ranks
    perf_self: Ranks
    perf_children: Ranks
    perf_diff: Ranks
    gprof: Ranks | None  # None where the program was not built for it
    seconds: float


def score(case: Case, answers: Answers, peers: PeerRankings, gprof: Sequence[str] | None, seconds: float) -> Outcome:
    truth, verdict = case.truth, answers.whole
    suspects, symptom = verdict["suspects"], verdict["symptom"]

    def ranks(names: Sequence[str]) -> Ranks:
        return Ranks(rank(names, truth.cause), rank(names, truth.spent))

    culprit = next((one for one in suspects if any(same(one["function"], name) for name in truth.cause)), None)
    pattern = suspects[0]["pattern"] if suspects else ""
    return Outcome(
        case=case.id,
        verdict=verdict["verdict"],
        pattern=pattern,
        pattern_right=pattern in (truth.pattern, *truth.also),
        variable=_variable(culprit, truth) if culprit else "",
        lines_away=_lines_away(culprit, truth) if culprit else None,
        excess=symptom["bad"] / symptom["good"] if symptom["good"] else float("inf"),
        suspects=_functions(verdict)[:10],
        ours=ranks(_functions(verdict)),
        without_values=ranks(_functions(answers.without_values)),
        paper=ranks(_functions(answers.paper)),
        perf_self=ranks(peers.self_time),
        perf_children=ranks(peers.children),
        perf_diff=ranks(peers.diff),
        gprof=ranks(gprof) if gprof is not None else None,
        seconds=round(seconds, 1),
    )


def _functions(verdict: Mapping[str, Any]) -> list[str]:
    return [suspect["function"] for suspect in verdict["suspects"]]


def _variable(suspect: Mapping[str, Any], truth: Truth) -> str:
    named = (variable["name"] for variable in suspect["variables"])
    return next((name for name in named if name in truth.variables), "")


def _lines_away(suspect: Mapping[str, Any], truth: Truth) -> int | None:
    if not suspect["file"] or PurePath(suspect["file"]).name != PurePath(truth.file).name:
        return None
    lines = [suspect["line"], *(line for variable in suspect["variables"] for line in variable["lines"])]
    return min((abs(line - truth.line) for line in lines if line), default=None)


def write(outcomes: Iterable[Outcome], path: Path) -> None:
    path.write_text(json.dumps([asdict(outcome) for outcome in outcomes], indent=1) + "\n")


def read(path: Path) -> Outcome:
    """One stored outcome; raises KeyError or TypeError where another version stored it."""
    (told,) = json.loads(path.read_text())
    ranked = [field.name for field in fields(Outcome) if field.type in ("Ranks", "Ranks | None")]
    return Outcome(**{**told, **{name: Ranks(**told[name]) if told[name] else None for name in ranked}})


def table(outcomes: Sequence[Outcome]) -> str:
    """Ranks as `cause/spent`: the function with the mistake, and the best ranked one where the excess is spent."""
    head = (
        "case", "bad/good", "whyperf", "no values", "paper", "perf diff", "perf report", "--children", "gprof",
        "pattern", "variable", "lines", "first suspect",
    )  # fmt: skip
    rows = [head] + [
        (
            one.case, f"{one.excess:.2f}", str(one.ours), str(one.without_values), str(one.paper), str(one.perf_diff),
            str(one.perf_self), str(one.perf_children), str(one.gprof or "n/a"),
            one.pattern if one.pattern_right else f"({one.pattern or '-'})", one.variable or "-",
            "-" if one.lines_away is None else str(one.lines_away), one.suspects[0] if one.suspects else one.verdict,
        )
        for one in outcomes
    ]  # fmt: skip
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join([*lines, "", summary(outcomes)])


def summary(outcomes: Sequence[Outcome]) -> str:
    """How often each tool puts the function with the mistake first."""
    tools = {
        "whyperf": [one.ours for one in outcomes],
        "without values": [one.without_values for one in outcomes],
        "the paper's method": [one.paper for one in outcomes],
        "perf diff": [one.perf_diff for one in outcomes],
        "perf report": [one.perf_self for one in outcomes],
        "gprof": [one.gprof for one in outcomes if one.gprof],
    }
    first = [f"{tool} {sum(ranks.cause == 1 for ranks in told)} of {len(told)}" for tool, told in tools.items() if told]
    right = sum(one.pattern_right for one in outcomes)
    return f"cause first: {', '.join(first)}. Pattern right: {right} of {len(outcomes)}."
