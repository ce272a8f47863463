"""The option of counting runs."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from whyperf.collect.setup.lifecycle import Measuring
from whyperf.errors import WhyperfError


def add_counts(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("exact call counts instead of samples")
    group.add_argument("--counts", action="store_true", help="count every call of the program and its libraries")


def add_counting_runs(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("exact call counts beside samples")
    group.add_argument(
        "--counts",
        action="store_true",
        help="run each side once more to count every call, and say who calls more often",
    )


def check_counts(args: argparse.Namespace) -> None:
    """Refuses options that make no sense together with it, and machines on which it does not work."""
    usual = Measuring()
    others = {
        "--pid": args.pid is not None,
        "--trace": args.trace,
        "--clock wall": args.clock != usual.clock,
        "--rate": args.rate != usual.rate_hz,
    }
    _check(args, others, "whyperf record --counts -- COMMAND")


def check_counting_runs(args: argparse.Namespace) -> None:
    others = {"--benchmark": args.benchmark is not None}
    _check(args, others, "whyperf compare --counts --good COMMAND --bad COMMAND")


def _check(args: argparse.Namespace, others: Mapping[str, bool], example: str) -> None:
    if not args.counts:
        return
    always = {
        "--deep": args.deep,
        "--skip": bool(args.skip),
        "--component": bool(args.component),
        "--redact": args.redact,
        "--work-count": args.work_count is not None,
        "--latency": args.latency is not None,
    }
    for option, given in {**others, **always}.items():
        if given:
            raise WhyperfError(f"--counts and {option} exclude each other.", example, status=2)
    from whyperf.collect.counts.run import check_counts_here

    check_counts_here()
