"""Open the recordings that a command names, within `--max-rows`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from whyperf.cli.quantities import count
from whyperf.recording.safe_files.limits import MOST_ROWS, ROWS_OPTION

if TYPE_CHECKING:
    from whyperf.recording.sealed.reader import Recording


def add_max_rows(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        ROWS_OPTION,
        dest="max_rows",
        metavar="N",
        type=count,
        default=MOST_ROWS,
        help=f"refuse tables with more rows than this (default {MOST_ROWS // 1_000_000} million)",
    )


def opened(path: Path, args: argparse.Namespace) -> Recording:
    """A recording in whatever state it is; commands without the option read the default at most."""
    from whyperf.seal.opening import open_recording

    return open_recording(path, max_rows=getattr(args, "max_rows", MOST_ROWS))
