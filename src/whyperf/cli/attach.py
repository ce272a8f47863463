"""`whyperf attach`: `whyperf record --pid` for those who think of attaching first."""

from __future__ import annotations

import argparse

from whyperf.cli import record
from whyperf.cli.lifecycle_options import add_lifecycle, add_measuring
from whyperf.cli.quantities import count
from whyperf.cli.trace_options import add_trace

NAME = "attach"
SUMMARY = "record a process that already runs"
EXAMPLES = """\
examples:
  whyperf attach 4711 --for 30s -o slow
  whyperf attach 4711 --drive ./load.sh -o slow
  sudo whyperf attach 4711 --trace --for 30s -o stall

The same as `whyperf record --pid`. Without --for or --drive it ends
with the process, or with Ctrl-C, after which the process goes on.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "whyperf attach PID [options] [-o RECORDING]"
    parser.add_argument("pid", metavar="PID", type=count, help="the process")
    record.add_output(parser)
    add_lifecycle(parser)
    add_measuring(parser)
    add_trace(parser)
    parser.set_defaults(command=[], all=False, counts=False, deep=False)
    parser.set_defaults(memory=False, memory_interval=None, allocator=[])


def run(args: argparse.Namespace) -> int:
    return record.run(args)
