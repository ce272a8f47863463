"""`whyperf record`: one run of a program, or a running process."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import time
from dataclasses import replace
from pathlib import Path

from whyperf.cli.counts_options import add_counts, check_counts
from whyperf.cli.deep_options import add_deep, check_deep, symptom_of
from whyperf.cli.lifecycle_options import add_lifecycle, add_measuring, lifecycle_of, measuring_of
from whyperf.cli.memory_options import add_memory, check_memory, with_memory
from whyperf.cli.quantities import bytes_in_words, count, seconds_in_words
from whyperf.cli.trace_options import (
    add_trace,
    check_trace,
    refuse_timing,
    refuse_watching,
    say_by_perf,
    without_privilege,
)
from whyperf.cli.zoom_planning import in_words
from whyperf.collect.setup.lifecycle import Lifecycle, Measuring, RunOutcome
from whyperf.collect.target.program import Program, find_program
from whyperf.errors import WhyperfError
from whyperf.report.endings import signal_name

NAME = "record"
SUMMARY = "record one run of a program, or a running process"
EXAMPLES = """\
examples:
  whyperf record -o good -- ./tool small.txt
  whyperf record -o bad --ready tcp:7000 --drive "./load.sh 1000" -- ./server big.conf
  whyperf record --pid 4711 --for 30s -o slow
  sudo whyperf record --trace -o stall -- ./server big.conf
  sudo whyperf record --trace --all --for 30s -o stall
  whyperf record --latency handle_request -o calls --ready tcp:7000 --drive ./load.sh -- ./server big.conf
  whyperf record --counts -o calls -- ./tool small.txt
  whyperf record --memory -o memory -- ./tool small.txt
  whyperf record --deep -o sketch -- ./tool small.txt

The target's exit status is the command's. --for counts from ready plus --skip.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "whyperf record [options] [-o RECORDING] -- COMMAND [ARGUMENT ...]"
    add_output(parser)
    parser.add_argument("-p", "--pid", type=count, help="record a process that already runs")
    add_lifecycle(parser)
    add_measuring(parser)
    add_trace(parser, everything=True)
    add_counts(parser)
    add_memory(parser)
    add_deep(parser, zoom=True)
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="the program and its arguments")


def add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="RECORDING", type=Path, help="the folder to create")
    parser.add_argument("--force", action="store_true", help="replace a recording of that name")
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing when all went well")


def run(args: argparse.Namespace) -> int:
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if (args.pid is not None or args.all) and command:
        option = "--all" if args.all else "--pid"
        instead = "whyperf record --trace --all --for 30s" if args.all else f"whyperf record --pid {args.pid}"
        raise WhyperfError(f"{option} and a command exclude each other.", instead, status=2)
    started = "whyperf record {} -- COMMAND"
    check_deep(args, started)
    check_trace(args, started if args.pid is None else f"whyperf record --pid {args.pid} {{}}")
    check_counts(args)
    check_memory(args, "whyperf record --memory -- COMMAND")
    if args.memory and args.counts:
        raise WhyperfError("--memory and --counts exclude each other.", "whyperf record --memory -- COMMAND", status=2)
    lifecycle = lifecycle_of(args)
    measuring = with_memory(measuring_of(args, driven=args.drive is not None), args)
    if args.trace:
        outcome = _record_traced(command, args, lifecycle, measuring)
    elif args.pid is not None:
        outcome = _record_process(args, lifecycle, measuring)
    elif args.counts:
        outcome = _record_counts(find_program(command, os.environ), args, lifecycle)
    elif args.deep:
        outcome = _record_deeply(find_program(command, os.environ), args, lifecycle)
    else:
        outcome = _record_program(command, args, lifecycle, measuring)
    return conclude(outcome, quiet=args.quiet)


def _record_program(
    command: list[str], args: argparse.Namespace, lifecycle: Lifecycle, measuring: Measuring
) -> RunOutcome:
    from whyperf.collect.runs.runner import record_run

    program = find_program(command, os.environ)
    return record_run(
        program,
        args.output or Path(default_name(program.command[0])),
        lifecycle=lifecycle,
        measuring=measuring,
        environment=dict(os.environ),
        force=args.force,
    )


def _record_process(args: argparse.Namespace, lifecycle: Lifecycle, measuring: Measuring) -> RunOutcome:
    from whyperf.collect.runs.attached_run import record_process

    path = args.output or Path(default_name(str(args.pid)))
    return record_process(args.pid, path, lifecycle=lifecycle, measuring=measuring, force=args.force)


