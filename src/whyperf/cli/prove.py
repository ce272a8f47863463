"""`whyperf prove`: force what is suspected, and see whether the time goes."""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

from whyperf.cli.diagnose import (
    add_presentation,
    add_sides,
    check_outputs,
    compared_folder,
    judged,
    kept,
    sides,
)
from whyperf.cli.investigating import add_investigating, check_deep_hops, investigated, recorded, refuse_redacted
from whyperf.cli.opened_page import choose_page
from whyperf.cli.opened_recordings import opened
from whyperf.cli.progress import progress

NAME = "prove"
SUMMARY = "prove a suspicion: force the good value into bad runs, and see whether the time goes"
EXAMPLES = """\
examples:
  whyperf prove recordings
  whyperf prove good bad --budget 2m --html verdict.html
  whyperf prove recordings --deep --budget 20m
  whyperf compare --prove "./tool small.txt" "./tool big.txt"

The commands of the recordings are run again, in the folder where they ran. The value that decides is followed back to
who set it; there the good run's value is forced into the bad run, the bad one's into the good run, and its own value is
written back for comparison. Status and output must stay what they are: name files that the program writes with
--output-file. Programs that whyperf did not start are never touched.

exit status: as diagnose
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "whyperf prove (GOOD BAD | FOLDER | --good GOOD... --bad BAD...) [options]"
    add_sides(parser, "a good and a bad recording, or the folder that compare made")
    add_investigating(parser)
    add_presentation(parser)


def run(args: argparse.Namespace) -> int:
    choose_page(args)
    check_outputs(args)
    check_deep_hops(args)
    good, bad = sides(args, NAME)
    refuse_redacted(opened(path, args) for path in (*good, *bad))
    answer = judged(good, bad, args)
    subject = recorded(opened(good[0], args), opened(bad[0], args), args.output_file)
    ends = time.monotonic() + args.budget
    with progress() as shown:
        verdict = investigated(answer, subject, ends, shown, most_runs=args.most_runs, deep=args.deep)
    return kept(replace(answer, verdict=verdict), compared_folder(args), args).present(args)
