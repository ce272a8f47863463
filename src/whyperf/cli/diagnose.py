"""`whyperf diagnose`: why bad recordings are slower than good ones."""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from whyperf.cli.deep_options import add_symptom, refuse_explaining, symptom_of
from whyperf.cli.next_commands import typed_here
from whyperf.cli.opened_page import add_open, choose_page, open_page
from whyperf.cli.opened_recordings import add_max_rows, opened
from whyperf.cli.possible_passes import PossibleHere
from whyperf.cli.quantities import count, duration
from whyperf.cli.symptom_from import costliest, known_in
from whyperf.cli.workers import add_workers, executor_for, refuse_cluster
from whyperf.errors import WhyperfError
from whyperf.recording.compared import compared_in
from whyperf.recording.distinct import refuse_same

if TYPE_CHECKING:
    from whyperf.diagnose.diagnosis import Diagnosis
    from whyperf.diagnose.next_command.next_step import NextStep
    from whyperf.diagnose.verdict import Verdict
    from whyperf.engines.causes.diagnosis import StallFilter
    from whyperf.engines.excess.explain import Explanation
    from whyperf.recording.sealed.reader import Recording
    from whyperf.recording.symptom import SymptomSpec
    from whyperf.report.html.examined import Examined
    from whyperf.revisions.suspects import ComparedCommits

NAME = "diagnose"
SUMMARY = "say why bad recordings are slower than good ones"
EXAMPLES = """\
examples:
  whyperf diagnose good bad
  whyperf diagnose --good good-1 good-2 good-3 --bad bad-1 bad-2 bad-3
  whyperf diagnose good bad --explain parse_line
  whyperf diagnose good bad --html verdict.html
  whyperf diagnose stall --at 12.5s --thread main
  whyperf diagnose --slow-requests traced-server
  whyperf diagnose good bad --json verdict.json --fail-if-slower 10
  whyperf diagnose --good fleet/good-* --bad fleet/bad-* --cluster dask://scheduler:8786

exit status: 0 a difference was found, 3 none (or merely more work), 4 not enough evidence,
5 slower than --fail-if-slower permits, 1 and 2 errors
"""

_STATUS = {"difference": 0, "none": 3, "more-work": 3, "insufficient": 4}
_TOO_SLOW = 5
_STANDARD_OUTPUT = "-"
_USUAL_METHOD = "sound"
_WRITTEN = {"json": "the verdict", "html": "the page", "perfetto": "the trace", "plan": "the plan"}
UNTOLD = 125  # to `git bisect run`
_SAME_WORK = {None: None, "yes": True, "no": False}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "whyperf diagnose (GOOD BAD | FOLDER | --good GOOD... --bad BAD...) [options]"
    add_sides(parser, "a good and a bad recording, or the folder that compare made")
    parser.add_argument(
        "--anew", action="store_true", help="judge the recordings again: don't repeat the verdict kept in FOLDER"
    )
    parser.add_argument("--no-values", action="store_true", help="ignore recorded values: compare time only")
    parser.add_argument(
        "--stack-events",
        metavar="KINDS",
        type=_stack_events,
        help="event stacks used to infer latency: syscalls, switches, samples, joined by commas (default: all)",
    )
    add_symptom(parser)
    parser.add_argument(
        "--plan", metavar="FILE", type=Path, help="write what to zoom into, from sketches, for `record --deep --zoom`"
    )
    parser.add_argument(
        "--at", metavar="TIME", type=duration, help="of traced recordings: when it stalled, since the recording began"
    )
    parser.add_argument(
        "--thread", metavar="NAME", help="of traced recordings: which thread stalled, by name or number"
    )
    parser.add_argument(
        "--slow-requests",
        metavar="RECORDING",
        type=Path,
        help="of one traced recording of a server: what its slowest 1%% of requests did that the others did not",
    )
    add_workers(parser)
    add_presentation(parser)


def add_sides(parser: argparse.ArgumentParser, recordings: str) -> None:
    """Which recordings: `recordings` says what may be named without saying of which kind it is."""
    parser.add_argument("recordings", metavar="RECORDING", nargs="*", help=recordings)
    parser.add_argument("--good", metavar="RECORDING", nargs="+", default=[], help="recordings of good runs")
    parser.add_argument("--bad", metavar="RECORDING", nargs="+", default=[], help="recordings of bad runs")
    add_max_rows(parser)


