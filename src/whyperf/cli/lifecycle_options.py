"""The options that `record` and `compare` share."""

from __future__ import annotations

import argparse
from pathlib import Path

from whyperf.cli.quantities import count, duration, positive_duration, signal_number, size
from whyperf.collect.setup.lifecycle import DEFAULT_DEPTH, Lifecycle, Measuring
from whyperf.collect.setup.redaction_key import redaction_key
from whyperf.collect.target.ready import check_condition
from whyperf.errors import WhyperfError


def add_lifecycle(parser: argparse.ArgumentParser) -> None:
    defaults = Lifecycle()
    group = parser.add_argument_group("programs that do not end by themselves")
    group.add_argument(
        "--ready", metavar="WHAT", help="wait for tcp:PORT, file:PATH or cmd:COMMAND before the comparison begins"
    )
    group.add_argument(
        "--ready-timeout",
        metavar="TIME",
        type=positive_duration,
        default=defaults.ready_timeout_s,
        help="give up waiting after this time (default 30s)",
    )
    group.add_argument(
        "--drive",
        metavar="COMMAND",
        help="the load; not recorded; the target is stopped when it ends; its output lines work=N count units of work, "
        "latency=SECONDS or p50=SECONDS p99=SECONDS say how long requests took",
    )
    group.add_argument(
        "--for", dest="for_s", metavar="TIME", type=positive_duration, help="stop the target after this time"
    )
    group.add_argument(
        "--skip", metavar="TIME", type=duration, default=0.0, help="warm-up after ready that is not compared"
    )
    group.add_argument(
        "--stop",
        metavar="SIGNAL",
        type=signal_number,
        default=int(defaults.stop_signal),
        help="what stops the target (default TERM)",
    )
    group.add_argument(
        "--stop-timeout",
        metavar="TIME",
        type=positive_duration,
        default=defaults.stop_timeout_s,
        help="kill it when it has not stopped after this time (default 10s)",
    )


def add_measuring(parser: argparse.ArgumentParser) -> None:
    defaults = Measuring()
    group = parser.add_argument_group("measuring")
    group.add_argument(
        "--rate", metavar="HZ", type=count, default=defaults.rate_hz, help="samples per CPU second (default 200)"
    )
    group.add_argument(
        "--clock",
        choices=("cpu", "wall"),
        default=defaults.clock,
        help="cpu: where CPU time goes (default); wall: also where threads wait, seen from outside at --rate or less",
    )
    group.add_argument(
        "--values-depth",
        metavar="N",
        type=count,
        default=defaults.values_depth,
        help=f"read the variables of this many frames of a stack (default {DEFAULT_DEPTH}, at most 16)",
    )
    group.add_argument(
        "--no-values",
        dest="values_depth",
        action="store_const",
        const=0,
        help="don't read variables; the report then shows time only, no values",
    )
    group.add_argument(
        "--component",
        metavar="GLOB",
        action="append",
        default=[],
        help="read variables only of this program, library, source file, folder or function (may be repeated)",
    )
    group.add_argument(
        "--exclude-variable",
        metavar="GLOB",
        action="append",
        default=[],
        help="don't record variables that match GLOB, by name or as FUNCTION.NAME (may be repeated)",
    )
    group.add_argument(
        "--redact",
        action="store_true",
        help="scale numbers by a secret factor per variable",
    )
    group.add_argument(
        "--compile-commands",
        metavar="PATH",
        type=Path,
        help="the compile_commands.json by which source is read (default: looked for beside source and binary)",
    )
    group.add_argument(
        "--max-size",
        metavar="SIZE",
        type=size,
        default=defaults.max_bytes,
        help="keep the newest part of a recording that grows beyond this (default 2G)",
    )
    group.add_argument(
        "--work-count", metavar="FUNCTION", help="count calls of this function as units of work (needs root)"
    )
    group.add_argument(
        "--latency",
        metavar="FUNCTION",
        help="time each call of this function: percentiles of how long calls take, and calls as units of work",
    )
    group.add_argument("--unit", metavar="NAME", help="what a unit of work is called in reports")


def lifecycle_of(args: argparse.Namespace, drive: str | None = None) -> Lifecycle:
    if args.ready is not None:
        check_condition(args.ready)
    return Lifecycle(
        ready=args.ready,
        ready_timeout_s=args.ready_timeout,
        drive=drive if drive is not None else args.drive,
        for_s=args.for_s,
        skip_s=args.skip,
        stop_signal=args.stop,
        stop_timeout_s=args.stop_timeout,
    )


def measuring_of(args: argparse.Namespace, *, driven: bool) -> Measuring:
    if args.latency and args.work_count:
        raise WhyperfError(
            "--latency and --work-count exclude each other: timed calls are the units of work.",
            f"whyperf record --latency {args.latency} -- ./program",
            status=2,
        )
    if args.unit and not (driven or args.work_count or args.latency):
        raise WhyperfError(
            "--unit names what is counted, but nothing counts: add --drive with a command that prints work=N, "
            "--work-count or --latency.",
            "whyperf record --unit request --drive ./load.sh -- ./server",
            status=2,
        )
    about_values = {
        "--component": args.component,
        "--exclude-variable": args.exclude_variable,
        "--redact": args.redact,
        "--compile-commands": args.compile_commands,
    }
    option = next((name for name, given in about_values.items() if given), None)
    if not args.values_depth and option is not None:
        raise WhyperfError(
            f"{option} is about the variables that are read, but --no-values reads none.",
            f"whyperf record {option} ... -- ./program",
            status=2,
        )
    if args.redact:
        redaction_key()  # what is wrong with it is said before anything is run
    return Measuring(
        rate_hz=args.rate,
        clock=args.clock,
        max_bytes=args.max_size,
        work_count=args.work_count,
        latency=args.latency,
        unit=args.unit,
        values_depth=min(args.values_depth, 16),
        components=tuple(args.component),
        excluded_variables=tuple(args.exclude_variable),
        redact=args.redact,
        compile_commands=args.compile_commands and _database(args.compile_commands),
    )


def _database(given: Path) -> Path:
    """Checked before anything is run: a mistake costs no recording."""
    from whyperf.source.compile_flags import compilation_database

    return compilation_database(given.absolute())
