"""`whyperf bisect`: which commit made it slow."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from whyperf.cli.diagnose import check_outputs, exit_status, is_printed, page_of, write_text
from whyperf.cli.lifecycle_options import add_lifecycle, add_measuring, lifecycle_of, measuring_of
from whyperf.cli.progress import progress
from whyperf.cli.quantities import count, positive_duration
from whyperf.cli.revision_options import add_building, add_command, command_of, words_in
from whyperf.errors import WhyperfError

if TYPE_CHECKING:
    from whyperf.comparison.plan import ComparisonPlan
    from whyperf.comparison.progress import Steps
    from whyperf.diagnose.verdict import Verdict
    from whyperf.revisions.bisect import Bisection, JudgedPair, Searched
    from whyperf.revisions.commits import CandidateCommit
    from whyperf.revisions.search import SearchSettings

NAME = "bisect"
SUMMARY = "find the commit that made a program slow"
EXAMPLES = """\
examples:
  whyperf bisect --good v1.2 --bad HEAD --build "make -j" -- ./tool in.txt
  whyperf bisect --good v1.2 --bad HEAD --build "make -j" --budget 20m --json found.json -- ./tool in.txt
  whyperf bisect --good v1.2 --bad HEAD --build make --ready tcp:7000 --drive ./load.sh -- ./server a.conf

Both ends are recorded and compared first. Then candidates run in turns with both ends, unrecorded, as often as the
noise requires, starting where the slow functions were changed. Commits that do not build, or whose command fails, are
skipped. A merge counts as one commit; if it is the first slow one, the search continues in what it merged. Checkouts
and builds are kept in the cache (rm -rf ~/.cache/whyperf/revisions removes them); your own tree stays as it is.

