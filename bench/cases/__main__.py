"""`python -m bench.cases`: runs the accuracy cases and prints each tool's rank of the known function."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from bench.cache import SubjectError, cache_folder
from bench.cases import outcome as outcomes_of
from bench.cases.case import Case, Commands, all_cases, commands, is_ours
from bench.cases.outcome import Answers, Outcome, score, table
from bench.cases.peers import gprof_ranking, perf_rankings
from bench.tool import whyperf, whyperf_argument

_TOP = 100


def main() -> int:
    options = _options()
    chosen = [case for case in all_cases() if not options.only or case.id in options.only]
    if not chosen:
        print(f"No case is called {', '.join(options.only)}.", file=sys.stderr)
        return 2
    outcomes: list[Outcome] = []
    for number, case in enumerate(chosen, start=1):
        stored = cache_folder() / "results" / f"{case.id}.json"
        if options.resume and stored.exists():
            outcomes.append(outcomes_of.read(stored))
            continue
        print(f"[{number}/{len(chosen)}] {case.id}: {case.title}", file=sys.stderr, flush=True)
        try:
            outcome = _run(case, options.runs, options.keep)
        except (SubjectError, subprocess.SubprocessError, ValueError) as error:
            print(f"  left out: {error}", file=sys.stderr)
            continue
        stored.parent.mkdir(exist_ok=True)
        outcomes_of.write([outcome], stored)
        outcomes.append(outcome)
    print(table(outcomes))
    if options.json:
        outcomes_of.write(outcomes, Path(options.json))
    return 0 if len(outcomes) == len(chosen) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.cases", description=__doc__)
    parser.add_argument("--only", action="append", default=[], metavar="ID", help="run this case; may be repeated")
    parser.add_argument("--runs", type=int, default=3, help="recordings of each side (default: 3)")
    parser.add_argument("--json", metavar="FILE", help="write the outcomes as JSON")
    parser.add_argument("--resume", action="store_true", help="take the stored outcome of cases that ran before")
    parser.add_argument("--keep", action="store_true", help="keep the recordings and perf's data")
    return parser.parse_args()


def _run(case: Case, runs: int, keep: bool) -> Outcome:
    began = time.monotonic()
    folder = cache_folder() / "recordings" / case.id
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    wanted = commands(case)
    recordings = folder / "whyperf"
    whole = _compare(wanted, runs, recordings)
    answers = Answers(whole, _again(recordings, "--no-values"), _again(recordings, "--method", "paper"))
    peers = perf_rankings(wanted, folder)
    gprof = gprof_ranking(commands(case, "-pg").bad, folder) if is_ours(case) else None
    if not keep:
        shutil.rmtree(folder)
    return score(case, answers, peers, gprof, time.monotonic() - began)


def _compare(wanted: Commands, runs: int, folder: Path) -> dict[str, Any]:
    arguments = ["--good", whyperf_argument(wanted.good.command), "--bad", whyperf_argument(wanted.bad.command)]
    if wanted.ready:
        arguments += ["--ready", wanted.ready]
        arguments += ["--good-drive", whyperf_argument(wanted.good.drive)]
        arguments += ["--bad-drive", whyperf_argument(wanted.bad.drive)]
    return whyperf("compare", *arguments, "--runs", str(runs), "--top", str(_TOP), "-o", str(folder))


def _again(folder: Path, *options: str) -> dict[str, Any]:
    """Another verdict on the recordings that a comparison has made."""
    good, bad = (sorted(str(path) for path in folder.glob(f"{kind}-*")) for kind in ("good", "bad"))
    return whyperf("diagnose", "--good", *good, "--bad", *bad, "--top", str(_TOP), *options)


if __name__ == "__main__":
    sys.exit(main())
