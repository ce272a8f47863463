"""`--open`: the page in a browser, when all is done."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

PAGE_NAME = "verdict.html"


def add_open(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--open", action="store_true", help="open the page in a browser when done (--html says where it is kept)"
    )


def choose_page(args: argparse.Namespace, folder: Path | None = None) -> None:
    """Where the page goes if the user did not say: beside the recordings, or into a folder of its own."""
    if args.open and args.html is None:
        import tempfile

        args.html = (folder or Path(tempfile.mkdtemp(prefix="whyperf-"))) / PAGE_NAME


def open_page(path: Path) -> None:
    """Says so where there is no browser: over ssh there seldom is one."""
    import webbrowser

    try:
        opened = webbrowser.open(path.absolute().as_uri())
    except webbrowser.Error:
        opened = False
    if not opened:
        print("whyperf: no browser could be opened here; the page's address above opens it elsewhere", file=sys.stderr)