def add_presentation(parser: argparse.ArgumentParser) -> None:
    """Options of every command that ends in a verdict."""
    parser.add_argument("--json", metavar="FILE", help="write the verdict as JSON; - prints it instead of the report")
    parser.add_argument(
        "--html",
        metavar="FILE",
        type=Path,
        help="write the verdict and its evidence as one page, to open in a browser; - prints it instead of the report",
    )
    add_open(parser)
    parser.add_argument(
        "--perfetto", metavar="FILE", help="write causal paths of stalls for Perfetto or chrome://tracing"
    )
    parser.add_argument(
        "--same-work",
        choices=["yes", "no"],
        help="two builds: whether both did the same work (default: as their commands say)",
    )
    parser.add_argument("--top", metavar="N", type=count, help="suspects to show (default 10)")
    parser.add_argument("--explain", metavar="FUNCTION", help="print all figures of one function, or of suspect N")
    parser.add_argument(
        "--method",
        choices=["sound", "paper"],
        default=_USUAL_METHOD,
        help="our tests (default), or as published: vProf's calibration of values, IntroPerf's ranking of contexts",
    )
    parser.add_argument(
        "--fail-if-slower",
        metavar="PCT",
        type=_percentage,
        help="exit with 5 if the bad runs are slower by more than PCT percent, beyond doubt",
    )


def run(args: argparse.Namespace) -> int:
    choose_page(args)
    check_outputs(args)
    if args.slow_requests is not None:
        return _slow_requests(args.slow_requests, args)
    if len(args.recordings) == 1 and not args.good and not args.bad and not any(compared_in(Path(args.recordings[0]))):
        return _stalled_alone(Path(args.recordings[0]), args)
    good, bad = sides(args)
    return as_kept(judged(good, bad, args), args).present(args)


@dataclass(frozen=True)
class ShownVerdict:
    """A verdict, with what is needed to show it."""

    verdict: Verdict
    examined: Examined
    recordings: tuple[Sequence[Path], Sequence[Path]] = ((), ())  # good and bad ones that it is of
    explanations: Sequence[Explanation] = ()
    step: NextStep | None = None  # which recordings would settle what is still open

    def with_remarks(self, *, warnings: Sequence[str] = (), notes: Sequence[str] = ()) -> ShownVerdict:
        """What whoever recorded has to add."""
        told = self.verdict.notes
        verdict = replace(
            self.verdict, notes=(*_untold(notes, told), *told), warnings=(*self.verdict.warnings, *warnings)
        )
        return replace(self, verdict=verdict)

    def present(self, args: argparse.Namespace, compared: ComparedCommits | None = None) -> int:
        """`compared`: the revisions that were recorded."""
        return present(self.verdict, self.examined, args, self.explanations, compared)


def judged(good: Sequence[Path], bad: Sequence[Path], args: argparse.Namespace) -> ShownVerdict:
    from whyperf.diagnose.diagnosis import examine
    from whyperf.diagnose.engine_claims.values import Method
    from whyperf.diagnose.recording_kinds import are_deep, parted
    from whyperf.report.html.examined import Examined

    recorded = [opened(path, args) for path in good], [opened(path, args) for path in bad]
    _refuse_untraced([*recorded[0], *recorded[1]], args)
    if are_deep([*recorded[0], *recorded[1]]):
        return _judged_deep(*recorded, args)
    for option in ("symptom", "symptom_from", "plan"):
        if getattr(args, option, None) is not None:
            raise WhyperfError(
                f"--{option.replace('_', '-')} is for deep recordings, and these were sampled.",
                "whyperf record --deep -o NAME -- COMMAND",
                status=2,
            )
    sampled = parted(*recorded).sampled
    with executor_for(args) as executor:
        diagnosis = examine(
            *recorded,
            keep_accounts=args.explain is not None,
            method=Method.NONE if getattr(args, "no_values", False) else Method(args.method),
            stack_events=getattr(args, "stack_events", None),
            where=_where(sampled.bad[0], args),
            possible=PossibleHere(),
            same_work=_SAME_WORK[getattr(args, "same_work", None)],
            executor=executor,
        )
    examined = Examined(sampled.good, sampled.bad, diagnosis.excess, diagnosis.values)
    explanations = [] if args.explain is None else _explained(diagnosis, args.explain)
    verdict = typed_here(diagnosis.verdict, sampled.bad[0].manifest)
    return ShownVerdict(verdict, examined, (good, bad), explanations, diagnosis.step)


