"""What to type when no further recording is needed: prove the first suspect, look for less, or open the page."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from whyperf.diagnose.measured.latency import PREFIX
from whyperf.diagnose.measured.measures import is_measurable
from whyperf.diagnose.measured.symptom_kind import Nature
from whyperf.diagnose.next_command.advice import can_run_again, compare_again
from whyperf.diagnose.verdict import Suspect, Symptom, Verdict, VerdictKind
from whyperf.engines.run import Run
from whyperf.recording.names.identity import is_named_by_address

_MADE_BY_COMPARE = re.compile(r"(good|bad)-(\w+-)?\d+|(good|bad)-(zoom|sketch)")


def after(
    kind: VerdictKind, symptom: Symptom, suspects: Sequence[Suspect], good: Sequence[Run], bad: Sequence[Run]
) -> str:
    """The next command where the verdict leaves nothing open that recordings could settle."""
    paths = [run.recording.path for run in good], [run.recording.path for run in bad]
    if kind is VerdictKind.NONE and good:
        return compare_again(good, bad, "--runs", str(2 * min(len(good), len(bad))))
    if kind is VerdictKind.DIFFERENCE and _can_be_proven(symptom, suspects, (*good, *bad)):
        return prove(*paths)
    return open_page(*paths)


def proven(verdict: Verdict, good: Sequence[Path], bad: Sequence[Path]) -> Verdict:
    """After runs that forced what is suspected, another proof would say the same."""
    return replace(verdict, next_command=open_page(good, bad))


def prove(good: Sequence[Path], bad: Sequence[Path], *options: str | Path) -> str:
    return shlex.join(["whyperf", "prove", *_named(good, bad), *map(str, options)])


def open_page(good: Sequence[Path], bad: Sequence[Path]) -> str:
    return shlex.join(["whyperf", "view", "--open", *_named(good, bad)])


def _can_be_proven(symptom: Symptom, suspects: Sequence[Suspect], runs: Sequence[Run]) -> bool:
    """Whether runs can be made and compared in which the first suspect's values are forced."""
    if not suspects or suspects[0].kind != "function" or is_named_by_address(suspects[0].function):
        return False
    if any(run.manifest.redaction for run in runs):  # a proof prints values as they are
        return False
    if any(suspect.proofs for suspect in suspects) or not is_measurable(symptom.measure):
        return False
    if Nature(symptom.kind) is Nature.EXTERNAL:  # nothing in this program decides about it
        return False
    latencies = [run.manifest.totals.latency for run in runs] if symptom.measure.startswith(PREFIX) else []
    return can_run_again(runs) and all(one is not None and one.source == "driver" for one in latencies)


def _named(good: Sequence[Path], bad: Sequence[Path]) -> list[str]:
    """The folder that compare made, or the recordings one by one."""
    every = [*good, *bad]
    folders = {path.parent for path in every}
    if good and len(folders) == 1 and all(_MADE_BY_COMPARE.fullmatch(path.name) for path in every):
        return [str(folders.pop())]
    if not good:
        return [str(path) for path in bad]
    if len(good) == len(bad) == 1:
        return [str(good[0]), str(bad[0])]
    return ["--good", *map(str, good), "--bad", *map(str, bad)]
