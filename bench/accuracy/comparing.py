"""whyperf on one case: recorded once, diagnosed in several ways."""

from __future__ import annotations

import os
import resource
import shutil
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from bench.accuracy.outcome import Answers, Cost, Outcome, score
from bench.cases.case import Case, Commands, commands
from bench.peers.peer import Recordings
from bench.tool import whyperf, whyperf_argument

TOP = "100"


def record(wanted: Commands, runs: int, folder: Path, *options: str) -> Recordings:
    """Good and bad runs in turn; `options` as `compare` takes them."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    arguments = ["--good", whyperf_argument(wanted.good.command), "--bad", whyperf_argument(wanted.bad.command)]
    if wanted.ready:
        arguments += ["--ready", wanted.ready]
        arguments += ["--good-drive", whyperf_argument(wanted.good.drive)]
        arguments += ["--bad-drive", whyperf_argument(wanted.bad.drive)]
    whyperf("compare", *arguments, "--runs", str(runs), *options, "-o", str(folder))
    return recordings_in(folder)


def recordings_in(folder: Path) -> Recordings:
    good, bad = (tuple(sorted(folder.glob(f"{kind}-*"))) for kind in ("good", "bad"))
    return Recordings(good, bad)


def diagnose(recordings: Recordings, *options: str) -> dict[str, Any]:
    good, bad = (list(map(str, side)) for side in (recordings.good, recordings.bad))
    return whyperf("diagnose", "--good", *good, "--bad", *bad, "--top", TOP, *options)


def compare(case: Case, recordings: Recordings) -> Outcome:
    whole, cost = _measured(recordings)
    pairs = zip(recordings.good, recordings.bad, strict=True)
    answers = Answers(
        whole=whole,
        without_values=diagnose(recordings, "--no-values"),
        paper=diagnose(recordings, "--method", "paper"),
        single=tuple(diagnose(Recordings((good,), (bad,))) for good, bad in pairs),
    )
    program = Path(commands(case).bad.command[0])
    return score(case, answers, [program, *sorted(program.parent.glob("*.so"))], cost, os.getloadavg()[0])


def _measured(recordings: Recordings) -> tuple[dict[str, Any], Cost]:
    """In a process of its own, so that its children's peak of memory is that of this diagnosis."""
    with ProcessPoolExecutor(max_workers=1) as alone:
        return alone.submit(_diagnosed_here, recordings).result()


def _diagnosed_here(recordings: Recordings) -> tuple[dict[str, Any], Cost]:
    started = time.monotonic()
    answer = diagnose(recordings)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = used.ru_utime + used.ru_stime
    return answer, Cost(round(time.monotonic() - started, 2), round(cpu_s, 2), round(used.ru_maxrss / 1024, 1))
