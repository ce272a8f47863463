"""`whyperf import`: what other tools recorded, as a recording like our own."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from whyperf.cli.quantities import count
from whyperf.importers.collapsed import UNITS
from whyperf.recording.safe_files.limits import MOST_PROFILE_BYTES
from whyperf.recording.safe_files.regular_files import opened_regular, read_regular

if TYPE_CHECKING:
    from whyperf.recording.sealed.reader import Recording

NAME = "import"
SUMMARY = "make a recording of what another tool recorded: perf.data, pprof, collapsed stacks"
EXAMPLES = """\
examples:
  perf record -g -o good.data -- ./tool small.txt
  perf record -g -o bad.data  -- ./tool big.txt
  whyperf import good.data -o good
  whyperf import bad.data  -o bad
  whyperf diagnose good bad

  perf record --call-graph dwarf ...                    # programs compiled without frame pointers
  perf record -k mono -a -g -e cpu-clock,sched:sched_switch,sched:sched_waking,raw_syscalls:* sleep 10

  whyperf import cpu.pb.gz -o good                      # pprof: Go, gperftools, Rust
  whyperf import out.collapsed -o good                  # caller;callee COUNT: stackcollapse, async-profiler, py-spy

Of perf.data, CPU time comes from cpu-clock, task-clock or cycles; waits from sched:* and system calls. What whyperf
has no use for is counted in the recording's notes. Names come from the files that were recorded, from perf's cache
(~/.debug) or from debuginfod, by build-id.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "whyperf import FILE [-o RECORDING] [options]"
    parser.add_argument("file", metavar="FILE", type=Path, help="perf.data, a pprof profile, or collapsed stacks")
    parser.add_argument("-o", "--output", metavar="RECORDING", type=Path, help="the folder to create")
    parser.add_argument("--weights", choices=sorted(UNITS), default="samples", help="collapsed: what is counted")
    parser.add_argument("--rate", metavar="HZ", type=count, default=99, help="collapsed: samples a second (default 99)")
    parser.add_argument("--force", action="store_true", help="replace a recording of that name")
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing when all went well")


def run(args: argparse.Namespace) -> int:
    output = args.output or Path(args.file.name.split(".")[0] + ".whyperf")
    recording = _imported(args, output)
    if not args.quiet:
        for note in recording.manifest.losses.notes:
            print(f"whyperf: {note}", file=sys.stderr)
        tables = recording.manifest.tables
        events = f", {tables['events'].rows:,} events" if "events" in tables else ""
        print(
            f"whyperf: {output}: {tables['samples'].rows:,} samples{events}; "
            f"see it with: whyperf info {shlex.quote(str(output))}",
            file=sys.stderr,
        )
    return 0


def _imported(args: argparse.Namespace, output: Path) -> Recording:
    from whyperf.importers.named_stacks import store

    match _kind(args.file):
        case "pprof":
            from whyperf.importers.pprof import read_pprof

            return store(
                read_pprof(args.file, read_regular(args.file, MOST_PROFILE_BYTES, follow=True)),
                output,
                force=args.force,
            )
        case "collapsed":
            from whyperf.importers.collapsed import read_collapsed

            text = read_regular(args.file, MOST_PROFILE_BYTES, follow=True).decode(errors="replace")
            return store(
                read_collapsed(args.file, text, unit=args.weights, rate_hz=args.rate), output, force=args.force
            )
    from whyperf.importers.perf_data.importing import import_perf_data

    return import_perf_data(args.file, output, force=args.force)


def _kind(file: Path) -> str:
    """By its first bytes; what is none of the others is for perf.data's reader, which says what is wrong."""
    if file.is_dir():
        return "perf.data"
    try:
        with opened_regular(file, follow=True) as descriptor:
            begin = os.pread(descriptor, 1 << 16, 0)
    except OSError:
        return "perf.data"
    if begin.startswith((b"PERFILE2", b"2ELIFREP", b"PERFFILE")):
        return "perf.data"
    if begin.startswith(b"\x1f\x8b"):
        return "pprof"
    last_line = begin.rfind(b"\n")
    lines = begin[: last_line + 1 if last_line > 0 else None].splitlines()
    is_text = not any(b"\0" in line for line in lines)
    return "collapsed" if is_text and any(re.fullmatch(rb".+ \d+( \d+)?", line) for line in lines) else "perf.data"
