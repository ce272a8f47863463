"""`whyperf compare`: record both, several times in turns, and diagnose: the whole job in one line."""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from whyperf.cli.benchmark_options import add_benchmarks, check_benchmarks
from whyperf.cli.counts_options import add_counting_runs, check_counting_runs
from whyperf.cli.deep_options import add_deep, check_deep, symptom_of
from whyperf.cli.diagnose import UNTOLD, add_presentation, check_outputs, judged, kept
from whyperf.cli.further_passes import First, FurtherPasses, add_budget, check_going_on
from whyperf.cli.lifecycle_options import add_lifecycle, add_measuring, lifecycle_of, measuring_of
from whyperf.cli.memory_options import add_memory, check_memory, with_memory
from whyperf.cli.next_commands import of_revisions
from whyperf.cli.opened_page import choose_page
from whyperf.cli.progress import progress
from whyperf.cli.quantities import count
from whyperf.cli.revision_options import add_revisions, check_out_both, check_sides
from whyperf.cli.trace_options import (
    add_trace,
    check_trace,
    refuse_timing,
    refuse_watching,
    say_by_perf,
    without_privilege,
)
from whyperf.collect.setup.lifecycle import RunOutcome
from whyperf.collect.target.program import Program, check_followable, check_traceable
from whyperf.collect.target.shell import command_line, typed
from whyperf.comparison.adapting import adapted
from whyperf.comparison.alternation import Side
from whyperf.comparison.endings import Outcomes, endings, failing_side, few_pairs, remarks
from whyperf.comparison.pairs import record_pairs
from whyperf.comparison.plan import ComparisonPlan, alone_in, check_folder, default_folder, make_folder
from whyperf.errors import WhyperfError
from whyperf.optional import has_numba, no_numba
from whyperf.recording.compared import forget

if TYPE_CHECKING:
    from whyperf.diagnose.verdict import Verdict
    from whyperf.revisions.suspects import ComparedCommits

NAME = "compare"
SUMMARY = "record a good and a bad command, and say why the bad one is slower"
EXAMPLES = """\
examples:
  whyperf compare "./tool small.txt" "./tool big.txt"
  whyperf compare --good "./server a.conf" --bad "./server b.conf" --ready tcp:7000 --drive ./load.sh
  whyperf compare --good ./server --bad ./server --ready tcp:7000 --good-drive ./fast.sh --bad-drive ./slow.sh
  whyperf compare --latency handle_request ./server-old ./server-new --ready tcp:7000 --drive ./load.sh
  sudo whyperf compare --trace --good "./tool small.txt" --bad "./tool big.txt"
  whyperf compare --counts --good "./tool small.txt" --bad "./tool big.txt"
  whyperf compare --memory --good "./tool small.txt" --bad "./tool big.txt"
  whyperf compare --deep --good "./tool a.txt" --bad "./tool b.txt" --symptom function:evict
  whyperf compare --rev v1.2 --rev HEAD --build "make -j" -- ./tool in.txt
  whyperf compare --benchmark BM_parse --good old/bench --bad new/bench
  whyperf compare --from-hyperfine times.json
  git bisect start HEAD v1.2 && git bisect run \\
    whyperf compare --bisect-exit --rev v1.2 --rev HEAD --build "make -j" -- ./tool in.txt

Commands are split into words and started without a shell; those that use its syntax ($VAR, *, |, >, &&, VAR=x)
are run by /bin/sh. Revisions are checked out and built in the cache; your own tree stays as it is. `whyperf bisect`
finds the commit between them. Ctrl-C while it goes on by itself ends that pass: the verdict is of the runs before it.

exit status: as diagnose; with --bisect-exit 0 good, 1 bad, 125 cannot tell or could not run, 128 used wrongly
"""
_EXAMPLE = "whyperf compare {} GOOD BAD"
UNUSABLE = 128  # to `git bisect run`, which ends at it; it would take 2 for bad


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = """\
whyperf compare GOOD BAD [options]
       whyperf compare --good COMMAND --bad COMMAND [options]
       whyperf compare --rev GOOD --rev BAD [--build COMMAND] [options] -- COMMAND [ARGUMENT ...]"""
    parser.add_argument("--good", metavar="COMMAND", help="the command that is fast enough")
    parser.add_argument("--bad", metavar="COMMAND", help="the command that is too slow, or needs too much memory")
    add_revisions(parser)
    add_benchmarks(parser)
    parser.add_argument(
        "--runs", metavar="N", type=count, help="pairs of runs (default 3; fewer when a run takes 30 s or more)"
    )
    parser.add_argument("-o", "--output", metavar="FOLDER", type=Path, help="the folder to create for the recordings")
    parser.add_argument("--force", action="store_true", help="replace recordings in that folder")
    parser.add_argument("--show-output", action="store_true", help="let the targets write to this terminal")
    parser.add_argument("--good-drive", metavar="COMMAND", help="the load of good runs")
    parser.add_argument("--bad-drive", metavar="COMMAND", help="the load of bad runs")
    add_lifecycle(parser)
    add_measuring(parser)
    add_trace(parser)
    add_deep(parser)
    add_counting_runs(parser)
    add_memory(parser)
    add_budget(parser)
    add_presentation(parser)
    parser.add_argument(
        "--bisect-exit",
        action="store_true",
        help="exit as `git bisect run` wants it: 0 not slower, 1 slower beyond doubt, 125 cannot tell or could not run",
    )
    parser.add_argument(
        "command",
        nargs="*",
        metavar="COMMAND",
        help="the good and the bad command, each in quotes; or what is run in both revisions of --rev, after --",
    )


