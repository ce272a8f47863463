"""`python -m bench.values_statistics`: what the values engine finds where the truth is known, and how fast.

`recorded`: false discoveries and power in real recordings (`bench/values_recorded.py`).
`rates`: the same in made series (`bench/values_rates.py`).
`redis`: how long a diagnosis of three good and three bad recordings of a redis server takes.
"""

from __future__ import annotations

import argparse
import sys

from bench.cache import SubjectError
from bench.values_rates import show_rates


def main() -> int:
    options = _options()
    if options.command == "rates":
        return 0 if show_rates(options.families, options.variables, options.seed) else 1
    if options.command == "redis":
        from bench.values_redis import show_redis

        return 0 if show_redis(options.repeats, reuse=options.reuse) else 1
    from bench.values_recorded import show_recorded

    good = show_recorded(options.pool, options.more, options.jobs, reuse=options.reuse, only=options.only)
    return 0 if good else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.values_statistics", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    recorded = commands.add_parser("recorded")
    recorded.add_argument("--pool", type=int, default=36, help="recordings of each program (default: 36)")
    recorded.add_argument(
        "--more", type=int, default=18, help="shuffled and resampled families a program (default: 18)"
    )
    recorded.add_argument("--jobs", type=int, default=2)
    recorded.add_argument("--reuse", action="store_true", help="take the recordings of the last time")
    recorded.add_argument("--only", action="append", default=[], metavar="PROGRAM")
    rates = commands.add_parser("rates")
    rates.add_argument("--families", type=int, default=60)
    rates.add_argument("--variables", type=int, default=110)
    rates.add_argument("--seed", type=int, default=1)
    redis = commands.add_parser("redis")
    redis.add_argument("--repeats", type=int, default=5)
    redis.add_argument("--reuse", action="store_true", help="take the recordings of the last time")
    return parser.parse_args()


if __name__ == "__main__":
    try:
        status = main()
    except (SubjectError, ValueError) as error:
        sys.exit(str(error))
    sys.exit(status)
