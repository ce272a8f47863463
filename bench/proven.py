"""Is the true function the cause once values are followed and forced? `compare --prove` beside the same recordings
without it, calls counted.

    python -m bench.proven                    # the development set: known cases whose mistake is cheap and elsewhere
    python -m bench.proven CASE ...           # others
    python -m bench.proven --set blind        # a set whose truth was committed before its first run

Prints a row a case, and writes all of it as JSON with --write; `python -m bench.proven_totals` adds that up.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.cache import SubjectError
from bench.cases.case import CASES, Case, commands, load
from bench.cases.ranks import rank
from bench.tool import whyperf, whyperf_argument
from whyperf.cli.demo import BAD_ARGUMENT, GOOD_ARGUMENT, build

DEVELOPMENT = (
    "lua-long-keys",
    "rsync-hash-table",
    "mawk-long-lines",
    "json-c-keys",
    "grep-same-patterns",
    "file-regex",
    "zstd-reuse",
    "libxslt-variables",
    "hunspell-count",
    "gateway-discard",
    "sqlite-statistics",
    "demo",
)

_OF_ONE_BUILD = ("value", "spread", "decision")


@dataclass(frozen=True)
class Row:
    case: str
    cause: tuple[str, ...]
    without: int | None  # rank of the cause without; None: not listed
    proven: int | None  # rank after following and forcing
    in_chain: bool  # the cause is a function of the chain that is shown
    chain: tuple[str, ...]
    end: str
    findings: tuple[str, ...]
    runs: int
    seconds: float
    failed: str = ""


def measure(case: Case, pairs: int, budget: str) -> Row:
    return _measured(case.id, case.truth.cause, commands(case).words(), pairs, budget)


def measure_demo(pairs: int, budget: str) -> Row:
    program = str(build())
    good, bad = (whyperf_argument([program, argument]) for argument in (GOOD_ARGUMENT, BAD_ARGUMENT))
    return _measured("demo", ("planned_buckets",), ["--good", good, "--bad", bad], pairs, budget)


def _measured(case: str, cause: tuple[str, ...], sides: Sequence[str], pairs: int, budget: str) -> Row:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "recordings"
        began = time.monotonic()
        given = ["--runs", str(pairs), "--top", "100", "-o", str(folder)]
        proven = whyperf("compare", "--prove", "--budget", budget, *sides, *given)
        seconds = time.monotonic() - began
        return _row(case, cause, whyperf("diagnose", *_first_runs(folder), "--top", "100"), proven, seconds)


def _first_runs(folder: Path) -> list[str]:
    """Named one by one: the folder itself stands for the verdict with its proofs."""
    good, bad = (sorted(map(str, folder.glob(f"{side}-*"))) for side in ("good", "bad"))
    return ["--good", *good, "--bad", *bad]


def _row(case: str, wanted: tuple[str, ...], first: dict[str, Any], proven: dict[str, Any], seconds: float) -> Row:
    followed = next((one for one in proven["suspects"] if one["origin"] or one["proofs"]), None)
    origin = followed["origin"] if followed else None
    hops = [hop["function"] for hop in origin["hops"]] if origin else []
    proofs = followed["proofs"] if followed else []
    return Row(
        case,
        wanted,
        rank([one["function"] for one in first["suspects"]], wanted),
        rank([one["function"] for one in proven["suspects"]], wanted),
        rank([*hops, *(one["function"] for one in proofs)], wanted) is not None,
        tuple(f"{hop['function']}:{hop['line']}" for hop in origin["hops"]) if origin else (),
        origin["end"] if origin else "",
        tuple(f"{one['finding']} {one['means']} {one['function']}" for one in proofs),
        (origin["runs"] if origin else 0) + trial_runs(proofs),
        round(seconds, 1),
    )


def trial_runs(proofs: Sequence[dict[str, Any]]) -> int:
    """Runs of the trials of one verdict. Good and bad runs are shared: by trials of values, and by those of what comes
    from the other build. Forced, sham and reverse runs are each trial's own."""
    values = [one["runs"] for one in proofs if one["means"] in _OF_ONE_BUILD]
    from_other_build = [one["runs"] for one in proofs if one["means"] not in _OF_ONE_BUILD]
    return sum(2 * max(some, default=0) + 3 * sum(some) for some in (values, from_other_build))


def show(rows: Sequence[Row]) -> None:
    print("| case | without | proven | in the chain | chain | found | runs | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for row in rows:
        chain = " <- ".join(row.chain) or "-"
        found = "; ".join(row.findings) or row.failed or "-"
        ranks = [str(one) if one is not None else "-" for one in (row.without, row.proven)]
        said = "yes" if row.in_chain else "no"
        print(f"| {row.case} | {ranks[0]} | {ranks[1]} | {said} | {chain} | {found} | {row.runs} | {row.seconds} |")
    for name, ranks_ in (("without", [one.without for one in rows]), ("proven", [one.proven for one in rows])):
        print(f"{name}: cause first in {sum(one == 1 for one in ranks_)} of {len(rows)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--set", dest="of_set", help="cases whose case.toml names this set")
    parser.add_argument("--runs", type=int, default=3, help="pairs of first runs")
    parser.add_argument("--budget", default="4m")
    parser.add_argument("--write", metavar="FILE", type=Path, help="keep the rows as JSON, after every case")
    args = parser.parse_args()
    rows = []
    for name in args.cases or _named(args.of_set):
        try:
            measured = measure_demo if name == "demo" else partial(measure, load(CASES / name))
            row = measured(args.runs, args.budget)
        except (SubjectError, ValueError) as error:
            row = Row(name, (), None, None, False, (), "", (), 0, 0.0, str(error).splitlines()[0][:120])
        rows.append(row)
        show([row])
        if args.write:
            args.write.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    show(rows)


def _named(of_set: str | None) -> Sequence[str]:
    if of_set is None:
        return DEVELOPMENT
    import tomllib

    tables = {path.parent.name: tomllib.loads(path.read_text()) for path in sorted(CASES.glob("*/case.toml"))}
    return [name for name, told in tables.items() if told.get("set") == of_set]


if __name__ == "__main__":
    main()