def run(args: argparse.Namespace) -> int:
    try:
        return _compare(args)
    except WhyperfError as error:
        if args.bisect_exit and error.status < 128:
            error.status = UNUSABLE if error.status == 2 else UNTOLD
        raise


def _compare(args: argparse.Namespace) -> int:
    check_benchmarks(args)
    check_sides(args)
    check_deep(args, _EXAMPLE)
    check_counting_runs(args)
    check_memory(args, "whyperf compare --memory --good COMMAND --bad COMMAND")
    check_trace(args, _EXAMPLE)
    check_going_on(args)
    check_outputs(args)
    programs, compared = check_out_both(args) if args.rev else (None, None)
    with tempfile.TemporaryDirectory(prefix="whyperf-") as scratch:
        plan = plan_of(args, programs)
        if args.benchmark is not None:
            plan = adapted(plan, args.benchmark, Path(scratch), os.environ)
        return _recorded(plan, args, compared)


def _recorded(plan: ComparisonPlan, args: argparse.Namespace, compared: ComparedCommits | None) -> int:
    choose_page(args, plan.folder)
    outcomes: Outcomes = {Side.GOOD: [], Side.BAD: []}
    is_new = not plan.folder.exists()
    try:
        make_folder(plan.folder)
        with alone_in(plan.folder):
            status = (_record_deeply if args.deep else record_and_diagnose)(plan, args, outcomes, compared)
    except KeyboardInterrupt:
        raise _interrupted(plan.folder, outcomes) from None
    except BrokenPipeError:  # nobody reads the report any more; what was recorded is worth a diagnosis later
        _say_where(plan.folder)
        raise
    except WhyperfError:
        if is_new:
            with contextlib.suppress(OSError):
                plan.folder.rmdir()  # where nothing was recorded
        raise
    _say_where(plan.folder)
    return status


def _say_where(folder: Path) -> None:
    print(f"whyperf: the recordings are in {folder}", file=sys.stderr)


def record_and_diagnose(
    plan: ComparisonPlan, args: argparse.Namespace, outcomes: Outcomes, compared: ComparedCommits | None = None
) -> int:
    began = time.monotonic()
    forget(plan.folder)
    with progress() as shown:
        recorded = record_pairs(plan, outcomes, shown)
    first_pairs, took = len(outcomes[Side.GOOD]), time.monotonic() - began
    answer = judged(recorded[Side.GOOD], recorded[Side.BAD], args)
    if not args.quick:
        first = First(recorded, time.monotonic() - began, first_pairs)
        answer = FurtherPasses(plan, args, partial(_traced, args=args), outcomes, compared).judge(first, answer)
    if compared is not None:
        manifests = [answer.examined.good[0].manifest, answer.examined.bad[0].manifest]
        answer = replace(answer, verdict=of_revisions(answer.verdict, answer.step, args, compared, manifests))
    answer = replace(answer, verdict=_if_it_fails(answer.verdict, plan, outcomes))
    notes = [*few_pairs(plan, first_pairs, took), *remarks(outcomes)]
    answer = answer.with_remarks(warnings=endings(outcomes), notes=notes)
    if compared is not None:
        from whyperf.revisions.suspects import with_history

        answer = replace(answer, verdict=with_history(answer.verdict, compared, answer.examined.bad))
    return kept(answer, plan.folder, args).present(args, compared)


