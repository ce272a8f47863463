"""The options of deep recordings, which `record`, `compare` and `diagnose` share."""

from __future__ import annotations

import argparse
from pathlib import Path

from whyperf.collect.lifecycle import Measuring
from whyperf.errors import WhyperfError
from whyperf.recording.symptom import SymptomSpec, parse_symptom


def add_deep(parser: argparse.ArgumentParser, *, zoom: bool = False) -> None:
    group = parser.add_argument_group("exact counts and dependences instead of samples")
    group.add_argument(
        "--deep",
        action="store_true",
        help="run under Valgrind (20 to 100 times slower): which relation between events changed",
    )
    add_symptom(group)
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


def add_symptom(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--symptom",
        metavar="WHAT",
        help="what deep recordings shall explain: function:NAME, line:FILE:LINE, var:NAME or memory "
        "(default: executed instructions)",
    )


def symptom_of(args: argparse.Namespace) -> SymptomSpec | None:
    return None if args.symptom is None else parse_symptom(args.symptom)


def check_deep(args: argparse.Namespace) -> None:
    """Refuses options that only make sense together, or not together."""
    if not args.deep:
        for name in ("symptom", "zoom", "plug-in"):
            if getattr(args, name.replace("-", "_"), None):
                raise WhyperfError(f"--{name} needs --deep.", f"whyperf record --deep --{name} ...", status=2)
        return
    usual = Measuring()
    measured = {
        "--pid": getattr(args, "pid", None) is not None,
        "--clock wall": args.clock != usual.clock,
        "--rate": args.rate != usual.rate_hz,
        "--values-depth": args.values_depth != usual.values_depth,
        "--component": bool(args.component),
        "--work-count": args.work_count is not None,
    }
    for option, given in measured.items():
        if given:
            raise WhyperfError(
                f"--deep and {option} exclude each other: under Valgrind nothing is sampled.",
                "whyperf record --deep -- COMMAND",
                status=2,
            )
    if getattr(args, "zoom", None) is not None and args.symptom is not None:
        raise WhyperfError(
            "A plan already has its symptom: --zoom and --symptom exclude each other.",
            f"whyperf record --deep --zoom {args.zoom} -- COMMAND",
            status=2,
        )
