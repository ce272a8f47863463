"""`whyperf compare`: record both, several times in turns, and diagnose: the whole job in one line."""

from __future__ import annotations

import argparse
import os
import shlex
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from whyperf.cli.alternation import Side, order, pairs_for
from whyperf.cli.deep_options import add_deep, check_deep, symptom_of
from whyperf.cli.endings import Outcomes, endings, last_output, remarks
from whyperf.cli.lifecycle_options import add_lifecycle, add_measuring, lifecycle_of, measuring_of
from whyperf.cli.progress import Progress, progress
from whyperf.cli.quantities import count
from whyperf.cli.trace_options import add_trace, check_trace, refuse_watching, say_by_perf, without_privilege
from whyperf.collect.lifecycle import Lifecycle, Measuring, Outcome
from whyperf.collect.program import Program, check_followable, check_traceable
from whyperf.collect.shell import command_line
from whyperf.errors import WhyperfError

NAME = "compare"
SUMMARY = "record a good and a bad command, and say why the bad one is slower"
EXAMPLES = """\
examples:
  whyperf compare --good "./tool small.txt" --bad "./tool big.txt"
  whyperf compare --good "./server a.conf" --bad "./server b.conf" --ready tcp:7000 --drive ./load.sh
  whyperf compare --good ./server --bad ./server --ready tcp:7000 --good-drive ./fast.sh --bad-drive ./slow.sh
  sudo whyperf compare --trace --good "./tool small.txt" --bad "./tool big.txt"
  whyperf compare --deep --good "./tool a.txt" --bad "./tool b.txt" --symptom function:evict

Commands are split into words and started without a shell; those that use its syntax ($VAR, *, |, >, &&, VAR=x)
are run by /bin/sh.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "whyperf compare --good COMMAND --bad COMMAND [options]"
    parser.add_argument("--good", metavar="COMMAND", required=True, help="the run that behaves")
    parser.add_argument("--bad", metavar="COMMAND", required=True, help="the run that does not")
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
    from whyperf.cli.diagnose import add_presentation

    add_presentation(parser)


@dataclass(frozen=True)
class Plan:
    programs: Mapping[Side, Program]
    lifecycles: Mapping[Side, Lifecycle]
    measuring: Measuring
    folder: Path
    runs: int | None
    show_output: bool
    force: bool
    perf_hz: int = 0  # kernel events are recorded by perf, not by us; 0: they are not


def run(args: argparse.Namespace) -> int:
    from whyperf.cli.diagnose import check_page

    check_deep(args)
    check_trace(args)
    check_page(args)
    plan = plan_of(args)
    outcomes: Outcomes = {Side.GOOD: [], Side.BAD: []}
    try:
        status = (_record_deeply if args.deep else record_and_diagnose)(plan, args, outcomes)
    except KeyboardInterrupt:
        raise _interrupted(plan.folder, outcomes) from None
    except BrokenPipeError:  # nobody reads the report any more; what was recorded is worth a diagnosis later
        _say_where(plan.folder)
        raise
    _say_where(plan.folder)
    return status


def _say_where(folder: Path) -> None:
    print(f"whyperf: the recordings are in {folder}", file=sys.stderr)


def record_and_diagnose(plan: Plan, args: argparse.Namespace, outcomes: Outcomes) -> int:
    from whyperf.cli.diagnose import conclude

    recorded = record_pairs(plan, outcomes)
    return conclude(recorded[Side.GOOD], recorded[Side.BAD], args, warnings=endings(outcomes), notes=remarks(outcomes))


def _record_deeply(plan: Plan, args: argparse.Namespace, outcomes: Outcomes) -> int:
    from whyperf.cli.deep_compare import DeepPlan, compare_deep
    from whyperf.collect.dependences.loaded import plug_in_files
    from whyperf.recording.symptom import SymptomKind, SymptomSpec

    symptom = symptom_of(args) or SymptomSpec(SymptomKind.INSTRUCTIONS)
    _make_folder(plan.folder)
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
    return compare_deep(deep, args, outcomes)


def record_pairs(plan: Plan, outcomes: Outcomes) -> dict[Side, list[Path]]:
    """Records all runs in turns, adds them to `outcomes` as they end, and seals them afterwards."""
    from whyperf.collect.seal import seal

    _make_folder(plan.folder)
    seconds: dict[Side, list[float]] = {Side.GOOD: [], Side.BAD: []}
    with progress() as shown:
        turns = list(order(plan.runs or pairs_for(0)))
        done = 0
        while done < len(turns):
            side, number = turns[done]
            shown.step(f"run {done + 1} of {len(turns)}: {side.value}", done / len(turns), _left(turns[done:], seconds))
            began = time.monotonic()
            outcomes[side].append(_record(plan, side, number, shown))
            seconds[side].append(time.monotonic() - began)
            done += 1
            if plan.runs is None:
                # Long runs are worth fewer pairs; what has begun is finished as a pair.
                pairs = max(pairs_for(max(seconds[Side.GOOD] + seconds[Side.BAD])), (done + 1) // 2)
                turns = list(order(pairs))
        paths = {side: [outcome.path for outcome in runs] for side, runs in outcomes.items()}
        for done, path in enumerate(every := [*paths[Side.GOOD], *paths[Side.BAD]]):
            shown.step(f"reading {path.name}", done / len(every), None)
            seal(path)
    return paths


def _interrupted(folder: Path, outcomes: Mapping[Side, list[Outcome]]) -> WhyperfError:
    """What an interrupted comparison leaves: its complete runs can be compared."""
    good, bad = ([shlex.quote(str(outcome.path)) for outcome in outcomes[side]] for side in (Side.GOOD, Side.BAD))
    command = f"whyperf diagnose --good {' '.join(good)} --bad {' '.join(bad)}" if good and bad else None
    complete = f"{len(good)} good and {len(bad)} bad runs are complete" if good or bad else "no run is complete"
    return WhyperfError(f"Interrupted: {complete}; what was recorded is kept in {folder}.", command, status=130)


def plan_of(args: argparse.Namespace) -> Plan:
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
    programs = {Side.GOOD: command_line(args.good, os.environ), Side.BAD: command_line(args.bad, os.environ)}
    for program in programs.values():
        (check_traceable if args.deep or args.trace else check_followable)(program)
    folder = args.output or Path(_default_name(programs[Side.BAD]))
    _check_folder(folder, args.force)
    plan = Plan(
        programs,
        {side: lifecycle_of(args, drive) for side, drive in drives.items()},
        measuring_of(args, driven=drives[Side.GOOD] is not None),
        folder,
        args.runs,
        args.show_output,
        args.force,
    )
    return _traced(plan, args) if args.trace else plan


def _traced(plan: Plan, args: argparse.Namespace) -> Plan:
    """With kernel events, by the best means that this machine permits."""
    from whyperf.collect.tracer.means import Means, choose

    choice, watched = choose(), tuple(args.watch)
    if choice.means is Means.BPF:
        measuring = replace(plan.measuring, trace_hz=args.trace_rate, watched=watched, queues=not args.no_queues)
        return replace(plan, measuring=measuring)
    refuse_watching(watched, choice.reason, choice.mend)
    if choice.means is Means.PERF:
        say_by_perf(choice.reason)
        return replace(plan, perf_hz=args.trace_rate)
    return replace(plan, measuring=without_privilege(plan.measuring, choice.reason, choice.mend))


def _default_name(program: Program) -> str:
    name = Path(program.command[0]).name
    return f"{name}-{time.strftime('%Y%m%d-%H%M%S')}.compare"


def _check_folder(folder: Path, force: bool) -> None:
    if not folder.exists():
        return
    quoted = shlex.quote(str(folder))
    if not folder.is_dir():
        raise WhyperfError(f"{folder} exists and is not a folder.", f"ls -l {quoted}")
    if not force and any(folder.iterdir()):
        raise WhyperfError(
            f"{folder} is not empty; --force replaces the recordings in it.", f"whyperf compare --force -o {quoted} ..."
        )


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        parent = shlex.quote(str(folder.parent))
        raise WhyperfError(f"{folder} cannot be created: {error.strerror}.", f"mkdir -p {parent}") from None


def _left(turns: list[tuple[Side, int]], seconds: Mapping[Side, list[float]]) -> float | None:
    """How long the remaining runs will take, if they take as long as those of their kind, or of the other."""
    known = {side: statistics.mean(times) for side, times in seconds.items() if times}
    if not known:
        return None
    return sum(known.get(side, max(known.values())) for side, _ in turns)


def _recorder(plan: Plan) -> Callable[..., Outcome]:
    if plan.perf_hz:
        from whyperf.importers.perf_record import record_with_perf

        return partial(record_with_perf, sample_hz=plan.perf_hz, unit=plan.measuring.unit)
    from whyperf.collect.runner import record_run

    return partial(record_run, measuring=plan.measuring)


def _record(plan: Plan, side: Side, number: int, shown: Progress) -> Outcome:
    outcome = _recorder(plan)(
        plan.programs[side],
        plan.folder / f"{side.value}-{number}",
        lifecycle=plan.lifecycles[side],
        environment=dict(os.environ),
        capture_output=not plan.show_output,
        force=plan.force,
        on_tick=shown.tick,
    )
    if outcome.stopped_by == "interrupt":
        raise KeyboardInterrupt
    if outcome.failure is not None:
        tail = last_output(outcome.path)
        said = f" It last wrote: {tail}" if tail else ""
        raise WhyperfError(
            f"The {side.value} run {number} failed: {outcome.failure.sentence}{said}", outcome.failure.next_command
        )
    return outcome
