"""What `origin`, `prove` and `compare --prove` share: options, what is run again, and what is said meanwhile."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from whyperf.cli.quantities import count, positive_duration
from whyperf.collect.setup.lifecycle import Lifecycle, Measuring
from whyperf.collect.target.program import Program, find_program
from whyperf.collect.target.shell import without_shell
from whyperf.comparison.alternation import Side
from whyperf.comparison.plan import ComparisonPlan
from whyperf.comparison.progress import Steps
from whyperf.errors import WhyperfError
from whyperf.investigation.subject import MOST_RUNS, ProofBounds, Subject, UnitsOfWork
from whyperf.recording.sealed.manifest import Manifest

if TYPE_CHECKING:
    from whyperf.cli.diagnose import ShownVerdict
    from whyperf.diagnose.verdict import Verdict
    from whyperf.engines.recording_protocol import Recorded
    from whyperf.investigation.so_far import TriedFunctions

DEFAULT_BUDGET_S = 300.0
_RECORD_AGAIN = 'whyperf compare --prove "GOOD COMMAND" "BAD COMMAND"'


def add_investigating(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--budget",
        metavar="TIME",
        type=positive_duration,
        default=DEFAULT_BUDGET_S,
        help="start no run after this time (default 5m)",
    )
    parser.add_argument(
        "--most-runs",
        metavar="N",
        type=count,
        default=MOST_RUNS,
        help="make at most N runs that follow and force values, not counting those that force branches; a first trial "
        f"is always made (default {MOST_RUNS})",
    )
    parser.add_argument(
        "--deep",
        action="store_true",
        help="if probes do not tell who wrote to memory, run the commands under Valgrind, which takes much longer",
    )
    add_output_files(parser)


def check_deep_hops(args: argparse.Namespace) -> None:
    """Before anything is run: says what `--deep` lacks."""
    if args.deep:
        from whyperf.collect.dependences.valgrind import find_valgrind

        find_valgrind(os.environ)


def add_output_files(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--output-file",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="a file that the program writes, and that forcing must not change (may be repeated)",
    )


def refuse_redacted(recordings: Iterable[Recorded]) -> None:
    """New runs show values as they are: nothing is run for recordings that do not."""
    redacted = next((one for one in recordings if one.manifest.redaction), None)
    if redacted is not None:
        raise WhyperfError(
            f"{redacted.path} is redacted, and new runs of its command would print values as they are.", _RECORD_AGAIN
        )


def planned(plan: ComparisonPlan, output_files: Sequence[Path]) -> Subject:
    return Subject(
        _started(plan.programs[Side.GOOD]),
        _started(plan.programs[Side.BAD]),
        (plan.lifecycles[Side.GOOD], plan.lifecycles[Side.BAD]),
        dict(os.environ),
        tuple(output_files),
        _units_of(plan.measuring),
    )


def _units_of(measuring: Measuring) -> UnitsOfWork:
    calls = measuring.work_count or measuring.latency or ""
    return UnitsOfWork((calls, calls), bool(measuring.latency))


def recorded(good: Recorded, bad: Recorded, output_files: Sequence[Path]) -> Subject:
    """The commands of recordings, to be run again where they ran."""
    (first, of_first), (second, of_second) = _again(good.manifest), _again(bad.manifest)
    units = _units_recorded(good.manifest, bad.manifest)
    return Subject(first, second, (of_first, of_second), dict(os.environ), tuple(output_files), units)


def _units_recorded(good: Manifest, bad: Manifest) -> UnitsOfWork:
    options = [one for one in (good.options, bad.options) if one is not None]
    of_good, of_bad = ("" if one is None else one.work_count or one.latency for one in (good.options, bad.options))
    is_reported = bad.work_unit != "run" and not any(one.drive or one.work_count or one.latency for one in options)
    are_timed = any(one.latency for one in options)
    return UnitsOfWork((of_good, of_bad), are_timed, bad.work_unit if is_reported else "")


def _again(manifest: Manifest) -> tuple[Program, Lifecycle]:
    options = manifest.options
    if options is None or not manifest.command:
        raise WhyperfError(
            "These recordings do not say how their program was started, so it cannot be run again.",
            _RECORD_AGAIN,
        )
    usual, folder = Lifecycle(), Path(options.folder)
    if not folder.is_dir():
        raise WhyperfError(f"{folder}, where the program was started, does not exist any more.", _RECORD_AGAIN)
    lifecycle = Lifecycle(
        ready=options.ready or None,
        ready_timeout_s=usual.ready_timeout_s if options.ready_timeout_s is None else options.ready_timeout_s,
        drive=options.drive or None,
        for_s=options.for_s,
        skip_s=options.skip_s,
        stop_signal=usual.stop_signal if options.stop_signal is None else options.stop_signal,
        stop_timeout_s=usual.stop_timeout_s if options.stop_timeout_s is None else options.stop_timeout_s,
        folder=folder,
    )
    return _started(find_program(manifest.command, os.environ, folder)), lifecycle


def _started(program: Program) -> Program:
    """What a shell starts, where that is all it does besides redirections: values are observed in it."""
    return without_shell(program, os.environ) or program


def binaries_of(recordings: Sequence[Recorded]) -> Callable[[str], Path | None]:
    """The file of a module that a verdict names, as the first recording that has it saw it."""
    paths = {
        Path(path).name: Path(path)
        for one in reversed(recordings)
        for path in one.table("modules").column("path").to_pylist()
        if path and Path(path).is_file()
    }
    return paths.get


def tried_first(answer: ShownVerdict, subject: Subject, ends: float, shown: Steps) -> TriedFunctions | None:
    """What needs no other pass; None where there is no such thing."""
    from whyperf.investigation.investigate import investigate_functions

    return investigate_functions(answer.verdict, subject, ProofBounds(ends), saying(shown, ends))


def investigated(
    answer: ShownVerdict,
    subject: Subject,
    ends: float,
    shown: Steps,
    functions: TriedFunctions | None = None,
    *,
    most_runs: int = MOST_RUNS,
    deep: bool = False,
) -> Verdict:
    """The answer's verdict with its cause, as far as that is found before `ends`. `functions`: what was tried first.
    `deep`: with runs under Valgrind where others do not tell."""
    from whyperf.diagnose.next_command.settled import prove, proven
    from whyperf.investigation.investigate import investigate

    bad = answer.examined.bad
    paths = [one.path for one in answer.examined.good], [one.path for one in bad]
    options = [
        *(["--deep"] if deep else []),
        *(word for file in subject.output_files for word in ("--output-file", file)),
    ]
    bounds, say = ProofBounds(ends, most_runs, deep), saying(shown, ends)
    verdict = investigate(
        answer.verdict, subject, binaries_of(bad), bounds, say, again=prove(*paths, *options), functions=functions
    )
    return proven(verdict, *paths)


def saying(shown: Steps, ends: float) -> Callable[[str], None]:
    began = time.monotonic()

    def say(what: str) -> None:
        now = time.monotonic()
        shown.step(what, min(1.0, (now - began) / max(ends - began, 1e-9)), None)

    return say