def _if_it_fails(verdict: Verdict, plan: ComparisonPlan, outcomes: Outcomes) -> Verdict:
    """Where nothing could be told and no run of a side did its work, more runs would fail as well: the next thing to do
    is to look at the program alone."""
    side = failing_side(outcomes)
    if verdict.kind.value not in ("none", "insufficient") or side is None:
        return verdict
    note = f"No {side.value} run ended with status 0: run the command alone to see why."
    return replace(verdict, next_command=typed(plan.programs[side].command), notes=(*verdict.notes, note))


def _record_deeply(
    plan: ComparisonPlan, args: argparse.Namespace, outcomes: Outcomes, compared: ComparedCommits | None
) -> int:
    from whyperf.cli.deep_compare import DeepPlan, compare_deep
    from whyperf.collect.target.loaded_files import plug_in_files
    from whyperf.recording.symptom import SymptomKind, SymptomSpec

    symptom = symptom_of(args) or SymptomSpec(SymptomKind.INSTRUCTIONS)
    forget(plan.folder)
    deep = DeepPlan(
        plan.programs,
        plan.lifecycles,
        plan.folder,
        plan.runs or 1,
        plan.show_output,
        plan.force,
        plan.measuring.unit,
        symptom,
        plug_in_files(args.plug_in),
    )
    return compare_deep(deep, args, outcomes, compared)


def _interrupted(folder: Path, outcomes: Mapping[Side, list[RunOutcome]]) -> WhyperfError:
    """What an interrupted comparison leaves: its complete runs can be compared."""
    good, bad = ([shlex.quote(str(outcome.path)) for outcome in outcomes[side]] for side in (Side.GOOD, Side.BAD))
    command = f"whyperf diagnose --good {' '.join(good)} --bad {' '.join(bad)}" if good and bad else None
    complete = f"{len(good)} good and {len(bad)} bad runs are complete" if good or bad else "no run is complete"
    return WhyperfError(f"Interrupted: {complete}; what was recorded is kept in {folder}.", command, status=130)


def plan_of(args: argparse.Namespace, programs: Mapping[Side, Program] | None = None) -> ComparisonPlan:
    """`programs` where they are not those that --good and --bad name."""
    drives = {
        Side.GOOD: args.good_drive or args.drive,
        Side.BAD: args.bad_drive or args.drive,
    }
    if (drives[Side.GOOD] is None) != (drives[Side.BAD] is None):
        raise WhyperfError(
            "Good and bad runs need a driver both, or neither: give --drive, or --good-drive and --bad-drive.",
            "whyperf compare --help",
            status=2,
        )
    if programs is None:
        programs = {Side.GOOD: command_line(args.good, os.environ), Side.BAD: command_line(args.bad, os.environ)}
    for program in programs.values():
        (check_traceable if args.deep or args.trace else check_followable)(program)
    if (args.deep or args.trace) and not has_numba():
        raise no_numba()
    folder = args.output or default_folder(programs[Side.BAD])
    check_folder(folder, args.force)
    plan = ComparisonPlan(
        programs,
        {side: lifecycle_of(args, drive) for side, drive in drives.items()},
        with_memory(measuring_of(args, driven=drives[Side.GOOD] is not None), args),
        folder,
        args.runs,
        args.show_output,
        args.force,
        args.counts,
    )
    return _traced(plan, args=args) if args.trace else plan


def _traced(plan: ComparisonPlan, *, args: argparse.Namespace) -> ComparisonPlan:
    """With kernel events, by the best means that this machine permits."""
    from whyperf.collect.tracer.backends import Backend, choose

    choice, watched = choose(), tuple(args.watch)
    if choice.means is Backend.BPF:
        measuring = replace(
            plan.measuring, clock="wall", trace_hz=args.trace_rate, watched=watched, queues=not args.no_queues
        )
        return replace(plan, measuring=measuring)
    refuse_watching(watched, choice.reason, choice.fix)
    if choice.means is Backend.PERF:
        refuse_timing(args.latency if args.trace else None, choice.reason, choice.fix)
        say_by_perf(choice.reason)
        return replace(plan, perf_hz=args.trace_rate)
    return replace(plan, measuring=without_privilege(plan.measuring, choice.reason, choice.fix))
