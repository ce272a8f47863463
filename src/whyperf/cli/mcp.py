"""`whyperf mcp`: a server by which assistants record, compare and ask, over the Model Context Protocol."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from whyperf.errors import WhyperfError

NAME = "mcp"
SUMMARY = "let assistants record, compare and ask: a server over stdin and stdout"
EXAMPLES = """\
examples:
  whyperf mcp
  whyperf mcp --folder ~/project --folder /var/tmp/recordings
  whyperf mcp --no-run --folder recordings

An assistant starts this command and talks to it in the Model Context Protocol; docs/assistants.md shows how to add it.
Its tools compare and record start the commands that the assistant gives, with your rights: --no-run leaves them out.
Paths outside of the folders are refused; what the commands themselves read and write is not limited.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "whyperf mcp [--folder DIR ...] [--no-run]"
    parser.add_argument(
        "--folder",
        metavar="DIR",
        type=Path,
        action="append",
        default=[],
        help="recordings, outputs and working directories must lie inside (may be repeated; default: the current one)",
    )
    parser.add_argument("--no-run", action="store_true", help="start no programs: read recordings only")


def run(args: argparse.Namespace) -> int:
    from whyperf.assistants.folders import folders_of

    try:
        from whyperf.assistants.server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("whyperf"):
            raise
        raise WhyperfError(
            "Version 2 of the Model Context Protocol's SDK is not installed: it comes with an extra.",
            'pip install "whyperf[mcp]"',
        ) from None
    folders = folders_of([path.expanduser() for path in args.folder] or [Path.cwd()])
    if sys.stdin.isatty():
        print("whyperf: waiting for an assistant to write to stdin; Ctrl-C ends it", file=sys.stderr)
    serve(folders, may_run=not args.no_run)
    return 0
