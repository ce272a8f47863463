"""The options of deep recordings, which `record`, `compare` and `diagnose` share."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from whyperf.errors import WhyperfError
from whyperf.recording.symptom import SymptomSpec, parse_symptom


def add_deep(parser: argparse.ArgumentParser, *, zoom: bool = False) -> None:
    group = parser.add_argument_group("exact counts and dependences instead of samples")
    group.add_argument(
        "--deep",
        action="store_true",
        help="run under Valgrind (20 to 100 times slower): which relation between events changed",
    )
    add_symptom(group, chosen=not zoom)
    group.add_argument(
        "--plug-in",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="a library that the program loads while it runs, to be watched too; may be repeated",
    )
    if zoom:
        group.add_argument(
            "--zoom",
            metavar="PLAN",
            type=Path,
            help="record every instruction of the functions in this plan, instead of all functions' calls",
        )


def add_symptom(group: argparse._ActionsContainer, *, chosen: bool = True) -> None:
    """`chosen`: where a comparison follows, the symptom may be chosen by other recordings."""
    group.add_argument(
        "--symptom",
        metavar="WHAT",
        help="what a deep recording explains: calls of function:NAME, instructions:NAME executed in it, "
        "line:FILE:LINE, the change of var:NAME (or var:FILE:NAME, var:FUNCTION:NAME), or memory (default: all "
        "executed instructions)",
    )
    if chosen:
        group.add_argument(
            "--symptom-from",
            metavar="RECORDING",
            type=Path,
            nargs="+",
            help="take the symptom from the costliest suspect of these ordinary recordings: the folder that compare "
            "made, or a good and a bad one",
        )


def symptom_of(args: argparse.Namespace) -> SymptomSpec | None:
    if args.symptom is not None and getattr(args, "symptom_from", None):
        raise WhyperfError(
            "--symptom and --symptom-from exclude each other.", "whyperf compare --deep --symptom WHAT ...", status=2
        )
    return None if args.symptom is None else parse_symptom(args.symptom)


def refuse_explaining(args: argparse.Namespace) -> None:
    """`--explain` is an account of sampled time, and deep recordings have none."""
    if getattr(args, "explain", None) is not None:
        raise WhyperfError(
            f"--explain tells of the time that was sampled, and under Valgrind nothing is: ask for {args.explain} as "
            "the symptom.",
            f"whyperf compare --deep --symptom instructions:{shlex.quote(args.explain)} ...",
            status=2,
        )


def check_deep(args: argparse.Namespace, example: str) -> None:
    """Refuses options that only make sense together, or not together. `example`: see `check_trace`."""
    if not args.deep:
        for name in ("symptom", "symptom-from", "zoom", "plug-in"):
            if getattr(args, name.replace("-", "_"), None):
                raise WhyperfError(f"--{name} needs --deep.", example.format(f"--deep --{name} ..."), status=2)
        return
    refuse_explaining(args)
    from whyperf.collect.setup.lifecycle import Measuring  # which diagnoses do without

    usual = Measuring()
    measured = {
        "--pid": getattr(args, "pid", None) is not None,
        "--clock wall": args.clock != usual.clock,
        "--rate": args.rate != usual.rate_hz,
        "--values-depth": args.values_depth != usual.values_depth,
        "--component": bool(args.component),
        "--redact": args.redact,
        "--work-count": args.work_count is not None,
        "--latency": args.latency is not None,
    }
    for option, given in measured.items():
        if given:
            raise WhyperfError(
                f"--deep and {option} exclude each other: under Valgrind nothing is sampled.",
                example.format("--deep"),
                status=2,
            )
    if getattr(args, "zoom", None) is not None and args.symptom is not None:
        raise WhyperfError(
            "A plan already has its symptom: --zoom and --symptom exclude each other.",
            example.format(f"--deep --zoom {args.zoom}"),
            status=2,
        )
