"""The same behaviour twice: how often any context is called slower."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.contexts.case import ContextCase, all_cases
from bench.contexts.causes import scratch_folder
from bench.contexts.recorded import TRACED, record
from bench.false_alarms import deal
from bench.intervals import rate_upper_bound
from bench.tool import whyperf

# Good sides of cases that differ: threads and a socket, an interpreter, a compressor, servers under load.
_SUBJECTS = (
    "kiosk-list",
    "python-extension-busy",
    "pigz-libz-busy",
    "nginx-libz-busy",
    "apache-module-busy",
    "postgres-index",
)


@dataclass(frozen=True)
class Pair:
    subject: str
    verdict: str
    suspects: tuple[str, ...]
    contexts: int  # that were called slower


def pairs_of(case: ContextCase, pool: int, dealings: int) -> list[Pair]:
    """Consecutive recordings are compared one to one; a second dealing begins one later, with sides exchanged."""
    with scratch_folder() as scratch:
        runs = case.runs(scratch)
        paths = [scratch / f"{number:03}" for number in range(pool)]
        for path in paths:
            record(runs.good, runs.ready, path, *TRACED)
            print(f"\r{case.id}: {path.name} recorded ", end="", file=sys.stderr, flush=True)
        pairs = [_compared(case.id, pair.good[0], pair.bad[0]) for pair in deal(paths, 1, dealings)]
    print("\r", end="", file=sys.stderr)
    return pairs


def subjects() -> list[ContextCase]:
    return [case for case in all_cases() if case.id in _SUBJECTS]


def _compared(subject: str, good: Path, bad: Path) -> Pair:
    answer = whyperf("diagnose", str(good), str(bad))
    suspects = answer["suspects"]
    slower = [one for one in suspects if any(evidence["engine"] == "contexts" for evidence in one["evidence"])]
    return Pair(subject, answer["verdict"], tuple(one["function"] for one in suspects), len(slower))


def markdown(pairs: Sequence[Pair]) -> str:
    rows = [
        "| program | pairs | a context called slower | any suspect | called different | insufficient |",
        "|---" * 6 + "|",
    ]
    for subject in (*dict.fromkeys(pair.subject for pair in pairs), ""):
        chosen = [pair for pair in pairs if subject in ("", pair.subject)]
        counts = (
            sum(pair.contexts > 0 for pair in chosen),
            sum(bool(pair.suspects) for pair in chosen),
            sum(pair.verdict == "difference" for pair in chosen),
            sum(pair.verdict == "insufficient" for pair in chosen),
        )
        rows.append(f"| {subject or 'all'} | {len(chosen)} | {' | '.join(map(str, counts))} |")
    alarms = sum(pair.contexts > 0 for pair in pairs)
    named = sorted({f"{pair.subject}: {pair.suspects[0]}" for pair in pairs if pair.suspects})
    return "\n".join(
        [*rows, "", f"Below {100 * rate_upper_bound(alarms, len(pairs)):.1f}% with 95% confidence.", *named]
    )