exit status: 0 found, 3 the ends do not differ, 4 not enough evidence or not found within the limits, 1 and 2 errors
"""
_DEFAULT_SURE = 95.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "whyperf bisect --good REV --bad REV [--build COMMAND] [options] -- COMMAND [ARGUMENT ...]"
    parser.add_argument("--good", metavar="REV", required=True, help="a revision that is fast")
    parser.add_argument("--bad", metavar="REV", required=True, help="a later one that is slow")
    add_building(parser)
    parser.add_argument(
        "--measure",
        choices=("cpu", "elapsed"),
        help="the time by which commits are told apart (default: what grew between the ends)",
    )
    parser.add_argument(
        "--sure",
        metavar="PCT",
        type=_probability,
        default=_DEFAULT_SURE / 100,
        help=f"stop when a commit is the one with this probability (default {_DEFAULT_SURE:g})",
    )
    parser.add_argument("--budget", metavar="TIME", type=positive_duration, help="start no comparison after this time")
    parser.add_argument(
        "--most-comparisons", metavar="N", type=count, default=30, help="give up after so many (default 30)"
    )
    parser.add_argument("--runs", metavar="N", type=count, help="pairs of runs that are recorded (default 3)")
    parser.add_argument("-o", "--output", metavar="FOLDER", type=Path, help="the folder to create for the recordings")
    parser.add_argument("--force", action="store_true", help="replace recordings in that folder")
    parser.add_argument(
        "--json", metavar="FILE", help="write every commit's probability and the verdicts as JSON; - prints it"
    )
    parser.add_argument(
        "--html",
        metavar="FILE",
        type=Path,
        help="write the last verdict and its evidence as one page; - prints it instead of the report",
    )
    parser.add_argument("--top", metavar="N", type=count, default=10, help="suspects to show (default 10)")
    add_lifecycle(parser)
    add_measuring(parser)
    add_command(parser, "what is run in every revision")


def run(args: argparse.Namespace) -> int:
    from whyperf.revisions.search import SearchEnding

    if not command_of(args):
        raise WhyperfError("What shall be run? The command comes after --.", "whyperf bisect --help", status=2)
    check_outputs(args)
    plan = _plan(args)
    with progress() as shown:
        commits, bisection = _start(args, plan, shown)
        found: Searched | None = None
        judged: JudgedPair | None = None
        try:
            ends = bisection.judge_ends((args.good, args.bad))
            if ends.may_be_slower:
                symptom = ends.verdict.symptom.measure
                measure = args.measure or ("elapsed" if symptom == "wall_s" else "cpu")
                found = bisection.search(commits, ends, _settings(args), measure, args.budget)
                judged = bisection.judge_found(found) if found.ending is SearchEnding.FOUND else None
        except KeyboardInterrupt:
            raise _interrupted(plan, bisection) from None
    if found is None or found.ending is SearchEnding.NO_GAP:
        status = _present_ends(ends, args)
    else:
        status = _present(found, ends, judged, args)
    print(f"whyperf: the recordings are in {plan.folder}", file=sys.stderr)
    return status


def _start(args: argparse.Namespace, plan: ComparisonPlan, shown: Steps) -> tuple[list[CandidateCommit], Bisection]:
    """The candidates, and both ends built."""
    from whyperf.comparison.plan import make_folder
    from whyperf.revisions.bisect import Bisection
    from whyperf.revisions.checkout import built
    from whyperf.revisions.commits import candidates
    from whyperf.revisions.git import find_repository, resolve
    from whyperf.revisions.timed import TimedSubject

    repository = find_repository(Path.cwd())
    commits = candidates(repository, resolve(repository, args.good), resolve(repository, args.bad))
    if not commits:
        raise WhyperfError(f"There is no commit after {args.good} up to {args.bad}.", "git log --oneline -20", status=2)
    ends = args.good, args.bad
    good, bad = (built(repository, one, args.build, shown=shown, again=args.rebuild) for one in ends)
    words = words_in(command_of(args), [good.folder, bad.folder])
    make_folder(plan.folder)
    subject = TimedSubject(repository, args.build, words, lifecycle_of(args))
    return commits, Bisection(subject, plan, (good, bad), shown)


def _plan(args: argparse.Namespace) -> ComparisonPlan:
    """Of all recordings; which programs they are of is known later."""
    from whyperf.comparison.alternation import Side
    from whyperf.comparison.plan import ComparisonPlan, check_folder

    name = Path(command_of(args)[0]).name
    folder = args.output or Path(f"{name}-{time.strftime('%Y%m%d-%H%M%S')}.bisect")
    check_folder(folder, args.force)
    lifecycle = lifecycle_of(args)
    return ComparisonPlan(
        programs={},
        lifecycles=dict.fromkeys(Side, lifecycle),
        measuring=measuring_of(args, driven=args.drive is not None),
        folder=folder,
        runs=args.runs,
        show_output=False,
        force=args.force,
    )


def _settings(args: argparse.Namespace) -> SearchSettings:
    from whyperf.revisions.search import SearchSettings

    return SearchSettings(sure=args.sure, most_comparisons=args.most_comparisons)


def _present_ends(ends: JudgedPair, args: argparse.Namespace) -> int:
    """There is nothing to search for."""
    from whyperf.report.json import to_json
    from whyperf.report.terminal import show

    verdict = _told(ends)
    if args.json is not None:
        write_text(args.json, to_json(verdict), "whyperf bisect ... --json -")
    if args.json != "-":
        show(verdict, top=args.top)
    print("whyperf: the bad revision is not slower beyond doubt, so there is no commit to look for", file=sys.stderr)
    return exit_status(verdict, None) or 4  # recorded runs differ, unrecorded ones do not


def _present(found: Searched, ends: JudgedPair, judged: JudgedPair | None, args: argparse.Namespace) -> int:
    from whyperf.cli.bisect_report import sentences, to_json
    from whyperf.report.terminal import show

    verdict = None if judged is None else _told(judged)
    if args.html is not None and judged is not None:
        write_text(args.html, page_of(judged.verdict, judged.examined), "whyperf view GOOD BAD")
    if args.json is not None:
        write_text(args.json, to_json(found, _told(ends), verdict), "whyperf bisect ... --json -")
    if not is_printed(args.json) and not (judged is not None and is_printed(args.html)):
        print("\n".join(sentences(found, judged)))
        if verdict is not None:
            print()
            show(verdict, top=args.top)
    return 0 if verdict is not None else 4


def _told(judged: JudgedPair) -> Verdict:
    from whyperf.revisions.suspects import with_history, with_short_paths

    return with_short_paths(with_history(judged.verdict, judged.compared, judged.examined.bad), judged.compared)


def _interrupted(plan: ComparisonPlan, bisection: Bisection) -> WhyperfError:
    """What an interrupted search knew."""
    from whyperf.cli.bisect_report import one_line

    so_far = "no commit was measured" if bisection.searched is None else one_line(bisection.searched)
    return WhyperfError(f"Interrupted: {so_far}; builds are kept, and the recordings are in {plan.folder}.", status=130)


def _probability(text: str) -> float:
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = float("nan")
    if not 50 <= value < 100:
        raise argparse.ArgumentTypeError(f"{text!r} is not a percentage from 50 to 99.9")
    return value / 100
