"""`python -m bench.memory [CASE ...]`: the rank of the true function in whyperf's list and in those of other tools."""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from bench.cache import SubjectError
from bench.memory.peers import PEERS, Ranks
from bench.memory.subjects import Case, cases
from bench.tool import whyperf, whyperf_argument


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--runs", type=int, default=3, help="pairs of runs (default 3)")
    parser.add_argument("--same", action="store_true", help="the good build against itself: nothing may be named")
    parser.add_argument("--peers", action="store_true", help="memray, heaptrack and massif on the same commands too")
    args = parser.parse_args()
    for case in cases():
        if args.cases and case.name not in args.cases:
            continue
        try:
            print(_row(case, args), flush=True)
        except SubjectError as error:
            print(f"{case.name}: {error}", flush=True)


def _row(case: Case, args: argparse.Namespace) -> str:
    with tempfile.TemporaryDirectory() as folder:
        good, bad = case.command("good"), case.command("good" if args.same else "bad")
        options = ["--memory", "--quick", "--same-work", "yes", "--no-values", "--runs", str(args.runs)]
        sides = ["--good", whyperf_argument(good), "--bad", whyperf_argument(bad)]
        answer = whyperf("compare", *options, "-o", f"{folder}/runs", *sides)
        said = _said(case, answer)
        if not args.peers:
            return f"{case.name}: {said}"
        found = {name: peer(case, Path(folder)) for name, peer in PEERS.items()}
        others = ", ".join(f"{name} {_shown(ranks)}" for name, ranks in found.items())
        return f"{case.name}: {said}; {others}"


def _said(case: Case, answer: dict[str, Any]) -> str:
    names = [suspect["function"] for suspect in answer["suspects"]]
    rank = next((at for at, name in enumerate(names, 1) if _is_true(case, name)), None)
    symptom = answer["symptom"]
    grew = f"{symptom['good'] / 1e6:.0f} -> {symptom['bad'] / 1e6:.0f} MB" if symptom["kind"] == "memory" else "-"
    first = f"{answer['suspects'][0]['pattern']}: {json.dumps(answer['suspects'][0]['why'])}" if names else ""
    return f"whyperf {answer['verdict']} ({grew}), rank {rank or '-'} of {len(names)} {names[:3]} {first}"


def _is_true(case: Case, name: str) -> bool:
    return any(name == true or name.endswith("::" + true) for true in case.truth)


def _shown(ranks: Ranks | None) -> str:
    if ranks is None:
        return "not run"
    return f"{ranks.by_size or '-'} by size, {ranks.by_difference or '-'} by difference"


if __name__ == "__main__":
    main()
