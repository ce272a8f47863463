"""`whyperf record`: one run of a program, or a running process."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import time
from pathlib import Path

from whyperf.cli.deep_options import add_deep, check_deep, symptom_of
from whyperf.cli.lifecycle_options import add_lifecycle, add_measuring, lifecycle_of, measuring_of
from whyperf.cli.quantities import bytes_in_words, count, seconds_in_words
from whyperf.cli.zoom_planning import in_words
from whyperf.collect.lifecycle import Lifecycle, Outcome
from whyperf.collect.program import Program, find_program
from whyperf.errors import WhyperfError
from whyperf.report.endings import signal_name

NAME = "record"
SUMMARY = "record one run of a program, or a running process"
EXAMPLES = """\
examples:
  whyperf record -o good -- ./tool small.txt
  whyperf record -o bad --ready tcp:7000 --drive "./load.sh 1000" -- ./server big.conf
  whyperf record --pid 4711 --for 30s -o slow
  whyperf record --deep -o sketch -- ./tool small.txt

The target's exit status is the command's. --for counts from ready plus --skip.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "whyperf record [options] [-o RECORDING] -- COMMAND [ARGUMENT ...]"
    parser.add_argument("-o", "--output", metavar="RECORDING", type=Path, help="the folder to create")
    parser.add_argument("--force", action="store_true", help="replace a recording of that name")
    parser.add_argument("--pid", type=count, help="record a process that already runs")
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing when all went well")
    add_lifecycle(parser)
    add_measuring(parser)
    add_deep(parser, zoom=True)
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="the program and its arguments")


def run(args: argparse.Namespace) -> int:
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if args.pid is not None and command:
        raise WhyperfError("--pid and a command exclude each other.", f"whyperf record --pid {args.pid}", status=2)
    check_deep(args)
    lifecycle = lifecycle_of(args)
    measuring = measuring_of(args, driven=args.drive is not None)
    if args.pid is not None:
        from whyperf.collect.attached_run import record_process

        path = args.output or Path(default_name(str(args.pid)))
        outcome = record_process(args.pid, path, lifecycle=lifecycle, measuring=measuring, force=args.force)
    elif args.deep:
        outcome = _record_deeply(find_program(command, os.environ), args, lifecycle)
    else:
        program = find_program(command, os.environ)
        path = args.output or Path(default_name(program.command[0]))
        from whyperf.collect.runner import record_run

        outcome = record_run(
            program,
            path,
            lifecycle=lifecycle,
            measuring=measuring,
            environment=dict(os.environ),
            force=args.force,
        )
    return conclude(outcome, quiet=args.quiet)


def _record_deeply(program: Program, args: argparse.Namespace, lifecycle: Lifecycle) -> Outcome:
    from whyperf.collect.dependences.loaded import plug_in_files
    from whyperf.collect.dependences.run import record_deep
    from whyperf.recording.zoom import read_plan

    plan = None if args.zoom is None else read_plan(args.zoom)
    if plan is not None and plan.expected and not args.quiet:
        print(f"whyperf: zooming into {in_words(plan)}", file=sys.stderr)
    return record_deep(
        program,
        args.output or Path(default_name(program.command[0])),
        lifecycle=lifecycle,
        environment=dict(os.environ),
        plan=plan,
        symptom=symptom_of(args),
        plug_ins=plug_in_files(args.plug_in),
        unit=args.unit,
        force=args.force,
    )


def default_name(program: str) -> str:
    """A name from program and time, such as redis-server-20260131-142530.whyperf."""
    return f"{Path(program).name}-{time.strftime('%Y%m%d-%H%M%S')}.whyperf"


def conclude(outcome: Outcome, *, quiet: bool) -> int:
    """Seals the recording and says on stderr what it holds: stdout belongs to the target."""
    for note in outcome.notes:
        print(f"whyperf: {note}", file=sys.stderr)
    status = outcome.shell_status
    try:
        from whyperf.collect.seal import seal

        sealed = seal(outcome.path)
    except WhyperfError as error:
        # The target's own status matters more to the caller than what became of the recording.
        raise WhyperfError(error.sentence, error.next_command, status=status or error.status) from None
    if sealed.manifest.deep is not None:
        for note in sealed.manifest.losses.notes:
            if note not in outcome.notes:
                print(f"whyperf: {note}", file=sys.stderr)
    if outcome.failure is not None:
        raise WhyperfError(
            f"{outcome.failure.sentence} What was recorded is in {outcome.path}.",
            outcome.failure.next_command,
            status=status or 1,
        )
    if not quiet:
        totals = outcome.totals
        print(
            f"whyperf: {outcome.path}: {_ending(outcome)}{seconds_in_words(totals.wall_s)} elapsed, "
            f"{seconds_in_words(totals.cpu_s)} CPU, {bytes_in_words(totals.max_rss_bytes)} memory; "
            f"see it with: whyperf info {shlex.quote(str(outcome.path))}",
            file=sys.stderr,
        )
    return status


def _ending(outcome: Outcome) -> str:
    """How the target ended, where that needs saying."""
    if outcome.shell_status == 0:
        return ""
    return f"killed by {signal_name(outcome.signal)}, " if outcome.signal else f"exit status {outcome.status}, "
