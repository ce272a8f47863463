"""Pairs in which nothing is wrong: the good side of every case against itself, under circumstances that cost time.

- same: the same runs again;
- twice: twice the load, where the case says how (`twice`, or `twice_drive` for servers);
- neighbour: beside busy processes that come and go;
- half: pinned to one CPU that is shared with a busy loop, as on a machine half as fast.

The right answer names no suspect: "none", "more-work", or that the evidence does not suffice.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from multiprocessing import Process
from pathlib import Path

from bench.accuracy import store
from bench.accuracy.comparing import diagnose
from bench.accuracy.table import rows
from bench.cache import SubjectError, cache_folder
from bench.cases.case import CASES, Case, commands, told
from bench.intervals import rate_upper_bound
from bench.load import neighbour
from bench.peers.peer import Recordings
from bench.tool import record, whyperf_argument

KINDS = ("same", "twice", "neighbour", "half")


@dataclass(frozen=True)
class Pair:
    case: str
    kind: str
    verdict: str
    ratio: float  # bad / good of the symptom
    suspects: tuple[str, ...]

    @property
    def right(self) -> bool:
        return not self.suspects


def run_nonbugs(cases: Sequence[Case], kinds: Sequence[str], runs: int, *, resume: bool) -> bool:
    """Prints every pair and the rates; whether all could be had."""
    complete = True
    for case in with_different_goods(cases):
        path = store.stored(case.id, "nonbugs")
        if not (resume and path.exists()):
            print(f"{case.id} ...", file=sys.stderr, flush=True)
            try:
                pairs = _pairs(case, kinds, runs)
            except (SubjectError, subprocess.SubprocessError, ValueError) as error:
                print(f"  left out: {error}", file=sys.stderr)
                complete = False
                continue
            path.write_text(json.dumps([asdict(pair) for pair in pairs], indent=1) + "\n")
    found = [pair for case in cases if (path := store.stored(case.id, "nonbugs")).exists() for pair in _read(path)]
    print(markdown(found))
    return complete


def with_different_goods(cases: Sequence[Case]) -> list[Case]:
    """Some cases have their good side in common."""
    return list({(case.good, case.good_drive, str(case.builds)): case for case in reversed(cases)}.values())[::-1]


def twice(case: Case) -> Case | None:
    """The case whose good side has twice the load; None where it says no way to do that."""
    text = told(CASES / case.id)
    if "twice" not in text and "twice_drive" not in text:
        return None
    return replace(case, good=text.get("twice", case.good), good_drive=text.get("twice_drive", case.good_drive))


def _pairs(case: Case, kinds: Sequence[str], runs: int) -> list[Pair]:
    folder = cache_folder() / "recordings" / "nonbugs" / case.id
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    more = twice(case)
    circumstances: dict[str, tuple[Case | None, Callable[[], AbstractContextManager[None]]]] = {
        "same": (case, nullcontext),
        "twice": (more, nullcontext),
        "neighbour": (case, lambda: neighbour(os.cpu_count() or 1)),
        "half": (case, half_a_cpu),
    }
    good = _recorded(case, folder / "good", runs)
    pairs = []
    for kind in kinds:
        other, around = circumstances[kind]
        if other is None:
            continue
        with around():
            bad = _recorded(other, folder / kind, runs)
        answer = diagnose(Recordings(good, bad))
        symptom, suspects = answer["symptom"], tuple(one["function"] for one in answer["suspects"])
        ratio = symptom["bad"] / symptom["good"] if symptom["good"] else float("inf")
        pairs.append(Pair(case.id, kind, answer["verdict"], round(ratio, 2), suspects))
        print(f"  {kind}: {answer['verdict']} {', '.join(suspects[:3])}", file=sys.stderr, flush=True)
    shutil.rmtree(folder)
    return pairs


def _recorded(case: Case, folder: Path, runs: int) -> tuple[Path, ...]:
    paths = tuple(folder.with_name(f"{folder.name}-{number}") for number in range(runs))
    for path in paths:
        wanted = commands(case)
        server = ["--ready", wanted.ready, "--drive", whyperf_argument(wanted.good.drive)] if wanted.ready else []
        record(path, wanted.good.command, *server)
    return paths


@contextmanager
def half_a_cpu() -> Iterator[None]:
    """What is started meanwhile shares the last CPU with a busy loop."""
    allowed = os.sched_getaffinity(0)
    busy = Process(target=_spin, daemon=True)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        busy.start()
        yield
    finally:
        busy.kill()
        busy.join()
        os.sched_setaffinity(0, allowed)


def _spin() -> None:
    while True:
        pass


def _read(path: Path) -> list[Pair]:
    return [Pair(**{**pair, "suspects": tuple(pair["suspects"])}) for pair in json.loads(path.read_text())]


def markdown(pairs: Sequence[Pair]) -> str:
    return f"{_rates(pairs)}\n\n{_wrong(pairs)}"


def _rates(pairs: Sequence[Pair]) -> str:
    kinds = [kind for kind in KINDS if any(pair.kind == kind for pair in pairs)]
    groups = {kind: [pair for pair in pairs if pair.kind == kind] for kind in kinds}
    if len(kinds) > 1:
        groups["all"] = list(pairs)
    return rows(
        ("kind", "pairs", "no suspect", "wrong at most (95%)", "none", "more-work", "insufficient", "difference"),
        (
            (
                kind,
                str(len(group)),
                f"{sum(pair.right for pair in group)} ({100 * sum(pair.right for pair in group) / len(group):.0f}%)",
                f"{100 * rate_upper_bound(sum(not pair.right for pair in group), len(group)):.0f}%",
                *(
                    str(sum(pair.verdict == verdict for pair in group))
                    for verdict in ("none", "more-work", "insufficient", "difference")
                ),
            )
            for kind, group in groups.items()
        ),
    )


def _wrong(pairs: Sequence[Pair]) -> str:
    wrong = [pair for pair in pairs if not pair.right]
    if not wrong:
        return "No pair yields a suspect."
    return rows(
        ("case", "kind", "bad/good", "suspects"),
        (
            (pair.case, pair.kind, f"{pair.ratio:.2f}", ", ".join(f"`{name}`" for name in pair.suspects[:3]))
            for pair in wrong
        ),
    )