def as_kept(answer: ShownVerdict, args: argparse.Namespace) -> ShownVerdict:
    """With the verdict that `compare` or `prove` kept, if the folder of these recordings has one: it knows what runs
    showed that are over."""
    folder = compared_folder(args)
    if folder is None or not judges_as_usual(args):
        return answer
    from whyperf.report.kept_verdict import kept_verdict

    verdict = kept_verdict(folder, answer.recordings, max_rows=args.max_rows)
    return answer if verdict is None else replace(answer, verdict=typed_here(verdict, answer.examined.bad[0].manifest))


def kept(answer: ShownVerdict, folder: Path | None, args: argparse.Namespace) -> ShownVerdict:
    """The answer, kept for reports of the folder that `compare` made. One that cannot be kept is shown all the same."""
    from whyperf.recording.safe_files.limits import MOST_ROWS
    from whyperf.report.kept_verdict import keep_verdict

    is_redacted = any(one.manifest.redaction for one in (*answer.examined.good, *answer.examined.bad))
    if folder is None or not judges_as_usual(args) or is_redacted:  # redaction is of recordings alone
        return answer
    max_rows = getattr(args, "max_rows", MOST_ROWS)
    with contextlib.suppress(OSError):
        return replace(answer, verdict=keep_verdict(folder, answer.recordings, answer.verdict, max_rows=max_rows))
    return answer


def compared_folder(args: argparse.Namespace) -> Path | None:
    """The folder that `compare` made, if that is what `add_sides`' arguments name."""
    only = Path(args.recordings[0]) if len(args.recordings) == 1 and not args.good and not args.bad else None
    return only if only is not None and all(compared_in(only)) else None


def judges_as_usual(args: argparse.Namespace) -> bool:
    """Whether no option makes the verdict another one than that of the recordings alone."""
    other = ("anew", "no_values", "same_work", "stack_events", "at", "thread", "symptom", "symptom_from", "plan")
    usual = getattr(args, "method", _USUAL_METHOD) == _USUAL_METHOD
    return usual and all(getattr(args, name, None) in (None, False) for name in other)


def _explained(diagnosis: Diagnosis, function: str) -> Sequence[Explanation]:
    from whyperf.diagnose.explanations import explain

    return explain(diagnosis, function)


def _untold(notes: Sequence[str], told: Sequence[str]) -> list[str]:
    """What a recording knows of itself, the verdict says already: "Good run 1: ..." as "The good run 1: ..."."""
    return [note for note in notes if not any(one.endswith(note.partition(": ")[2] or note) for one in told)]


def _judged_deep(good: Sequence[Recording], bad: Sequence[Recording], args: argparse.Namespace) -> ShownVerdict:
    from whyperf.diagnose.relations import examine_deep
    from whyperf.report.html.examined import Examined

    refuse_explaining(args)
    refuse_cluster(args, "a deep one")
    symptom, notes = symptom_of(args), list[str]()
    if args.symptom_from:
        chosen = costliest(args.symptom_from, known_in([*good, *bad]))
        symptom, notes = chosen.spec, [chosen.note]
    verdict = examine_deep(good, bad, symptom)
    if args.plan is not None:
        _write_plan(args.plan, good, bad, symptom)
    recordings = [one.path for one in good], [one.path for one in bad]
    return ShownVerdict(replace(verdict, notes=(*notes, *verdict.notes)), Examined(good, bad), recordings)


def _stalled_alone(path: Path, args: argparse.Namespace) -> int:
    """A single traced recording, which may hold both a normal and a stalled time."""
    from whyperf.diagnose.causes import examine_stall
    from whyperf.report.html.examined import Examined

    refuse_cluster(args, "a single one")
    recording = opened(path, args)
    if recording.manifest.trace is None:
        raise WhyperfError(
            f"{path} alone has nothing to be compared with. A stall is found in one recording if it was traced.",
            f"whyperf diagnose GOOD {shlex.quote(str(path))}",
            status=2,
        )
    return present(examine_stall(recording, _where(recording, args)), Examined([], [recording]), args)


def _slow_requests(path: Path, args: argparse.Namespace) -> int:
    from whyperf.diagnose.slow_requests import examine_slow_requests
    from whyperf.report.html.examined import Examined

    if args.recordings or args.good or args.bad:
        raise WhyperfError(
            "--slow-requests compares requests of one recording: name no other.",
            f"whyperf diagnose --slow-requests {shlex.quote(str(path))}",
            status=2,
        )
    recording = opened(path, args)
    if recording.manifest.trace is None:
        raise WhyperfError(
            f"{path} was recorded without --trace, so it holds no requests.",
            "whyperf record --trace --ready tcp:PORT --drive LOAD -o NAME -- SERVER",
            status=2,
        )
    return present(examine_slow_requests(recording), Examined([], [recording]), args)


