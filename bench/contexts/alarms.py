"""The same behaviour twice: how often any context is called slower.

A pool of recordings of each program is kept, so that another engine can be asked of the same runs. Pairs of single runs
cannot tell small differences from noise, and say so; pairs of three and three runs should say that there is none.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.cache import cache_folder
from bench.contexts.case import ContextCase, all_cases
from bench.contexts.causes import scratch_folder
from bench.contexts.recorded import TRACED, record
from bench.false_alarms import Pair as Dealt
from bench.false_alarms import deal
from bench.intervals import rate_upper_bound
from whyperf.diagnose.diagnosis import diagnose
from whyperf.engines.contexts.findings import ENGINE as CONTEXTS
from whyperf.recording.sealed.reader import Recording

# Good sides of cases that differ: threads and a socket, an interpreter, a compressor, servers under load.
_SUBJECTS = (
    "kiosk-list",
    "python-extension-busy",
    "pigz-libz-busy",
    "nginx-libz-busy",
    "apache-module-busy",
    "postgres-index",
)
_RUNS = (1, 3)  # a side
_DEALINGS = 2


@dataclass(frozen=True)
class Pair:
    subject: str
    runs: int  # a side
    verdict: str
    suspects: tuple[str, ...]
    contexts: int  # that were called slower


def pairs_of(case: ContextCase, pool: int, *, reuse: bool) -> list[Pair]:
    """Consecutive recordings are dealt in turns; a second dealing begins one later, with sides exchanged."""
    paths = _pool(case, pool, reuse)
    pairs = []
    for runs in _RUNS:
        for dealt in deal(paths, runs, _DEALINGS):
            pairs.append(_compared(case.id, dealt))
            print(f"\r{case.id}: {len(pairs)} pairs compared ", end="", file=sys.stderr, flush=True)
    print("\r", end="", file=sys.stderr)
    return pairs


def _pool(case: ContextCase, count: int, reuse: bool) -> list[Path]:
    folder = cache_folder() / "recordings" / "contexts-alarms" / case.id
    paths = [folder / f"{number:03}" for number in range(count)]
    if reuse and all((path / "manifest.json").exists() for path in paths):
        return paths
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with scratch_folder() as scratch:
        runs = case.runs(scratch)
        for path in paths:
            record(runs.good, runs.ready, path, *TRACED)
            print(f"\r{case.id}: {path.name} recorded ", end="", file=sys.stderr, flush=True)
    return paths


def subjects() -> list[ContextCase]:
    return [case for case in all_cases() if case.id in _SUBJECTS]


def _compared(subject: str, dealt: Dealt) -> Pair:
    good, bad = ([Recording(path) for path in side] for side in (dealt.good, dealt.bad))
    verdict = diagnose(good, bad)
    slower = [one for one in verdict.suspects if any(evidence.engine == CONTEXTS for evidence in one.evidence)]
    suspects = tuple(one.function for one in verdict.suspects)
    return Pair(subject, len(dealt.good), verdict.kind.value, suspects, len(slower))


def markdown(pairs: Sequence[Pair]) -> str:
    rows = [
        "| program | runs | pairs | a context called slower | any suspect | called different | insufficient |",
        "|---" * 7 + "|",
    ]
    bounds = []
    for runs in sorted({pair.runs for pair in pairs}):
        alike = [pair for pair in pairs if pair.runs == runs]
        programs = dict.fromkeys(pair.subject for pair in alike)
        rows += [_row(one, runs, [pair for pair in alike if pair.subject == one]) for one in programs]
        rows.append(_row("all", runs, alike))
        upper = rate_upper_bound(sum(pair.contexts > 0 for pair in alike), len(alike))
        bounds.append(f"{runs}+{runs}: a context called slower in less than {100 * upper:.1f}%, with 95% confidence.")
    named = sorted({f"{pair.subject}: {pair.suspects[0]}" for pair in pairs if pair.suspects})
    return "\n".join([*rows, "", *bounds, *named])


def _row(subject: str, runs: int, pairs: Sequence[Pair]) -> str:
    counts = (
        len(pairs),
        sum(pair.contexts > 0 for pair in pairs),
        sum(bool(pair.suspects) for pair in pairs),
        sum(pair.verdict == "difference" for pair in pairs),
        sum(pair.verdict == "insufficient" for pair in pairs),
    )
    return f"| {subject} | {runs}+{runs} | {' | '.join(map(str, counts))} |"
