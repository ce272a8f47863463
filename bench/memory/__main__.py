"""`python -m bench.memory [CASE ...]`: the rank of the true function in whyperf's list and in those of other tools."""

from __future__ import annotations

import argparse
import json
import tempfile
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.accuracy.comparing import diagnose, record, recordings_in
from bench.cache import SubjectError
from bench.memory.peers import PEERS, Ranks
from bench.memory.subjects import Case, cases

_RECORDED_WITH = ("--memory", "--same-work", "yes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--runs", type=int, default=3, help="pairs of runs (default 3)")
    parser.add_argument("--same", action="store_true", help="the good build against itself: nothing may be named")
    parser.add_argument("--peers", action="store_true", help="memray, heaptrack and massif on the same commands too")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="keep recordings there, and diagnose kept ones anew"
    )
    args = parser.parse_args()
    for case in cases():
        if args.cases and case.name not in args.cases:
            continue
        try:
            print(_row(case, args), flush=True)
        except (SubjectError, ValueError) as error:
            print(f"{case.name}: {error}", flush=True)


def _row(case: Case, args: argparse.Namespace) -> str:
    with nullcontext(args.keep) if args.keep else tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        said = _said(case, _answer(case, folder / (f"{case.name}-same" if args.same else case.name), args))
        if not args.peers:
            return f"{case.name}: {said}"
        with tempfile.TemporaryDirectory() as scratch:
            found = {peer: run(case, Path(scratch)) for peer, run in PEERS.items()}
        others = ", ".join(f"{peer} {_shown(ranks)}" for peer, ranks in found.items())
        return f"{case.name}: {said}; {others}"


def _answer(case: Case, folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    kept = recordings_in(folder)
    if not kept.good:
        sides = replace(case.commands, bad=case.commands.good) if args.same else case.commands
        kept = record(sides, args.runs, folder, *_RECORDED_WITH)
    for recording in (*kept.good, *kept.bad):
        status = json.loads((recording / "manifest.json").read_text())["exit_status"]
        if status and not case.commands.ready:
            raise ValueError(f"its command ended with status {status}")
    return diagnose(kept, "--same-work", "yes")


def _said(case: Case, answer: dict[str, Any]) -> str:
    names = [suspect["function"] for suspect in answer["suspects"]]
    symptom = answer["symptom"]
    grew = f"{symptom['good'] / 1e6:.0f} -> {symptom['bad'] / 1e6:.0f} MB" if symptom["kind"] == "memory" else "-"
    first = f"{answer['suspects'][0]['pattern']}: {json.dumps(answer['suspects'][0]['why'])}" if names else ""
    at = next((at for at, name in enumerate(names, 1) if case.means(name)), None)
    return f"whyperf {answer['verdict']} ({grew}), rank {at or '-'} of {len(names)} {names[:3]} {first}"


def _shown(ranks: Ranks | None) -> str:
    if ranks is None:
        return "not run"
    return f"{ranks.by_size or '-'} by size, {ranks.by_difference or '-'} by difference"


if __name__ == "__main__":
    main()
