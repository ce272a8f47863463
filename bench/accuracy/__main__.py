"""`python -m bench.accuracy`: how right whyperf is on cases whose cause is known, beside other tools.

python -m bench.accuracy                    ranks of known causes, by whyperf and by every peer
python -m bench.accuracy --only seq-equal-width --peers "perf diff" COZ
python -m bench.accuracy --engine relations the cases of another engine, by its own runner
"""

from __future__ import annotations

import argparse
import subprocess
import sys

from bench.accuracy.nonbugs import KINDS, run_nonbugs
from bench.accuracy.ranking import run_cases
from bench.accuracy.repeats import run_repeats
from bench.cases.case import all_cases
from bench.peers.book import PEERS, peers_named
from bench.peers.peer import Peer

# Engines whose answers are no ranking of functions have cases, truths and tables of their own.
_OTHER_BOOKS = {"relations": "bench.relations", "contexts": "bench.contexts", "causes": "bench.causes.run"}


def main() -> int:
    options = _options()
    if options.engine in _OTHER_BOOKS:
        return _other_book(options)
    cases = all_cases()
    chosen = [case for case in cases if not options.only or case.id in options.only]
    if unknown := set(options.only) - {case.id for case in cases}:
        print(f"No case is called {', '.join(sorted(unknown))}.", file=sys.stderr)
        return 2
    if options.part == "nonbugs":
        complete = run_nonbugs(chosen, options.kinds, options.runs, resume=options.resume)
    elif options.part == "repeats":
        complete = run_repeats(chosen, options.runs, options.times, resume=options.resume)
    else:
        complete = run_cases(chosen, _peers(options), options)
    return 0 if complete else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.accuracy", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [peer.name for peer in PEERS]
    parser.add_argument(
        "part", nargs="?", choices=["ranks", "nonbugs", "repeats"], default="ranks", help="(default: ranks)"
    )
    parser.add_argument("--only", action="append", default=[], metavar="ID", help="this case; may be repeated")
    parser.add_argument("--engine", choices=["values", *_OTHER_BOOKS], default="values", help="whose cases")
    parser.add_argument("--peers", nargs="*", choices=names, metavar="PEER", help=f"of: {', '.join(names)}; none: none")
    parser.add_argument("--quick", action="store_true", help="without the peers that take minutes a case")
    parser.add_argument("--runs", type=int, default=3, help="recordings of each side (default: 3)")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS, help="of non-bugs (default: all)")
    parser.add_argument("--times", type=int, default=10, help="repetitions (default: 10)")
    parser.add_argument("--json", metavar="FILE", help="write the outcomes as JSON")
    parser.add_argument("--take-over", metavar="FILE", help="begin with the outcomes that --json wrote elsewhere")
    parser.add_argument("--resume", action="store_true", help="run only what has no stored outcome yet")
    parser.add_argument("--again", action="store_true", help="whyperf anew, but peers only where they have no rank yet")
    parser.add_argument("--kept", action="store_true", help="as --again, but from recordings that were kept")
    parser.add_argument("--keep", action="store_true", help="keep the recordings, for bench.sensitivity")
    return parser.parse_args()


def _peers(options: argparse.Namespace) -> list[Peer]:
    if options.peers is not None:
        return peers_named(options.peers)
    return [peer for peer in PEERS if not (options.quick and peer.costly)]


def _other_book(options: argparse.Namespace) -> int:
    if options.engine == "causes":
        words = options.only
    else:
        words = [word for case in options.only for word in ("--only", case)]
        words += ["--resume"] if options.resume and options.engine == "relations" else []
    return subprocess.run([sys.executable, "-m", _OTHER_BOOKS[options.engine], *words], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
