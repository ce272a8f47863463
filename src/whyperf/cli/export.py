"""`whyperf export`: a recording in another tool's format."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from whyperf.cli.opened_recordings import add_max_rows, opened
from whyperf.errors import WhyperfError

if TYPE_CHECKING:
    from whyperf.export.profile import Profile

NAME = "export"
SUMMARY = "a recording in another tool's format"
EXAMPLES = """\
examples:
  whyperf export slow --format speedscope -o slow.speedscope.json
  whyperf export slow --format collapsed | flamegraph.pl > slow.svg
  whyperf export fast slow --format collapsed | flamegraph.pl > difference.svg
  whyperf export slow --format pprof -o slow.pb.gz && go tool pprof -top slow.pb.gz

formats:
  collapsed   stacks as lines, for flamegraph.pl and its kin; of two recordings the difference
  speedscope  for speedscope
  pprof       profile.proto, gzipped
  chrome      slices by time, for Perfetto and chrome://tracing
  firefox     for the Firefox Profiler
A recording's own tables are Parquet files: any tool that reads those needs no export.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recordings", metavar="RECORDING", nargs="+", help="one; two for a difference (collapsed)")
    parser.add_argument("--format", choices=sorted(_FORMATS), required=True, help="see below")
    parser.add_argument("--clock", choices=("cpu", "wall"), default="cpu", help="collapsed: running or blocked time")
    parser.add_argument("-o", "--output", metavar="FILE", default="-", help="default: standard output")
    add_max_rows(parser)


def run(args: argparse.Namespace) -> int:
    from whyperf.export.profile import profile_of

    if len(args.recordings) > (2 if args.format == "collapsed" else 1):
        raise WhyperfError(
            f"{args.format} shows {'one or two recordings' if args.format == 'collapsed' else 'one recording'}.",
            "whyperf export GOOD BAD --format collapsed",
            status=2,
        )
    profiles = [profile_of(opened(Path(name), args)) for name in args.recordings]
    if not any(profile.threads for profile in profiles):
        raise WhyperfError(f"{args.recordings[0]} holds no samples.", f"whyperf info {args.recordings[0]}", status=4)
    _write(_FORMATS[args.format](profiles, args.clock), args.output)
    return 0


def _write(content: bytes, output: str) -> None:
    if output == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    try:
        Path(output).write_bytes(content)
    except OSError as error:
        raise WhyperfError(f"{output} cannot be written: {error.strerror}.") from None


def _collapsed(profiles: list[Profile], clock: str) -> bytes:
    from whyperf.export.collapsed import collapsed, collapsed_difference
    from whyperf.recording.schemas.tables import Clock

    wanted = Clock.BLOCKED if clock == "wall" else Clock.CPU
    first, last = profiles[0], profiles[-1]
    lines = collapsed(first, wanted) if first is last else collapsed_difference(first, last, wanted)
    return "".join(lines).encode(errors="replace")


def _speedscope(profiles: list[Profile], _clock: str) -> bytes:
    from whyperf.export.speedscope import speedscope

    return json.dumps(speedscope(profiles[0])).encode()


def _pprof(profiles: list[Profile], _clock: str) -> bytes:
    from whyperf.export.pprof import pprof

    return pprof(profiles[0])


def _chrome(profiles: list[Profile], _clock: str) -> bytes:
    from whyperf.export.chrome import chrome

    return json.dumps(chrome(profiles[0])).encode()


def _firefox(profiles: list[Profile], _clock: str) -> bytes:
    from whyperf.export.firefox import firefox

    return json.dumps(firefox(profiles[0])).encode()


_FORMATS: dict[str, Callable[[list[Profile], str], bytes]] = {
    "collapsed": _collapsed,
    "speedscope": _speedscope,
    "pprof": _pprof,
    "chrome": _chrome,
    "firefox": _firefox,
}
