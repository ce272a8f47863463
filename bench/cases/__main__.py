"""`python -m bench.cases`: runs the accuracy cases and prints each tool's rank of the known function."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.cache import SubjectError, cache_folder
from bench.cases.case import Case, Commands, all_cases, commands
from bench.cases.peers import PeerRankings, perf_rankings
from bench.cases.ranks import rank
from bench.tool import whyperf, whyperf_argument

_TOP = 100


@dataclass(frozen=True)
class Ranks:
    """Rank of the mistake and of the place where the excess is spent, by one tool."""

    cause: int | None
    spent: int | None

    def __str__(self) -> str:
        return f"{self.cause or '-'}/{self.spent or '-'}"


@dataclass(frozen=True)
class Outcome:
    case: str
    verdict: str
    pattern: str  # of the first suspect
    excess: float  # bad / good of the symptom
    suspects: list[str]
    ours: Ranks
    perf_self: Ranks
    perf_children: Ranks
    perf_diff: Ranks
    seconds: float


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
            outcomes.append(_read(stored))
            continue
        print(f"[{number}/{len(chosen)}] {case.id}: {case.title}", file=sys.stderr, flush=True)
        try:
            outcome = _run(case, options.runs, options.keep)
        except (SubjectError, subprocess.SubprocessError, ValueError) as error:
            print(f"  left out: {error}", file=sys.stderr)
            continue
        stored.parent.mkdir(exist_ok=True)
        stored.write_text(json.dumps(asdict(outcome), indent=1))
        outcomes.append(outcome)
    print(table(outcomes))
    if options.json:
        Path(options.json).write_text(json.dumps([asdict(outcome) for outcome in outcomes], indent=1) + "\n")
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
    verdict = _compare(wanted, runs, folder / "whyperf")
    peers = perf_rankings(wanted, folder)
    if not keep:
        shutil.rmtree(folder)
    return _outcome(case, verdict, peers, time.monotonic() - began)


def _compare(wanted: Commands, runs: int, folder: Path) -> dict[str, Any]:
    arguments = ["--good", whyperf_argument(wanted.good.command), "--bad", whyperf_argument(wanted.bad.command)]
    if wanted.ready:
        arguments += ["--ready", wanted.ready]
        arguments += ["--good-drive", whyperf_argument(wanted.good.drive)]
        arguments += ["--bad-drive", whyperf_argument(wanted.bad.drive)]
    return whyperf("compare", *arguments, "--runs", str(runs), "--top", str(_TOP), "-o", str(folder))


def _outcome(case: Case, verdict: dict[str, Any], peers: PeerRankings, seconds: float) -> Outcome:
    suspects = [suspect["function"] for suspect in verdict["suspects"]]
    symptom = verdict["symptom"]

    def ranks(names: tuple[str, ...] | list[str]) -> Ranks:
        return Ranks(rank(names, case.truth.cause), rank(names, case.truth.spent))

    return Outcome(
        case=case.id,
        verdict=verdict["verdict"],
        pattern=verdict["suspects"][0]["pattern"] if suspects else "",
        excess=symptom["bad"] / symptom["good"] if symptom["good"] else float("inf"),
        suspects=suspects[:10],
        ours=ranks(suspects),
        perf_self=ranks(peers.self_time),
        perf_children=ranks(peers.children),
        perf_diff=ranks(peers.diff),
        seconds=round(seconds, 1),
    )


def _read(path: Path) -> Outcome:
    told = json.loads(path.read_text())
    ranks = {name: Ranks(**told[name]) for name in ("ours", "perf_self", "perf_children", "perf_diff")}
    return Outcome(**{**told, **ranks})


def table(outcomes: list[Outcome]) -> str:
    """Ranks as `cause/spent`: the function with the mistake, and the best ranked one where the excess is spent."""
    head = ("case", "bad/good", "verdict", "whyperf", "perf diff", "perf report", "--children", "first suspect")
    rows = [head] + [
        (
            one.case, f"{one.excess:.2f}", one.verdict, str(one.ours), str(one.perf_diff), str(one.perf_self),
            str(one.perf_children), one.suspects[0] if one.suspects else "-",
        )
        for one in outcomes
    ]  # fmt: skip
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
