"""`python -m bench.memory [CASE ...]`: the rank of the true function in whyperf's list and in those of other tools."""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.accuracy.comparing import diagnose, record, recordings_in
from bench.cache import SubjectError
from bench.cases.case import Commands, Side
from bench.memory.peers import LIMIT_S, PEERS
from bench.memory.subjects import Case, cases
from bench.peers.peer import Recordings

_SAME_WORK = ("--same-work", "yes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--runs", type=int, default=3, help="pairs of runs (default 3)")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--same", action="store_true", help="the good build against itself: nothing may be named")
    instead.add_argument(
        "--twice", action="store_true", help="the good builds of servers under twice the load: more work at most"
    )
    instead.add_argument(
        "--counts", action="store_true", help="calls counted as well: the rank with them, and without them"
    )
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
        which = next((f"-{name}" for name in ("same", "twice", "counts") if getattr(args, name)), "")
        answers = folder / f"{case.name}{which}"
        said = _said(case, _answer(case, answers, args))
        if args.counts:
            kept = recordings_in(answers)
            sampled = Recordings(kept.good[:-1], kept.bad[:-1])
            said = f"{said}; without counts: {_said(case, diagnose(sampled, *_SAME_WORK))}"
        if not args.peers:
            return f"{case.name}: {said}"
        with tempfile.TemporaryDirectory() as scratch:
            Path(scratch).chmod(0o777)  # massif writes when a server ends, which may be another user's by then
            others = ", ".join(f"{peer} {_of_peer(peer, case, Path(scratch))}" for peer in PEERS)
        return f"{case.name}: {said}; {others}"


def _answer(case: Case, folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    kept = recordings_in(folder)
    same_work = () if args.twice else _SAME_WORK
    if not kept.good:
        counts = ("--counts",) if args.counts else ()
        kept = record(_sides(case, args), args.runs, folder, "--memory", *counts, *same_work)
    for recording in (*kept.good, *kept.bad):
        status = json.loads((recording / "manifest.json").read_text())["exit_status"]
        if status and not case.commands.ready:
            raise ValueError(f"its command ended with status {status}")
    return diagnose(kept, *same_work)


def _sides(case: Case, args: argparse.Namespace) -> Commands:
    good = case.commands.good
    bad = good if args.same else _twice(good) if args.twice else case.commands.bad
    return replace(case.commands, bad=bad)


def _twice(side: Side) -> Side:
    """The number that its load ends with, doubled: such loads say how many units of work they did."""
    if not side.drive or not side.drive[-1].isdigit():
        raise ValueError("its load says no units of work")
    return replace(side, drive=[*side.drive[:-1], str(2 * int(side.drive[-1]))])


def _said(case: Case, answer: dict[str, Any]) -> str:
    names = [suspect["function"] for suspect in answer["suspects"]]
    symptom = answer["symptom"]
    grew = f"{symptom['good'] / 1e6:.0f} -> {symptom['bad'] / 1e6:.0f} MB" if symptom["kind"] == "memory" else "-"
    first = f"{answer['suspects'][0]['pattern']}: {json.dumps(answer['suspects'][0]['why'])}" if names else ""
    at = next((at for at, name in enumerate(names, 1) if case.means(name)), None)
    return f"whyperf {answer['verdict']} ({grew}), rank {at or '-'} of {len(names)} {names[:3]} {first}"


def _of_peer(peer: str, case: Case, scratch: Path) -> str:
    try:
        ranks = PEERS[peer](case, scratch)
    except subprocess.TimeoutExpired:
        return f"took longer than {LIMIT_S:.0f} s"
    except subprocess.CalledProcessError as error:
        return f"failed: `{error.cmd[0]}` ended with {error.returncode}"
    if ranks is None:
        return "not run"
    return f"{ranks.by_size or '-'} by size, {ranks.by_difference or '-'} by difference"


if __name__ == "__main__":
    main()
