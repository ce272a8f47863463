"""How the runs of a comparison ended, in words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from whyperf.cli.alternation import Side
from whyperf.collect.lifecycle import Outcome
from whyperf.report.endings import signal_name

_TAIL_LINES = 10

Outcomes = dict[Side, list[Outcome]]  # grows while runs are recorded


def last_output(recording: Path) -> str:
    """The last lines that a failed run wrote to its standard error."""
    try:
        lines = (recording / "stderr").read_text(errors="replace").splitlines()
    except OSError:
        return ""
    return "\n    ".join(["", *lines[-_TAIL_LINES:]]) if lines else ""


def endings(outcomes: Mapping[Side, list[Outcome]]) -> list[str]:
    """Runs that were killed or failed: a comparison with them is often not what the user wanted."""
    said: list[str] = []
    for side, runs in outcomes.items():
        for number, outcome in enumerate(runs, start=1):
            if outcome.signal is not None and outcome.stopped_by == "signal":
                killed_by = signal_name(outcome.signal)
                said.append(f"The {side.value} run {number} was killed by {killed_by}.{last_output(outcome.path)}")
    ended = {side: sorted({run.status for run in runs if run.status is not None}) for side, runs in outcomes.items()}
    if ended[Side.GOOD] != ended[Side.BAD]:
        said.append(
            f"Good runs ended with status {_listed(ended[Side.GOOD])}, bad ones with {_listed(ended[Side.BAD])}."
        )
    elif any(ended[Side.BAD]):
        tail = last_output(outcomes[Side.BAD][-1].path)
        said.append(f"All runs ended with status {_listed(ended[Side.BAD])}, as programs do that fail.{tail}")
    return said


def remarks(outcomes: Mapping[Side, list[Outcome]]) -> list[str]:
    """Notes of the runs; one that all of them have is said once."""
    by_run = {
        f"The {side.value} run {number}": outcome.notes
        for side, runs in outcomes.items()
        for number, outcome in enumerate(runs, start=1)
    }
    common = set.intersection(*(set(notes) for notes in by_run.values()))
    said = [note for note in dict.fromkeys(note for notes in by_run.values() for note in notes) if note in common]
    return said + [f"{run}: {note}" for run, notes in by_run.items() for note in notes if note not in common]


def _listed(statuses: list[int]) -> str:
    return " or ".join(map(str, statuses)) or "none"
