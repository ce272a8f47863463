"""`python -m bench.transparency`: the long versions of what tests/transparency checks in minutes."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from bench.cache import SubjectError
from bench.odd_targets.listed import TARGETS
from bench.odd_targets.matrix import WAYS, compare_targets, totals
from bench.suites import MORE_REDIS_UNITS, Suite, all_coreutils_tests, coreutils_suite, redis_suite, sqlite_suite
from bench.watching import compiled, unwatched, watched

_PARTS = ["odd", "churn", "storm", "redis", "sqlite", "coreutils"]
MEMORY = ("--memory", "--memory-interval", "16K")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.transparency", description=__doc__)
    parser.add_argument("--events", type=int, default=100_000, help="processes and threads to come and go")
    parser.add_argument("--only", action="append", default=[], choices=_PARTS)
    parser.add_argument("--target", action="append", default=[], metavar="NAME", help="of the odd targets only these")
    parser.add_argument(
        "--way", action="append", default=[], choices=list(WAYS), help="record odd targets this way only"
    )
    parser.add_argument("--memory", action="store_true", help="sample allocations as well, often")
    options = parser.parse_args()
    how = MEMORY if options.memory else ()
    parts = options.only or (["odd"] if options.target or options.way else _PARTS)
    good = True
    for part in parts:
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            try:
                if part == "odd":
                    good &= _same_targets(options.target, options.way or list(WAYS))
                elif part == "churn":
                    good &= _same_program("churn.c", str(options.events), folder, how)
                elif part == "storm":
                    good &= _same_program("storm.c", "2000000", folder, how)
                elif part == "redis":
                    good &= _same_suite(redis_suite(MORE_REDIS_UNITS), folder, how)
                elif part == "sqlite":
                    good &= _same_suite(sqlite_suite(), folder, how)
                else:
                    good &= _same_suite(coreutils_suite(all_coreutils_tests()), folder, how)
            except SubjectError as error:
                print(f"{part}: left out: {error}")
                good = False
        print(f"  ({time.monotonic() - began:.0f} s)", flush=True)
    return 0 if good else 1


def _same_targets(names: list[str], ways: list[str]) -> bool:
    chosen = [target for target in TARGETS if not names or target.name in names]
    rows = compare_targets(chosen, ways)
    print(f"\n{len(rows)} targets", *totals(rows, ways), sep="\n")
    return bool(rows) and not any(row.cells[way].answer == "different" for row in rows for way in ways)


def _same_program(source: str, argument: str, folder: Path, how: tuple[str, ...]) -> bool:
    command = [str(compiled(source, folder, "-pthread")), argument]
    plain = unwatched(command, folder, timeout=3600)
    under = watched(command, folder, folder / "recording", timeout=3600, options=how)
    same = under.seen == plain and plain.status == 0
    print(f"{source} {argument}: {'the same' if same else 'DIFFERENT'}: {under.seen.stdout.strip()!r}")
    if not same:
        print(f"  unwatched: {plain}\n  watched: {under.seen}")
    return same


def _same_suite(suite: Suite, folder: Path, how: tuple[str, ...]) -> bool:
    plain = unwatched(suite.command, suite.folder, timeout=3600)
    under = watched(suite.command, suite.folder, folder / "recording", timeout=3600, options=how)
    before, after = suite.outcomes(plain), suite.outcomes(under.seen)
    print(
        f"{suite.name}: {len(before)} results, {len(set(before) ^ set(after))} of them different when watched, "
        f"status {under.seen.status}, unwatched {plain.status}"
    )
    for line in sorted(set(before) ^ set(after)):
        print(f"  {'unwatched' if line in before else 'watched'}: {line}")
    return before == after and under.seen.status == plain.status and len(before) > 0


if __name__ == "__main__":
    sys.exit(main())