def _refuse_untraced(recordings: Sequence[Recording], args: argparse.Namespace) -> None:
    """Options that say something of kernel events are for recordings that hold some."""
    given = [option for option in ("at", "thread", "stack_events") if getattr(args, option, None) is not None]
    sampled = [one for one in recordings if one.manifest.deep is None]
    untraced = [one for one in sampled or recordings if one.manifest.trace is None]
    if given and untraced:
        option = given[0].replace("_", "-")
        raise WhyperfError(
            f"--{option} is for traced recordings, and {untraced[0].path} was recorded without --trace.",
            "whyperf record --trace -o NAME -- COMMAND",
            status=2,
        )


def _where(stalled: Recording, args: argparse.Namespace) -> StallFilter | None:
    """What the user says of a stall."""
    at, thread = getattr(args, "at", None), getattr(args, "thread", None)
    if at is None and thread is None:
        return None
    from whyperf.engines.causes.diagnosis import StallFilter

    return StallFilter(None if at is None else stalled.manifest.start_monotonic + round(at * 1e9), thread)


def _write_plan(path: Path, good: Sequence[Recording], bad: Sequence[Recording], symptom: SymptomSpec | None) -> None:
    from whyperf.cli.zoom_planning import plan_from
    from whyperf.recording.symptom import SymptomKind, SymptomSpec
    from whyperf.recording.zoom import write_plan

    if any(one.table("calls").num_rows == 0 for one in (*good, *bad)):
        raise WhyperfError(
            "A zoom is planned from sketches, and these recordings are not all sketches.",
            "whyperf record --deep -o sketch -- COMMAND",
            status=2,
        )
    write_plan(path, plan_from(good, bad, symptom or SymptomSpec(SymptomKind.INSTRUCTIONS)))
    print(
        f"whyperf: {path}: use it with: whyperf record --deep --zoom {shlex.quote(str(path))} -- COMMAND",
        file=sys.stderr,
    )


def present(
    verdict: Verdict,
    examined: Examined,
    args: argparse.Namespace,
    explanations: Sequence[Explanation] = (),
    compared: ComparedCommits | None = None,
) -> int:
    """Shows the verdict as `add_presentation`'s options ask for, and returns the exit status it stands for. `compared`:
    the revisions that were recorded.

    Files come first: whoever reads the report may be gone before its end.
    """
    texts = list[tuple[str | Path, str, str]]()
    if args.html is not None:
        texts.append((args.html, page_of(verdict, examined), "whyperf view GOOD BAD"))
    if compared is not None:
        from whyperf.revisions.suspects import with_short_paths

        verdict = with_short_paths(verdict, compared)  # by which the page would not find the source
    if args.json is not None:
        from whyperf.report.json import to_json

        texts.append((args.json, to_json(verdict, explanations, top=args.top), "whyperf diagnose ... --json -"))
    if args.perfetto is not None:
        from whyperf.report.chrome import to_chrome

        texts.append((args.perfetto, to_chrome(verdict), "whyperf diagnose ... --perfetto -"))
    for target, text, instead in sorted(texts, key=lambda written: is_printed(written[0])):
        write_text(target, text, instead)
    if not any(is_printed(target) for target, _, _ in texts):
        from whyperf.report.terminal import show

        show(verdict, explanations, **({} if args.top is None else {"top": args.top}))
    if args.html is not None and not is_printed(args.html):
        print(f"whyperf: the page is {args.html.absolute().as_uri()}", file=sys.stderr)
    if args.open:
        open_page(args.html)
    if getattr(args, "bisect_exit", False):
        return bisect_status(verdict)
    return exit_status(verdict, args.fail_if_slower)


def bisect_status(verdict: Verdict) -> int:
    """What `git bisect run` understands: 0 good, 1 bad, 125 cannot be told."""
    from whyperf.diagnose.verdict import MEMORY_MEASURES

    symptom = verdict.symptom
    if verdict.kind.value == "insufficient":
        return UNTOLD
    is_slower = symptom.bad > symptom.good and symptom.measure not in MEMORY_MEASURES
    return 1 if verdict.kind.value == "difference" and is_slower else 0


