"""`whyperf scrub`: a copy of a recording that can be given away."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from whyperf.cli.opened_recordings import add_max_rows, opened
from whyperf.errors import WhyperfError

NAME = "scrub"
SUMMARY = "a copy of a recording without values, source, paths and command lines"
EXAMPLES = """\
examples:
  whyperf scrub slow                 # writes slow.scrubbed
  whyperf scrub slow -o for-bug-report

Gone are: what variables held, source lines, folders of all paths, arguments of command lines, names of environment
variables, hosts and containers, what the program printed. Left are: names of functions, files, programs, libraries and
threads, times and counts, the unit of work's name, and arguments of system calls where kernel events were recorded.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recording", metavar="RECORDING")
    parser.add_argument("-o", "--output", metavar="FOLDER", type=Path, help="default: RECORDING.scrubbed")
    add_max_rows(parser)


def run(args: argparse.Namespace) -> int:
    from whyperf.recording.sealed.scrub import scrubbed
    from whyperf.recording.sealed.writer import write_recording

    source = Path(args.recording)
    target = args.output or source.with_name(f"{source.name}.scrubbed")
    if target.exists():
        raise WhyperfError(f"{target} exists already.", f"rm -r {target}")
    write_recording(target, *scrubbed(opened(source, args)))
    print(f"whyperf: {target} holds no values, source, paths or command lines", file=sys.stderr)
    return 0
