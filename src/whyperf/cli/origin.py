"""`whyperf origin`: who set the value that decides, hop by hop."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from whyperf.cli.diagnose import add_sides, sides, write_text
from whyperf.cli.investigating import (
    add_investigating,
    binaries_of,
    check_deep_hops,
    recorded,
    refuse_redacted,
    saying,
)
from whyperf.cli.opened_recordings import opened
from whyperf.cli.progress import progress
from whyperf.errors import WhyperfError
from whyperf.recording.compared import compared_in

if TYPE_CHECKING:
    from whyperf.engines.recording_protocol import Recorded
    from whyperf.origin.starts import Start

NAME = "origin"
SUMMARY = "follow a value back to who set it, in new runs of recorded commands"
EXAMPLES = """\
examples:
  whyperf origin recordings --variable find_customer.customer
  whyperf origin recordings --line orders.c:190
  whyperf origin good bad --variable "parse.state->size" --json origin.json
  whyperf origin recordings --variable walk.node->limit --deep --budget 20m
  whyperf origin slow --line orders.c:169

The commands of the recordings are run again, in the folder where they ran, with probes at single instructions.
Where those do not tell who wrote to memory, because every run has other addresses or the stores are too many, --deep
runs each command under Valgrind, which does; these runs take many times as long, and at most half of the time that is
left. `whyperf prove` chooses the variable by itself, and forces what was found to see whether the time goes.

Of one recording nothing is compared. Each hop shows the code that made most of the values of the hop before it; the
chain ends if one run does not tell which of several places that is.

exit status: 0 the origin of the value is known, 3 the value is the same in good and bad runs, 4 not followed to an end,
1 and 2 errors
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = (
        "whyperf origin (GOOD BAD | FOLDER | RECORDING) (--variable FUNCTION.NAME | --line FILE:LINE) [options]"
    )
    add_sides(parser, "a good and a bad recording, the folder that compare made, or one recording alone")
    start = parser.add_mutually_exclusive_group(required=True)
    start.add_argument("--variable", metavar="FUNCTION.NAME", help="the variable, or a field: FUNCTION.pointer->field")
    start.add_argument("--line", metavar="FILE:LINE", help="what the condition or the calls of that line depend on")
    parser.add_argument("--module", metavar="NAME", help="the program or library that holds it (default: the program)")
    parser.add_argument("--json", metavar="FILE", help="write the chain as JSON; - prints it instead")
    add_investigating(parser)


def run(args: argparse.Namespace) -> int:
    from whyperf.diagnose.origin import ChainEnd
    from whyperf.investigation.investigate import follow
    from whyperf.investigation.subject import ProofBounds
    from whyperf.report.json import origin_json
    from whyperf.report.origin_chain import show_origin

    check_deep_hops(args)
    alone = _alone(args)
    good, bad = (
        opened(path, args) for path in ((alone, alone) if alone else (paths[0] for paths in sides(args, NAME)))
    )
    refuse_redacted((good, bad))
    subject = recorded(good, bad, args.output_file)
    start = _start(args, bad, Path(subject.bad.path))
    ends = time.monotonic() + args.budget
    with progress() as shown:
        bounds = ProofBounds(ends, args.most_runs, args.deep)
        found = follow(start, subject, bounds, saying(shown, ends), alone=alone is not None).origin
    if args.json is not None:
        write_text(args.json, origin_json(found), "whyperf origin ... --json -")
    if args.json != "-":
        show_origin(found)
    if not found.hops:
        print(f"whyperf: {found.sentence}", file=sys.stderr)
    if found.end is ChainEnd.NO_DIFFERENCE:
        return 3
    return 4 if found.end is ChainEnd.NOT_FOLLOWED else 0


def _alone(args: argparse.Namespace) -> Path | None:
    """The one recording that is named, if it is no folder of compare."""
    if len(args.recordings) != 1 or args.good or args.bad:
        return None
    path = Path(args.recordings[0])
    return None if any(compared_in(path)) else path


def _start(args: argparse.Namespace, bad: Recorded, program: Path) -> Start:
    from whyperf.origin.starts import start_at_line, start_at_variable

    binary = binaries_of([bad])(args.module) if args.module else program
    if binary is None:
        raise WhyperfError(f"The recording has no module {args.module}.", f"whyperf info {bad.path}", status=2)
    if args.variable:
        function, dot, variable = args.variable.partition(".")
        if not (function and dot and variable):
            raise WhyperfError(
                "--variable is FUNCTION.NAME.", "whyperf origin recordings --variable parse.size", status=2
            )
        return start_at_variable(binary, function, variable)
    file, colon, line = args.line.rpartition(":")
    if not (file and colon and line.isdecimal()):
        raise WhyperfError("--line is FILE:LINE.", "whyperf origin recordings --line parse.c:120", status=2)
    return start_at_line(binary, file, int(line))
