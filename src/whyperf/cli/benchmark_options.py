"""`--benchmark` and `--from-hyperfine`: commands that come from other tools' benchmarks."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from whyperf.errors import WhyperfError


def add_benchmarks(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("benchmarks of other tools")
    group.add_argument(
        "--benchmark",
        metavar="NAME",
        help="compare this benchmark of a google-benchmark or Criterion program, or of pytest-benchmark, per iteration",
    )
    group.add_argument(
        "--from-hyperfine",
        metavar="FILE",
        type=Path,
        help="compare commands that hyperfine exported as JSON; --good and --bad name them by number or text",
    )


def check_benchmarks(args: argparse.Namespace) -> None:
    """Refuses what does not go together, and takes hyperfine's commands for --good and --bad."""
    if args.from_hyperfine is not None:
        if args.rev:
            raise WhyperfError(
                "--from-hyperfine has commands, and --rev compares revisions of one: give either.",
                "whyperf compare --help",
                status=2,
            )
        _take_commands(args)
    if args.benchmark is None:
        return
    others = {
        "--deep": args.deep,
        "--drive": args.drive or args.good_drive or args.bad_drive,
        "--work-count": args.work_count,
        "--latency": args.latency,
        "--ready": args.ready,
        "--show-output": args.show_output,
    }
    option = next((name for name, given in others.items() if given), None)
    if option is not None:
        raise WhyperfError(
            f"--benchmark counts iterations from the framework's own report, and does not go with {option}.",
            "whyperf compare --benchmark NAME --good COMMAND --bad COMMAND",
            status=2,
        )


def _take_commands(args: argparse.Namespace) -> None:
    from whyperf.adapters.hyperfine import choose, read_export

    args.good, args.bad = choose(read_export(args.from_hyperfine), args.from_hyperfine, args.good, args.bad)
    for side, command in (("good", args.good), ("bad", args.bad)):
        print(f"whyperf: {side}: {command}", file=sys.stderr)
