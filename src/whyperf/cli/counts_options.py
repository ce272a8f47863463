"""The option of counting runs."""

from __future__ import annotations

import argparse

from whyperf.collect.lifecycle import Measuring
from whyperf.errors import WhyperfError


def add_counts(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("exact call counts instead of samples")
    group.add_argument("--counts", action="store_true", help="count every call of the program and its libraries")


def check_counts(args: argparse.Namespace) -> None:
    """Refuses options that make no sense together with it, and machines on which it does not work."""
    if not args.counts:
        return
    usual = Measuring()
    others = {
        "--pid": args.pid is not None,
        "--deep": args.deep,
        "--trace": args.trace,
        "--skip": bool(args.skip),
        "--clock wall": args.clock != usual.clock,
        "--rate": args.rate != usual.rate_hz,
        "--component": bool(args.component),
        "--redact": args.redact,
        "--work-count": args.work_count is not None,
    }
    for option, given in others.items():
        if given:
            raise WhyperfError(
                f"--counts and {option} exclude each other.", "whyperf record --counts -- COMMAND", status=2
            )
    from whyperf.collect.counts.run import check_counts_here

    check_counts_here()
