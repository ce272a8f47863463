"""`whyperf view`: the page of a comparison or of recordings, served to this machine alone."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from whyperf.cli.diagnose import ShownVerdict, add_sides, as_kept, sides
from whyperf.cli.opened_recordings import opened
from whyperf.cli.possible_passes import PossibleHere
from whyperf.recording.compared import compared_in

if TYPE_CHECKING:
    from whyperf.diagnose.verdict import Verdict
    from whyperf.report.html.examined import Examined

NAME = "view"
SUMMARY = "look at recordings, or at why one is slower than another, in a browser"
EXAMPLES = """\
examples:
  whyperf view good bad
  whyperf view tool-20260101-120000.compare
  whyperf view recording

The page is served on this machine alone, at an address that cannot be guessed, until Ctrl-C. To send it to somebody,
write it to a file: whyperf diagnose good bad --html FILE
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "whyperf view (RECORDING | GOOD BAD | FOLDER | --good GOOD... --bad BAD...) [options]"
    add_sides(parser, "a recording, a good and a bad one, or the folder that compare made")
    parser.add_argument("--port", metavar="N", type=_port, default=0, help="where to serve it (default: any free port)")
    parser.add_argument("--open", action="store_true", help="open it in the browser")


def run(args: argparse.Namespace) -> int:
    from whyperf.report.html.build import page_model
    from whyperf.report.html.page import render
    from whyperf.report.html.serve import PageServer

    page = render(page_model(*_examined(args)))
    with PageServer(page, args.port) as server:
        print(server.url, flush=True)
        print("whyperf: open this address in a browser; Ctrl-C ends it", file=sys.stderr)
        if args.open:
            import webbrowser

            webbrowser.open(server.url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return 0
    return 0


def _examined(args: argparse.Namespace) -> tuple[Verdict | None, Examined]:
    from whyperf.diagnose.diagnosis import examine
    from whyperf.diagnose.recording_kinds import are_deep, parted
    from whyperf.report.html.examined import Examined

    only = Path(args.recordings[0]) if len(args.recordings) == 1 and not args.good and not args.bad else None
    if only is not None and not all(compared_in(only)):
        recording = opened(only, args)
        # A stall is found in one recording; that there is none is no answer to who only wants to look.
        if recording.manifest.trace is None:
            return None, Examined([], [recording])
        from whyperf.diagnose.causes import examine_stall

        verdict = examine_stall(recording)
        return verdict if verdict.suspects else None, Examined([], [recording])
    named = sides(args, NAME)
    good, bad = ([opened(path, args) for path in side] for side in named)
    if are_deep([*good, *bad]):
        from whyperf.diagnose.relations import examine_deep

        return examine_deep(good, bad), Examined(good, bad)
    diagnosis = examine(good, bad, possible=PossibleHere())
    sampled = parted(good, bad).sampled
    examined = Examined(sampled.good, sampled.bad, diagnosis.excess, diagnosis.values)
    return as_kept(ShownVerdict(diagnosis.verdict, examined, named), args).verdict, examined


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: type a number up to 65535")
    return int(text)
