"""`python -m bench.transparency`: the long versions of what tests/transparency checks in minutes."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from bench.cache import SubjectError
from bench.odd_targets.listed import TARGETS
from bench.odd_targets.matrix import compare_targets, totals
from bench.suites import MORE_REDIS_UNITS, Suite, all_coreutils_tests, coreutils_suite, redis_suite, sqlite_suite
from bench.watching import compiled, unwatched, watched_by
from bench.ways import WAYS

_PARTS = ["odd", "churn", "storm", "redis", "sqlite", "coreutils"]
_PATIENCE_S = 3600.0
_WAYS_OF_SUITES = ["record", "memory", "counts", "observed"]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.transparency", description=__doc__)
    parser.add_argument("--events", type=int, default=100_000, help="processes and threads to come and go")
    parser.add_argument("--only", action="append", default=[], choices=_PARTS)
    parser.add_argument("--target", action="append", default=[], metavar="NAME", help="of the odd targets only these")
    parser.add_argument("--way", action="append", default=[], choices=list(WAYS), help="watch this way only")
    options = parser.parse_args()
    parts = options.only or (["odd"] if options.target or options.way else _PARTS)
    good = True
    for part in parts:
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            ways = options.way or _WAYS_OF_SUITES
            try:
                if part == "odd":
                    good &= _same_targets(options.target, options.way or list(WAYS))
                elif part == "churn":
                    good &= _same_program("churn.c", str(options.events), folder, ways)
                elif part == "storm":
                    good &= _same_program("storm.c", "2000000", folder, ways)
                elif part == "redis":
                    good &= _same_suite(redis_suite(MORE_REDIS_UNITS), folder, ways)
                elif part == "sqlite":
                    good &= _same_suite(sqlite_suite(), folder, ways)
                else:
                    good &= _same_suite(coreutils_suite(all_coreutils_tests()), folder, ways)
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


def _same_program(source: str, argument: str, folder: Path, ways: list[str]) -> bool:
    command = [str(compiled(source, folder, "-pthread")), argument]
    plain = unwatched(command, folder, timeout=_PATIENCE_S)
    good = plain.status == 0
    for way in ways:
        seen, missing = watched_by(way, command, folder, folder / way, timeout=_PATIENCE_S)
        same = seen == plain and not missing
        print(f"{source} {argument}, {way}: {'the same' if same else 'DIFFERENT'}: {seen.stdout.strip()!r} {missing}")
        if not same:
            print(f"  unwatched: {plain}\n  watched: {seen}")
        good &= same
    return good


def _same_suite(suite: Suite, folder: Path, ways: list[str]) -> bool:
    plain = unwatched(suite.command, suite.folder, timeout=_PATIENCE_S)
    before = suite.outcomes(plain)
    good = len(before) > 0
    for way in ways:
        said = folder / way
        seen, missing = watched_by(way, suite.command, suite.folder, said, programs=suite.programs, timeout=_PATIENCE_S)
        after = suite.outcomes(seen)
        print(
            f"{suite.name}, {way}: {len(before)} results, {len(set(before) ^ set(after))} of them different when "
            f"watched, status {seen.status}, unwatched {plain.status} {missing}",
            flush=True,
        )
        for line in sorted(set(before) ^ set(after)):
            print(f"  {'unwatched' if line in before else 'watched'}: {line}")
        good &= before == after and seen.status == plain.status and not missing
    return good


if __name__ == "__main__":
    sys.exit(main())
