"""whyperf on one case: recorded once, diagnosed in several ways."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.accuracy.outcome import Answers, Cost, Outcome, score
from bench.cases.case import Case, Commands, commands
from bench.counted import counted, counting
from bench.peers.peer import Recordings
from bench.tool import whyperf

TOP = "100"


def record(wanted: Commands, runs: int, folder: Path, *options: str) -> Recordings:
    """Good and bad runs in turn; `options` as `compare` takes them."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    whyperf("compare", "--quick", *wanted.words(), "--runs", str(runs), *options, "-o", str(folder))
    return recordings_in(folder)


def recordings_in(folder: Path) -> Recordings:
    good, bad = (tuple(sorted(folder.glob(f"{kind}-*"))) for kind in ("good", "bad"))
    return Recordings(good, bad)


def diagnose(recordings: Recordings, *options: str, under: Sequence[str] = ()) -> dict[str, Any]:
    good, bad = (list(map(str, side)) for side in (recordings.good, recordings.bad))
    return whyperf("diagnose", "--good", *good, "--bad", *bad, "--top", TOP, *options, under=under)


def compare(case: Case, recordings: Recordings) -> Outcome:
    whole, cost = measured(recordings)
    pairs = zip(recordings.good, recordings.bad, strict=True)
    answers = Answers(
        whole=whole,
        without_values=diagnose(recordings, "--no-values"),
        paper=diagnose(recordings, "--method", "paper"),
        single=tuple(diagnose(Recordings((good,), (bad,))) for good, bad in pairs),
    )
    program = Path(commands(case).bad.command[0])
    return score(case, answers, [program, *sorted(program.parent.glob("*.so"))], cost, os.getloadavg()[0])


def measured(recordings: Recordings) -> tuple[dict[str, Any], Cost]:
    """Counted beside us, not by us: what we hold would count as memory of the processes that we start."""
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "used"
        answer = diagnose(recordings, under=counting(file))
        used = counted(file)
    return answer, Cost(round(used.elapsed_s, 2), round(used.cpu_s, 2), round(used.peak_bytes / 2**20, 1))
