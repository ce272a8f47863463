"""`whyperf import`: what other tools recorded, as a recording like our own."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

NAME = "import"
SUMMARY = "make a recording of what another tool recorded: perf.data"
EXAMPLES = """\
examples:
  perf record -g -o good.data -- ./tool small.txt
  perf record -g -o bad.data  -- ./tool big.txt
  whyperf import good.data -o good
  whyperf import bad.data  -o bad
  whyperf diagnose good bad

  perf record --call-graph dwarf ...                    # programs compiled without frame pointers
  perf record -k mono -a -g -e cpu-clock,sched:sched_switch,sched:sched_waking,raw_syscalls:* sleep 10

CPU time comes from cpu-clock, task-clock or cycles; waits from sched:* and system calls. What whyperf has no use for
is counted in the recording's notes. Names come from the files that were recorded, from perf's cache (~/.debug) or
from debuginfod, by build-id.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "whyperf import FILE [-o RECORDING] [options]"
    parser.add_argument("file", metavar="FILE", type=Path, help="a file that perf record wrote")
    parser.add_argument("-o", "--output", metavar="RECORDING", type=Path, help="the folder to create")
    parser.add_argument("--force", action="store_true", help="replace a recording of that name")
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing when all went well")


def run(args: argparse.Namespace) -> int:
    from whyperf.importers.perf_data import import_perf_data

    output = args.output or Path(args.file.name).with_suffix(".whyperf")
    recording = import_perf_data(args.file, output, force=args.force)
    if not args.quiet:
        for note in recording.manifest.losses.notes:
            print(f"whyperf: {note}", file=sys.stderr)
        tables = recording.manifest.tables
        print(
            f"whyperf: {output}: {tables['samples'].rows:,} samples, {tables['events'].rows:,} events; "
            f"see it with: whyperf info {shlex.quote(str(output))}",
            file=sys.stderr,
        )
    return 0