def exit_status(verdict: Verdict, slower_percent: float | None) -> int:
    from whyperf.diagnose.verdict import MEMORY_MEASURES

    symptom = verdict.symptom
    if (
        slower_percent is not None
        and verdict.kind.value == "difference"
        and symptom.measure not in MEMORY_MEASURES
        and symptom.bad > symptom.good * (1 + slower_percent / 100)
    ):
        return _TOO_SLOW
    return _STATUS[verdict.kind.value]


def sides(args: argparse.Namespace, command: str = NAME) -> tuple[list[Path], list[Path]]:
    """The good and the bad recordings that `add_sides`' arguments name. `command`: what the user typed."""
    good, bad = _named_sides(args, command)
    refuse_same(good, bad)
    return good, bad


def _named_sides(args: argparse.Namespace, command: str) -> tuple[list[Path], list[Path]]:
    named = bool(args.good or args.bad)
    if not named and len(args.recordings) == 2:
        return [Path(args.recordings[0])], [Path(args.recordings[1])]
    if named and args.good and args.bad and not args.recordings:
        return [Path(path) for path in args.good], [Path(path) for path in args.bad]
    if not named and len(args.recordings) == 1:
        folder = Path(args.recordings[0])
        good, bad = compared_in(folder)
        if good and bad:
            return good, bad
        if not folder.exists():
            raise WhyperfError(
                f"There is no folder {folder}.", f"whyperf compare -o {shlex.quote(str(folder))} GOOD BAD", status=2
            )
    raise WhyperfError(
        "Name a good and a bad recording, or several after --good and --bad.", f"whyperf {command} GOOD BAD", status=2
    )


def check_outputs(args: argparse.Namespace) -> None:
    """Whether what is asked for can be written in the end; at most one of it to standard output."""
    printed = [f"--{name}" for name in ("json", "html", "perfetto") if is_printed(getattr(args, name, None))]
    if len(printed) > 1:
        named = f"{', '.join(printed[:-1])} and {printed[-1]}"
        how, others = ("both", "one") if len(printed) == 2 else ("all", "all but one")
        raise WhyperfError(
            f"{named} cannot {how} go to standard output: write {others} of them to a file.",
            f"whyperf diagnose ... {printed[0]} - {' '.join(f'{one} FILE' for one in printed[1:])}",
            status=2,
        )
    if is_printed(getattr(args, "plan", None)):
        raise WhyperfError("--plan needs the name of a file.", "whyperf diagnose ... --plan plan.json", status=2)
    is_opened = getattr(args, "open", False)
    if is_opened and is_printed(args.html):
        raise WhyperfError(
            "--open opens a file, and --html - prints the page.", "whyperf diagnose ... --open", status=2
        )
    for name, what in _WRITTEN.items():
        target = getattr(args, name, None)
        if target is not None and not is_printed(target):
            _check_output(Path(target), what)
    if args.html is None and not is_opened:
        return
    from whyperf.report.html.page import check_installed

    check_installed()


def _check_output(path: Path, what: str) -> None:
    folder = path.parent
    if not folder.absolute().is_dir():
        raise WhyperfError(f"There is no folder {folder} to write {what} to.", f"mkdir -p {shlex.quote(str(folder))}")
    if path.is_dir():
        raise WhyperfError(f"{path} is a folder: name a file to write {what} to.", f"ls -ld {shlex.quote(str(path))}")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise WhyperfError(f"{path} cannot be written to: Permission denied.", f"ls -ld {shlex.quote(str(folder))}")


def is_printed(target: str | Path | None) -> bool:
    """Whether it goes to standard output."""
    return str(target) == _STANDARD_OUTPUT


def page_of(verdict: Verdict, examined: Examined) -> str:
    from whyperf.report.html.build import page_model
    from whyperf.report.html.page import render

    return render(page_model(verdict, examined))


def write_text(target: str | Path, text: str, instead: str) -> None:
    if is_printed(target):
        sys.stdout.write(text)
        return
    try:
        Path(target).write_text(text, encoding="utf-8")
    except OSError as error:
        raise WhyperfError(f"{target} cannot be written: {error.strerror}.", instead) from None


def _stack_events(text: str) -> frozenset[str]:
    kinds = frozenset(text.split(","))
    unknown = kinds - {"syscalls", "switches", "samples"}
    if unknown:
        raise argparse.ArgumentTypeError(f"{min(unknown)!r} is none of syscalls, switches, samples")
    return kinds


def _percentage(text: str) -> float:
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = float("nan")
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a percentage: type 5 or 12.5")
    return value
