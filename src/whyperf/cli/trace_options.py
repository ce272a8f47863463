"""The options by which `record` and `compare` trace, and by what means that is done here."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace

from whyperf.cli.quantities import count
from whyperf.collect.setup.lifecycle import Measuring
from whyperf.errors import WhyperfError

_MOST_WATCHED = 4  # breakpoints of a CPU
DEFAULT_TRACE_HZ = 99  # beside the round rates of timers, so that it does not fall into step with them


def add_trace(parser: argparse.ArgumentParser, *, everything: bool = False) -> None:
    group = parser.add_argument_group("kernel events")
    group.add_argument(
        "--trace",
        action="store_true",
        help="record kernel events too, of the program and of what it talks to: where threads wait, and for whom",
    )
    if everything:
        group.add_argument("--all", action="store_true", help="with --trace: of all processes of this machine")
    group.add_argument(
        "--trace-rate",
        metavar="HZ",
        type=count,
        default=DEFAULT_TRACE_HZ,
        help=f"samples a second of each CPU among them (default {DEFAULT_TRACE_HZ})",
    )
    group.add_argument(
        "--watch",
        metavar="VARIABLE",
        action="append",
        default=[],
        help="with --trace: who writes this global variable, which others poll; may be repeated, four at most",
    )
    group.add_argument(
        "--no-queues",
        action="store_true",
        help="with --trace: no probes at functions of GLib, libuv, Qt and your own rules that queue tasks",
    )


def check_trace(args: argparse.Namespace, example: str) -> None:
    """`example`: what to type instead, with {} where the options stand."""
    if getattr(args, "all", False) and not args.trace:
        raise WhyperfError("--all is for kernel events.", "whyperf record --trace --all --for 30s", status=2)
    if args.watch and not args.trace:
        raise WhyperfError("--watch is for kernel events.", example.format("--trace --watch VARIABLE"), status=2)
    if args.no_queues and not args.trace:
        raise WhyperfError("--no-queues is for kernel events.", example.format("--trace --no-queues"), status=2)
    if len(args.watch) > _MOST_WATCHED:
        raise WhyperfError(
            "A processor can watch four variables at most.", example.format("--trace --watch VARIABLE"), status=2
        )
    if args.trace and args.deep:
        raise WhyperfError(
            "--trace and --deep exclude each other: times mean nothing under Valgrind.",
            example.format("--trace"),
            status=2,
        )
    if args.trace and args.trace_rate > 10_000:
        raise WhyperfError("The highest --trace-rate is 10000.", example.format("--trace --trace-rate 999"), status=2)


def refuse_watching(watched: Sequence[str], why: str, fix: str | None) -> None:
    """Where kernel events do not come by BPF."""
    if watched:
        raise WhyperfError(f"Variables cannot be watched here: {why}.", fix)


def refuse_timing(function: str | None, why: str, fix: str | None) -> None:
    """Where nothing of whyperf's is in the program."""
    if function is not None:
        raise WhyperfError(f"--latency does not work together with --trace here: {why}.", fix)


def without_privilege(measuring: Measuring, why: str, fix: str | None) -> Measuring:
    """What an ordinary user gets instead, said aloud."""
    tried = f" (try: {fix})" if fix else ""
    print(
        f"whyperf: kernel events cannot be recorded here: {why}{tried}. Recorded instead: where the program's own "
        "threads run, and where they wait.",
        file=sys.stderr,
    )
    return replace(measuring, clock="wall", trace_hz=0)


def say_by_perf(why: str) -> None:
    print(f"whyperf: kernel events are recorded by perf: {why}.", file=sys.stderr)
