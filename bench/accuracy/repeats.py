"""Does the same question get the same answer? Cases recorded and diagnosed anew several times."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bench.accuracy import store
from bench.accuracy.comparing import diagnose, record
from bench.accuracy.outcome import ranks_in
from bench.accuracy.table import rows
from bench.cache import SubjectError, cache_folder
from bench.cases.case import Case, commands

STEADY = 0.9


@dataclass(frozen=True)
class Repeated:
    case: str
    ranks: tuple[int | None, ...]  # of the cause

    @property
    def usual(self) -> int | None:
        """The most frequent rank; of several, the best."""
        counts = Counter(self.ranks)
        return min(counts, key=lambda one: (-counts[one], one is None, one or 0))

    @property
    def unchanged(self) -> float:
        return self.ranks.count(self.usual) / len(self.ranks)


def run_repeats(cases: Sequence[Case], runs: int, times: int, *, resume: bool) -> bool:
    """Prints the ranks of each repetition; a run that is taken up goes on where the last one ended."""
    found: list[Repeated] = []
    complete = True
    for case in cases:
        path = store.stored(case.id, f"repeats-{runs}")
        ranks = json.loads(path.read_text()) if resume and path.exists() else []
        print(f"{case.id} ...", file=sys.stderr, flush=True)
        try:
            while len(ranks) < times:
                ranks.append(_rank(case, runs))
                path.write_text(json.dumps(ranks))
        except (SubjectError, subprocess.SubprocessError, ValueError) as error:
            print(f"  left out: {error}", file=sys.stderr)
            complete = False
        if ranks:
            found.append(Repeated(case.id, tuple(ranks)))
    print(markdown(found))
    return complete


def _rank(case: Case, runs: int) -> int | None:
    folder = cache_folder() / "recordings" / "repeats" / case.id
    recordings = record(commands(case), runs, folder)
    found = ranks_in(diagnose(recordings), case.truth).cause
    shutil.rmtree(folder)
    return found


def markdown(repeated: Sequence[Repeated]) -> str:
    table = rows(
        ("case", "ranks of the cause", "usual", "unchanged"),
        (
            (
                one.case,
                " ".join(str(rank or "-") for rank in one.ranks),
                str(one.usual or "-"),
                f"{100 * one.unchanged:.0f}%",
            )
            for one in repeated
        ),
    )
    steady = sum(one.unchanged >= STEADY for one in repeated)
    every = [rank == one.usual for one in repeated for rank in one.ranks]
    return f"{table}\n\nUnchanged in {STEADY:.0%} of the repetitions or more: {steady} of {len(repeated)} cases; " + (
        f"in {sum(every)} of {len(every)} repetitions altogether."
    )
