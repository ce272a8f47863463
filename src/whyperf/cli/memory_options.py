"""The options of recordings of memory."""

from __future__ import annotations

import argparse

from whyperf.cli.quantities import byte_count
from whyperf.errors import WhyperfError

DEFAULT_INTERVAL = 512 * 1024
_SMALLEST, _LARGEST = 1024, 1 << 30


def add_memory(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("memory")
    group.add_argument(
        "--memory",
        action="store_true",
        help="sample allocations too: who holds how much memory at its peak, and what is never freed",
    )
    group.add_argument(
        "--memory-interval",
        metavar="SIZE",
        type=byte_count,
        help="allocated bytes for each sample, on average (default 512K; smaller shows more and costs more)",
    )


def check_memory(args: argparse.Namespace, example: str) -> None:
    """Refuses options that make no sense together with it."""
    if not args.memory:
        if args.memory_interval is not None:
            raise WhyperfError("--memory-interval is about --memory, which is not asked for.", example, status=2)
        return
    others = {
        "--pid": getattr(args, "pid", None) is not None,
        "--trace": args.trace,
        "--deep": args.deep,
        "--clock wall": args.clock != "cpu",
        "--benchmark": getattr(args, "benchmark", None) is not None,
    }
    for option, given in others.items():
        if given:
            raise WhyperfError(f"--memory and {option} exclude each other.", example, status=2)
    if args.memory_interval is not None and not _SMALLEST <= args.memory_interval <= _LARGEST:
        raise WhyperfError(
            "--memory-interval must lie between 1K and 1G.", f"{example} --memory-interval 64K", status=2
        )


def interval_of(args: argparse.Namespace) -> int:
    """0: allocations are not sampled."""
    return (args.memory_interval or DEFAULT_INTERVAL) if args.memory else 0
