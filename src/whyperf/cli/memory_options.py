"""The options of recordings of memory."""

from __future__ import annotations

import argparse
from dataclasses import replace

from whyperf.allocators.known import KNOWN, parse_allocator
from whyperf.cli.quantities import byte_count
from whyperf.collect.setup.lifecycle import Measuring
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
    group.add_argument(
        "--allocator",
        metavar="NAME",
        action="append",
        default=[],
        help="sample an allocator inside the program too, with --memory: "
        f"{', '.join(KNOWN)}; or functions by name, as in arena_alloc:2,free=arena_free,reset=arena_clear "
        "(:2 says that the second argument is the size)",
    )


def check_memory(args: argparse.Namespace, example: str) -> None:
    """Refuses options that make no sense together with it."""
    if not args.memory:
        if args.memory_interval is not None:
            raise WhyperfError("--memory-interval is about --memory, which is not asked for.", example, status=2)
        if args.allocator:
            raise WhyperfError("--allocator is about --memory, which is not asked for.", example, status=2)
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


def with_memory(measuring: Measuring, args: argparse.Namespace) -> Measuring:
    if not args.memory:
        return measuring
    return replace(
        measuring,
        memory_interval=args.memory_interval or DEFAULT_INTERVAL,
        allocators=tuple(map(parse_allocator, args.allocator)),
    )