def _record_traced(
    command: list[str], args: argparse.Namespace, lifecycle: Lifecycle, measuring: Measuring
) -> RunOutcome:
    """By the best means that this machine permits."""
    from whyperf.collect.tracer.backends import Backend, choose
    from whyperf.collect.tracer.holder import command_name

    choice = choose()
    if choice.means is not Backend.BPF:
        refuse_watching(args.watch, choice.reason, choice.fix)
    runs_already = args.pid is not None or args.all
    if choice.means is Backend.SAMPLER:
        if args.all:
            raise WhyperfError(f"All processes cannot be traced: {choice.reason}.", choice.fix)
        measuring = without_privilege(measuring, choice.reason, choice.fix)
        if runs_already:
            return _record_process(args, lifecycle, measuring)
        return _record_program(command, args, lifecycle, measuring)
    if choice.means is Backend.PERF:
        refuse_timing(args.latency, choice.reason, choice.fix)
        return _record_with_perf(command, args, lifecycle, choice.reason)
    measuring = replace(measuring, trace_hz=args.trace_rate, watched=tuple(args.watch), queues=not args.no_queues)
    if not runs_already:
        return _record_program(command, args, lifecycle, measuring)
    from whyperf.collect.runs.attached_trace import record_traced

    what = ("--all",) if args.all else ("--pid", str(args.pid))
    return record_traced(
        args.pid,
        args.output or Path(default_name("all" if args.all else str(args.pid))),
        lifecycle=lifecycle,
        measuring=measuring,
        sample_hz=args.trace_rate,
        name=command_name("record", "--trace", *what),
        force=args.force,
    )


def _record_with_perf(command: list[str], args: argparse.Namespace, lifecycle: Lifecycle, reason: str) -> RunOutcome:
    from whyperf.collect.perf_record.run import record_with_perf
    from whyperf.importers.perf_data.recorded import seal_recorded_by_perf

    say_by_perf(reason)
    program = find_program(command, os.environ) if command else None
    named = program.command[0] if program else "all" if args.all else str(args.pid)
    return record_with_perf(
        program,
        args.output or Path(default_name(named)),
        pid=args.pid,
        everything=args.all,
        lifecycle=lifecycle,
        environment=dict(os.environ),
        unit=args.unit,
        sample_hz=args.trace_rate,
        force=args.force,
        seal=seal_recorded_by_perf,
    )


def _record_deeply(program: Program, args: argparse.Namespace, lifecycle: Lifecycle) -> RunOutcome:
    from whyperf.collect.dependences.run import record_deep
    from whyperf.collect.target.loaded_files import plug_in_files
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


def _record_counts(program: Program, args: argparse.Namespace, lifecycle: Lifecycle) -> RunOutcome:
    from whyperf.collect.counts.run import record_counts

    return record_counts(
        program,
        args.output or Path(default_name(program.command[0])),
        lifecycle=lifecycle,
        environment=dict(os.environ),
        unit=args.unit,
        force=args.force,
    )


def default_name(program: str) -> str:
    """A name from program and time, such as redis-server-20260131-142530.whyperf."""
    return f"{Path(program).name}-{time.strftime('%Y%m%d-%H%M%S')}.whyperf"


def conclude(outcome: RunOutcome, *, quiet: bool) -> int:
    """Seals the recording and says on stderr what it holds: stdout belongs to the target."""
    for note in outcome.notes:
        print(f"whyperf: {note}", file=sys.stderr)
    status = outcome.shell_status
    try:
        from whyperf.seal.opening import seal

        sealed = seal(outcome.path)
    except WhyperfError as error:
        if outcome.stopped_by == "disk-full":  # said already: the target ran on, and its status is the answer
            print(f"whyperf: {error.sentence}", file=sys.stderr)
            return status
        # The target's own status matters more to the caller than what became of the recording.
        raise WhyperfError(error.sentence, error.next_command, status=status or error.status) from None
    manifest = sealed.manifest
    mostly_unsampled = manifest.losses.unsampled_cpu_s > manifest.totals.cpu_s / 2
    if manifest.deep is not None or mostly_unsampled or not manifest.tables["samples"].rows:
        for note in manifest.losses.notes:
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
        memory = f", {bytes_in_words(totals.max_rss_bytes)} memory" if totals.max_rss_bytes else ""
        print(
            f"whyperf: {outcome.path}: {_ending(outcome)}{seconds_in_words(totals.wall_s)} elapsed, "
            f"{seconds_in_words(totals.cpu_s)} CPU{memory}; "
            f"see it with: whyperf info {shlex.quote(str(outcome.path))}",
            file=sys.stderr,
        )
    return status


def _ending(outcome: RunOutcome) -> str:
    """How the target ended, where that needs saying."""
    if outcome.shell_status == 0:
        return ""
    return f"killed by {signal_name(outcome.signal)}, " if outcome.signal else f"exit status {outcome.status}, "
