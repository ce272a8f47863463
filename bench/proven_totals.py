"""`python -m bench.proven_totals [FILE...]`: what `bench.proven --write` found, added up: how often a link is proven,
and what that took. Without files: the development set, and the first runs of the blind sets.

A case ends in a value when a way back is shown, or a decision was forced, and no function of another build is proven.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench.cases.ranks import rank

_SETS = (
    "development",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
)
_MEANS = ("value", "spread", "decision")
_KEPT = [Path(__file__).parent / f"proven-{name}.json" for name in _SETS]


@dataclass(frozen=True)
class Total:
    name: str
    cases: int
    first: int
    functions: int  # cases with a proven function of another build
    values: int  # cases that end in a value
    proven: int  # of those, with a proven link
    triggers: int  # of those, with no proven link and a trigger
    elsewhere: int  # of all with something proven, those where none of it is the function with the mistake
    seconds: tuple[float, float]  # in the middle, and the longest
    runs: tuple[float, float]


def total(name: str, rows: Sequence[dict[str, Any]]) -> Total:
    """Rows of `bench.proven`; those that could not be measured are left out."""
    rows = [row for row in rows if not row["failed"]]
    functions = [row for row in rows if _found(row, "proven", "function") or _found(row, "proven", "variable")]
    decided = [row for row in rows if any(" decision " in one for one in row["findings"])]
    values = [row for row in rows if (row["chain"] or row in decided) and row not in functions]
    proven = [row for row in values if any(_found(row, "proven", means) for means in _MEANS)]
    triggers = [row for row in values if row not in proven and _found(row, "trigger", "value")]
    elsewhere = [row for row in rows if (names := _proven(row)) and rank(names, row["cause"]) is None]
    seconds, runs = ([row[what] for row in rows] or [0] for what in ("seconds", "runs"))
    return Total(
        name,
        len(rows),
        sum(row["proven"] == 1 for row in rows),
        len(functions),
        len(values),
        len(proven),
        len(triggers),
        len(elsewhere),
        (median(seconds), max(seconds)),
        (median(runs), max(runs)),
    )


def _proven(row: dict[str, Any]) -> list[str]:
    """Functions."""
    return [one.split(" ", 2)[2] for one in row["findings"] if one.startswith("proven ")]


def _found(row: dict[str, Any], finding: str, means: str) -> bool:
    return any(one.startswith(f"{finding} {means} ") for one in row["findings"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, default=_KEPT)
    files = parser.parse_args().files
    rows = {file.stem.removeprefix("proven-"): json.loads(file.read_text()) for file in files}
    rows["all"] = [row for one in rows.values() for row in one]
    print("| set | cases | cause first | function proven | ends in a value | link proven | trigger ", end="")
    print("| proven elsewhere | seconds | runs |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, ones in rows.items():
        of = total(name, ones)
        took = [f"{of.seconds[0]:.0f} (most {of.seconds[1]:.0f})", f"{of.runs[0]:g} (most {of.runs[1]:g})"]
        counts = [of.cases, of.first, of.functions, of.values, of.proven, of.triggers, of.elsewhere]
        print("|", " | ".join([name, *map(str, counts), *took]), "|")


if __name__ == "__main__":
    main()
