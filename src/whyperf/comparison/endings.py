"""How the runs of a comparison ended, in words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from whyperf.collect.setup.lifecycle import RunOutcome
from whyperf.comparison.alternation import Side, pairs_for
from whyperf.comparison.plan import ComparisonPlan
from whyperf.engines.quantities import seconds
from whyperf.errors import WhyperfError
from whyperf.recording.safe_files.limits import MOST_LOG_BYTES
from whyperf.recording.safe_files.regular_files import map_regular
from whyperf.report.endings import signal_name

_TAIL_LINES = 10
_TAIL_BYTES = 1 << 16  # in which they are looked for

Outcomes = dict[Side, list[RunOutcome]]  # grows while runs are recorded


def last_output(recording: Path) -> str:
    """The last lines that a failed run wrote to its standard error."""
    try:
        printed = map_regular(recording / "stderr", MOST_LOG_BYTES)[-_TAIL_BYTES:]
    except (OSError, WhyperfError):
        return ""
    lines = bytes(printed).decode(errors="replace").splitlines()
    return "\n    ".join(["", *lines[-_TAIL_LINES:]]) if lines else ""


def _last_line(recording: Path) -> str:
    """For a sentence of a report, which has no lines of its own."""
    printed = last_output(recording).strip()
    return f" The last line on standard error: {printed.splitlines()[-1].strip()}" if printed else ""


def endings(outcomes: Mapping[Side, list[RunOutcome]]) -> list[str]:
    """Runs that were killed or failed: a comparison with them is often not what the user wanted."""
    said = [sentence for side, runs in outcomes.items() for sentence in _killed(side, runs)]
    good, bad = (
        sorted({run.status for run in outcomes[side] if run.status is not None}) for side in (Side.GOOD, Side.BAD)
    )
    if good and bad and good != bad:
        said.append(f"Good runs ended with status {_listed(good)}, bad ones with {_listed(bad)}.")
    elif any((*good, *bad)):
        side, who = (Side.BAD, "All runs" if good else "Bad runs") if bad else (Side.GOOD, "Good runs")
        tail = _last_line(outcomes[side][-1].path)
        said.append(f"{who} ended with status {_listed(bad or good)}, as programs do that fail.{tail}")
    return said


def failing_side(outcomes: Mapping[Side, list[RunOutcome]]) -> Side | None:
    """Of which no run did what it should; the bad one where that is true of both."""
    return next((side for side in (Side.BAD, Side.GOOD) if outcomes[side] and all(map(_failed, outcomes[side]))), None)


def _failed(run: RunOutcome) -> bool:
    return bool(run.status) or (run.signal is not None and run.stopped_by == "signal")


def _killed(side: Side, runs: Sequence[RunOutcome]) -> Iterator[str]:
    """A sentence for each signal, with what the last run that it ended had to say."""
    by_signal: dict[int, list[int]] = defaultdict(list)
    for number, outcome in enumerate(runs, start=1):
        if outcome.signal is not None and outcome.stopped_by == "signal":
            by_signal[outcome.signal].append(number)
    for signal, numbers in by_signal.items():
        every = len(numbers) == len(runs) > 1
        who = (
            f"All {side.value} runs" if every else f"The {side.value} run{'s' * (len(numbers) > 1)} {_joined(numbers)}"
        )
        was = "was" if len(numbers) == 1 else "were"
        yield f"{who} {was} killed by {signal_name(signal)}.{_last_line(runs[numbers[-1] - 1].path)}"


def _joined(numbers: Sequence[int]) -> str:
    """1; 1 and 3; 1, 2 and 4."""
    *most, last = map(str, numbers)
    return f"{', '.join(most)} and {last}" if most else last


def remarks(outcomes: Mapping[Side, list[RunOutcome]]) -> list[str]:
    """Notes of the runs; one that all of them have is said once."""
    by_run = {
        f"The {side.value} run {number}": outcome.notes
        for side, runs in outcomes.items()
        for number, outcome in enumerate(runs, start=1)
    }
    common = set.intersection(*(set(notes) for notes in by_run.values()))
    said = [note for note in dict.fromkeys(note for notes in by_run.values() for note in notes) if note in common]
    return said + [f"{run}: {note}" for run, notes in by_run.items() for note in notes if note not in common]


def few_pairs(plan: ComparisonPlan, made: int, took_s: float) -> list[str]:
    """Why there are fewer pairs than usual, and what makes more."""
    usual = pairs_for(0.0)
    if plan.runs is not None or made >= usual:
        return []
    pairs = "Only one pair" if made == 1 else f"Only {made} pairs"
    run = took_s / max(2 * made, 1)
    return [f"{pairs} of runs, because a run takes about {seconds(run)}: --runs {usual} makes more."]


def _listed(statuses: list[int]) -> str:
    return " or ".join(map(str, statuses))
