"""From a verdict to the little that an assistant needs of it, and the calls that would tell more."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from whyperf.assistants.results import (
    Argument,
    ChangedVariable,
    DiagnosisResult,
    NextCall,
    Recordings,
    ResultSuspect,
    ResultSymptom,
)
from whyperf.assistants.verdict_file import FileSuspect, FileSymptom, FileVariable, FileVerdict

_SUSPECTS = 3
_VARIABLES = 3
_NOTES = 6
_FIGURES = re.compile(r"\d[\d.,]*")
_PATH = 10  # functions of a call path: its ends
_FLAGS = {"--trace": "trace", "--deep": "deep"}
_TEXTS = {"--good": "good", "--bad": "bad", "--clock": "clock", "--symptom": "symptom"}


def summarise(
    verdict: FileVerdict, recordings: Recordings, *, may_run: bool, kept: Mapping[str, Argument] | None = None
) -> DiagnosisResult:
    """`may_run`: whether `compare` is offered; `kept`: arguments that another such call must not lose."""
    notes = [*verdict.disagreements, *_unlike(verdict.notes)]
    following = _following(verdict, recordings)
    again = None if verdict.next_command is None else call_of(verdict.next_command, kept or {})
    if again is not None and (may_run or again.tool != "compare"):
        following.append(again)
    return DiagnosisResult(
        verdict=verdict.verdict,
        symptom=_symptom(verdict.symptom),
        suspects=[suspect_of(one) for one in verdict.suspects[:_SUSPECTS]],
        suspects_left_out=len(verdict.suspects[_SUSPECTS:]),
        notes=notes[:_NOTES],
        notes_left_out=len(notes[_NOTES:]),
        recordings=recordings,
        next=following,
        next_command=verdict.next_command,
    )


def suspect_of(suspect: FileSuspect) -> ResultSuspect:
    return ResultSuspect(
        rank=suspect.rank,
        function=suspect.function,
        module=suspect.module,
        file=suspect.file,
        line=suspect.line,
        share=round(suspect.share, 4),
        confidence=suspect.confidence,
        pattern=suspect.pattern,
        why=suspect.why,
        path=_ends(suspect.path),
        variables=[_variable(one, suspect.function) for one in suspect.variables[:_VARIABLES]],
        variables_left_out=len(suspect.variables[_VARIABLES:]),
    )


def naming(recordings: Recordings) -> dict[str, Argument]:
    """The arguments of a call that mean these recordings."""
    if recordings.folder is not None:
        return {"folder": recordings.folder}
    return {"good": recordings.good, "bad": recordings.bad}


def source_calls(suspect: ResultSuspect, recordings: Recordings) -> list[NextCall]:
    """None where no source is known."""
    if not suspect.file:
        return []
    place = f"{suspect.file}:{suspect.line}" if suspect.line else suspect.function
    return [NextCall("source_of", {"place": place, **naming(recordings)}, "its source, with the time of each line")]


def call_of(command: str, kept: Mapping[str, Argument]) -> NextCall | None:
    """The call that means the same as a command line; None where there is none."""
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    match words:
        case ["whyperf", "compare", *rest]:
            return _compare_call(rest, kept)
        case ["whyperf", "diagnose", "--good", *paths] if paths.count("--bad") == 1:
            middle = paths.index("--bad")
            sides: dict[str, Argument] = {"good": paths[:middle], "bad": paths[middle + 1 :]}
            return NextCall("diagnose", sides, "with good and bad swapped")
    return None


def _compare_call(rest: list[str], kept: Mapping[str, Argument]) -> NextCall | None:
    arguments = dict(kept)
    while rest:
        word = rest.pop(0)
        if word in _FLAGS:
            arguments[_FLAGS[word]] = True
        elif word in _TEXTS and rest:
            arguments[_TEXTS[word]] = rest.pop(0)
        elif word == "--runs" and rest and rest[0].isdecimal():
            arguments["runs"] = int(rest.pop(0))
        else:
            return None
    return NextCall("compare", arguments, "would settle what is still open")


def _unlike(notes: Sequence[str]) -> list[str]:
    """One of each kind, and how many there are of it: every run may say the same with other numbers."""
    kinds: dict[str, list[str]] = {}
    for note in notes:
        kinds.setdefault(_FIGURES.sub("", note).lower().replace("bad run", "good run"), []).append(note)
    return [
        f"{first} ({len(others)} similar {'note' if len(others) == 1 else 'notes'} left out)" if others else first
        for first, *others in kinds.values()
    ]


def _following(verdict: FileVerdict, recordings: Recordings) -> list[NextCall]:
    if not verdict.suspects:
        return []
    first = suspect_of(verdict.suspects[0])
    why = f"all evidence against {first.function}"
    explain = NextCall("explain", {"suspect": first.rank, **naming(recordings)}, why)
    return [explain, *source_calls(first, recordings)]


def _symptom(symptom: FileSymptom) -> ResultSymptom:
    return ResultSymptom(
        kind=symptom.kind,
        measure=symptom.measure,
        unit=symptom.unit,
        good=symptom.good,
        bad=symptom.bad,
        good_runs=_known(symptom.good_runs),
        bad_runs=_known(symptom.bad_runs),
        sentence=symptom.sentence,
    )


def _known(amounts: Sequence[float | None]) -> list[float]:
    return [amount for amount in amounts if amount is not None]


def _variable(variable: FileVariable, function: str) -> ChangedVariable:
    return ChangedVariable(variable.name, function, variable.good, variable.bad, variable.sentence)


def _ends(path: Sequence[str]) -> list[str]:
    if len(path) <= _PATH:
        return list(path)
    half = _PATH // 2
    return [*path[:half], f"({len(path) - 2 * half} more)", *path[-half:]]
