"""`python -m bench.transparency`: the long versions of what tests/transparency checks in minutes."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from bench.cache import SubjectError
from bench.suites import MORE_REDIS_UNITS, Suite, all_coreutils_tests, coreutils_suite, redis_suite
from bench.watching import compiled, unwatched, watched


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.transparency", description=__doc__)
    parser.add_argument("--events", type=int, default=100_000, help="processes and threads to come and go")
    parser.add_argument("--only", action="append", default=[], choices=["churn", "storm", "redis", "coreutils"])
    options = parser.parse_args()
    parts = options.only or ["churn", "storm", "redis", "coreutils"]
    good = True
    for part in parts:
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            try:
                if part == "churn":
                    good &= _same_program("churn.c", str(options.events), folder)
                elif part == "storm":
                    good &= _same_program("storm.c", "2000000", folder)
                elif part == "redis":
                    good &= _same_suite(redis_suite(MORE_REDIS_UNITS), folder)
                else:
                    good &= _same_suite(coreutils_suite(all_coreutils_tests()), folder)
            except SubjectError as error:
                print(f"{part}: left out: {error}")
                good = False
        print(f"  ({time.monotonic() - began:.0f} s)", flush=True)
    return 0 if good else 1


def _same_program(source: str, argument: str, folder: Path) -> bool:
    command = [str(compiled(source, folder, "-pthread")), argument]
    plain = unwatched(command, folder, timeout=3600)
    under = watched(command, folder, folder / "recording", timeout=3600)
    same = under.seen == plain and plain.status == 0
    print(f"{source} {argument}: {'the same' if same else 'DIFFERENT'}: {under.seen.stdout.strip()!r}")
    if not same:
        print(f"  unwatched: {plain}\n  watched: {under.seen}")
    return same


def _same_suite(suite: Suite, folder: Path) -> bool:
    plain = unwatched(suite.command, suite.folder, timeout=3600)
    under = watched(suite.command, suite.folder, folder / "recording", timeout=3600)
    before, after = suite.outcomes(plain), suite.outcomes(under.seen)
    print(f"{suite.name}: {len(before)} results, {len(set(before) ^ set(after))} of them different when watched")
    for line in sorted(set(before) ^ set(after)):
        print(f"  {'unwatched' if line in before else 'watched'}: {line}")
    return before == after and len(before) > 0


if __name__ == "__main__":
    sys.exit(main())
