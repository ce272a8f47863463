"""Does it help to put first who decides by exact counts? The same recordings of known cases, with counting runs and
without.

    python -m bench.decided                          # all cases
    python -m bench.decided CASE ... --keep FOLDER   # recordings are kept there, and read if they are there already

Prints a row for each case in which somebody decides, and how often the cause comes first in all.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.accuracy.comparing import diagnose, record, recordings_in
from bench.cache import SubjectError
from bench.cases.case import CASES, Case, all_cases, commands, load
from bench.cases.ranks import rank
from bench.peers.peer import Recordings


@dataclass(frozen=True)
class Row:
    case: str
    cause: tuple[str, ...]
    without: int | None  # rank of the cause by the sampled runs; None: not listed
    counted: int | None  # with counting runs
    decides: str  # who comes first by counts, in the report's words; empty: nobody
    failed: str = ""


def measure(case: Case, folder: Path) -> Row:
    both = recordings_in(folder) if folder.exists() else record(commands(case), 3, folder, "--counts")
    sampled = Recordings(*(tuple(one for one in side if not _counts(one)) for side in (both.good, both.bad)))
    without, counted = diagnose(sampled), diagnose(both)
    if "call_counts" not in counted:
        return Row(case.id, case.truth.cause, None, None, "", "not judged by CPU time, or calls were not counted")
    decides = [one["why"] for one in counted["suspects"][:1] if any(e["engine"] == "counts" for e in one["evidence"])]
    ranks = [rank([one["function"] for one in found["suspects"]], case.truth.cause) for found in (without, counted)]
    return Row(case.id, case.truth.cause, *ranks, "".join(decides))


def _counts(recording: Path) -> bool:
    manifest: dict[str, Any] = json.loads((recording / "manifest.json").read_text())
    return "call_counts" in manifest["tables"]


def show(rows: Sequence[Row]) -> None:
    measured = [row for row in rows if not row.failed]
    print("| case | without counts | with counts | first by counts |")
    print("|---|---|---|---|")
    for row in measured:
        if row.decides:
            before, after = ("-" if one is None else str(one) for one in (row.without, row.counted))
            print(f"| {row.case} | {before} | {after} | {row.decides} |")
    firsts = [sum(getattr(row, name) == 1 for row in measured) for name in ("without", "counted")]
    print(f"Cause first in {firsts[1]} of {len(measured)} with counts, in {firsts[0]} without.")
    for row in rows:
        if row.failed:
            print(f"  {row.case}: {row.failed}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--keep", metavar="FOLDER", type=Path, help="where recordings are kept, a folder a case")
    parser.add_argument("--write", metavar="FILE", type=Path, help="keep the rows as JSON")
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for case in [load(CASES / name) for name in args.cases] or all_cases():
            try:
                rows.append(measure(case, (args.keep or Path(scratch)) / case.id))
            except (SubjectError, ValueError) as error:
                rows.append(Row(case.id, (), None, None, "", str(error).splitlines()[0][:120]))
            if args.write:
                args.write.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    show(rows)


if __name__ == "__main__":
    main()
