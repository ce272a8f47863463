"""`whyperf trace`: the flight recorder, which is dumped after something has happened."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from whyperf.cli.quantities import bytes_in_words, count, positive_duration, seconds_in_words, size
from whyperf.cli.trace_options import DEFAULT_TRACE_HZ
from whyperf.errors import WhyperfError

if TYPE_CHECKING:
    from whyperf.collect.tracer.flight.status import RecorderStatus

NAME = "trace"
SUMMARY = "the flight recorder: always on, dumped after something has happened"
EXAMPLES = """\
examples:
  sudo whyperf trace start                       # 64 MB of rings in the kernel
  sudo whyperf trace start --seconds 60          # as much as the last minute takes, by the present rate of events
  sudo whyperf trace status
  sudo whyperf trace dump -o stall --last 30s    # while it goes on
  sudo whyperf trace stop

Nobody reads the rings until a dump. A small daemon gives the kernel unwind tables of programs that start; if it is
killed, tracing goes on. Exit status of `status`: 0 it runs, 3 it does not.
"""
_DEFAULT_SIZE = 64 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="action", metavar="start | status | dump | stop", required=True)
    start = commands.add_parser("start", help="begin", allow_abbrev=False)
    bound = start.add_mutually_exclusive_group()
    bound.add_argument("--size", metavar="SIZE", type=size, help="memory of all rings together (default 64M)")
    bound.add_argument(
        "--seconds", metavar="TIME", type=positive_duration, help="keep this long, by the present rate of events"
    )
    start.add_argument(
        "--rate",
        metavar="HZ",
        type=count,
        default=DEFAULT_TRACE_HZ,
        help=f"samples a second of each CPU (default {DEFAULT_TRACE_HZ})",
    )
    status = commands.add_parser("status", help="what it holds and what it costs", allow_abbrev=False)
    status.add_argument("--json", action="store_true", help="print JSON")
    dump = commands.add_parser("dump", help="write a recording of what it holds", allow_abbrev=False)
    dump.add_argument("-o", "--output", metavar="RECORDING", type=Path, help="the folder to create")
    dump.add_argument("--last", metavar="TIME", type=positive_duration, help="only the last 30s, 2m ...")
    dump.add_argument("--force", action="store_true", help="replace a recording of that name")
    commands.add_parser("stop", help="end it; nothing stays in the kernel", allow_abbrev=False)


def run(args: argparse.Namespace) -> int:
    _check_means()
    return {"start": _start, "status": _status, "dump": _dump, "stop": _stop}[args.action](args)


def _check_means() -> None:
    from whyperf.collect.tracer.backends import Backend, choose

    choice = choose()
    if choice.means is not Backend.BPF:
        fix = choice.fix.replace("record --trace ...", "trace ...") if choice.fix else "whyperf doctor"
        raise WhyperfError(f"The flight recorder needs BPF: {choice.reason}.", fix)


def _start(args: argparse.Namespace) -> int:
    from whyperf.collect.tracer.flight.starting import start

    started = start(None if args.seconds else args.size or _DEFAULT_SIZE, args.seconds, args.rate)
    if started.adopted:
        print(f"whyperf: the flight recorder ran on without its daemon; process {started.pid} serves it from now on.")
        return 0
    measured = f" for {started.events_per_s:,.0f} events a second" if started.events_per_s else ""
    print(
        f"whyperf: the flight recorder runs, with {bytes_in_words(started.flight.ring_bytes)} of rings{measured} "
        f"(daemon: process {started.pid}). When something has happened: whyperf trace dump -o NAME"
    )
    return 0


def _status(args: argparse.Namespace) -> int:
    from whyperf.collect.tracer.flight.status import status
    from whyperf.recording.safe_files.dataclass_json import to_plain

    found = status()
    if args.json:
        print(json.dumps(to_plain(found), indent=1))
        return 0
    for label, text in _status_lines(found):
        print(f"{label:<12}{text}")
    return 0


def _status_lines(status: RecorderStatus) -> Iterator[tuple[str, str]]:
    from whyperf.cli.info_trace import shed_lines, trace_losses

    yield "running", f"for {seconds_in_words(status.running_s)}"
    yield "rings", f"{bytes_in_words(status.flight.ring_bytes)}, which now reach back {seconds_in_words(status.held_s)}"
    rate = status.events / max(status.running_s, 1e-9)
    yield "events", f"{status.events:,} so far, {rate:,.0f} a second on average"
    if status.daemon is None:
        uncovered = status.counters.get("stacks_before_modules", 0)
        yield "daemon", f"HAS DIED: programs started since have no stacks ({uncovered:,} so far); whyperf trace start"
    else:
        yield "daemon", f"process {status.daemon}, {seconds_in_words(status.daemon_cpu_s)} CPU so far"
    for what, why in status.trace.absent.items():
        yield "absent", f"{what}: {why}"
    yield from shed_lines(status.trace)
    for loss in trace_losses(status.trace):
        yield "lost", loss


def _dump(args: argparse.Namespace) -> int:
    from whyperf.collect.tracer.flight.dumping import dump
    from whyperf.seal.opening import seal

    path = args.output or Path(f"trace-{time.strftime('%Y%m%d-%H%M%S')}.whyperf")
    dumped = dump(path, args.last, force=args.force)
    for note in dumped.notes:
        print(f"whyperf: {note}", file=sys.stderr)
    seal(path)
    print(
        f"whyperf: {path}: {dumped.events:,} events of the last {seconds_in_words(dumped.seconds)}; "
        f"see it with: whyperf info {shlex.quote(str(path))}",
        file=sys.stderr,
    )
    return 0


def _stop(_args: argparse.Namespace) -> int:
    from whyperf.collect.tracer.flight.starting import stop

    if not stop():
        raise WhyperfError("No flight recorder is running.", "whyperf trace start", status=3)
    print("whyperf: the flight recorder has ended; nothing of it is left in the kernel.")
    return 0
