"""Results as short text: what an assistant reads where it does not read the structured result."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from whyperf.assistants.results import (
    ChangedVariable,
    DiagnosisResult,
    ExplanationResult,
    NextCall,
    RecordingResult,
    ResultLine,
    ResultSuspect,
    SourceResult,
)
from whyperf.engines.quantities import percent, seconds
from whyperf.report.printable import printable

LONGEST = 4000  # characters of a result's text
_COMMANDS = ("compare", "diagnose")  # calls that say the same as the command to type next


def diagnosis_text(diagnosis: DiagnosisResult) -> str:
    return bounded(_diagnosis(diagnosis), _next(diagnosis.next))


def explanation_text(explanation: ExplanationResult) -> str:
    return bounded(_explanation(explanation), _next(explanation.next))


def source_text(source: SourceResult) -> str:
    return bounded(_source(source), _next(source.next))


def recorded_text(recorded: RecordingResult) -> str:
    return bounded(_recorded(recorded), _next(recorded.next))


def bounded(lines: Iterator[str], ending: Sequence[str]) -> str:
    """As many lines as there is room for before the ending, which is never cut, and how many were left out.

    A line stays one, whatever a recording put into it.
    """
    lines, ending = map(printable, lines), [printable(line) for line in ending]
    room = LONGEST - sum(len(line) + 1 for line in ending) - len("(9999 lines left out)\n")
    kept, left_out = list[str](), 0
    for line in lines:
        if left_out or len(line) + 1 > room:
            left_out += 1
            continue
        kept.append(line)
        room -= len(line) + 1
    return "\n".join([*kept, *([f"({left_out} lines left out)"] if left_out else []), *ending])


def _diagnosis(diagnosis: DiagnosisResult) -> Iterator[str]:
    yield f"Verdict: {diagnosis.verdict}. {diagnosis.symptom.sentence}"
    for suspect in diagnosis.suspects:
        yield from _suspect(suspect)
    if diagnosis.suspects_left_out:
        yield f"({diagnosis.suspects_left_out} more suspects)"
    for note in diagnosis.notes:
        yield f"Note: {note}"
    if diagnosis.notes_left_out:
        yield f"({diagnosis.notes_left_out} more notes)"
    named = diagnosis.recordings
    yield f"Recordings: {named.folder or ', '.join([*named.good, *named.bad])}"
    if diagnosis.next_command is not None and all(call.tool not in _COMMANDS for call in diagnosis.next):
        yield f"In a terminal: {diagnosis.next_command}"


def _suspect(suspect: ResultSuspect) -> Iterator[str]:
    where = f"{suspect.file}:{suspect.line}" if suspect.file and suspect.line else suspect.file
    place = f"{where} in {suspect.module}" if where else f"in {suspect.module}"
    yield (
        f"Suspect {suspect.rank}: {suspect.function} ({place}), {percent(suspect.share)} of the excess, "
        f"{suspect.confidence} confidence"
    )
    if len(suspect.path) > 1:
        yield f"  called by: {' > '.join(suspect.path)}"
    yield f"  why: {suspect.why}"
    if suspect.pattern not in ("", "unknown"):
        yield f"  pattern: {suspect.pattern}"
    yield from (f"  {line}" for variable in suspect.variables for line in _variable(variable))
    if suspect.variables_left_out:
        yield f"  ({suspect.variables_left_out} more variables)"


def _variable(variable: ChangedVariable) -> Iterator[str]:
    owner = f" of {variable.function}" if variable.function else ""
    yield f"variable {variable.name}{owner}: good {variable.good}; bad {variable.bad}"


def _explanation(explanation: ExplanationResult) -> Iterator[str]:
    yield f"Evidence on {explanation.subject}:"
    if explanation.suspect is not None:
        yield from _suspect(explanation.suspect)
    yield from (f"- {sentence}" for sentence in explanation.sentences)
    if explanation.sentences_left_out:
        yield f"({explanation.sentences_left_out} more sentences)"
    yield from (line for variable in explanation.variables for line in _variable(variable))


def _source(source: SourceResult) -> Iterator[str]:
    of_function = f" ({source.function})" if source.function else ""
    yield f"{source.file}{of_function}:"
    yield from (_line(line, source.unit) for line in source.lines)
    if source.lines_left_out:
        yield f"({source.lines_left_out} more lines are kept)"
    if source.also:
        yield f"Also meant: {', '.join(source.also)}"


def _line(line: ResultLine, unit: str) -> str:
    spent = ""
    if line.good_s is not None and line.bad_s is not None:
        spent = f"   <-- {seconds(line.good_s)} became {seconds(line.bad_s)} per {unit}"
    return f"{line.number:>5}  {line.text}{spent}"


def _recorded(recorded: RecordingResult) -> Iterator[str]:
    yield f"Recorded {' '.join(recorded.command)} in {recorded.recording}: {recorded.ended}."
    yield (
        f"{seconds(recorded.wall_s)} elapsed, {seconds(recorded.cpu_s)} CPU time, samples: {recorded.samples}, "
        f"threads: {recorded.threads}."
    )
    yield from (f"Remark: {one}" for one in recorded.remarks)
    yield from (f"It last wrote: {one}" for one in recorded.last_wrote)
    yield from (f"Lost: {one}" for one in recorded.lost)


def _next(calls: Sequence[NextCall]) -> list[str]:
    return [f"Next: {call.tool}({json.dumps(call.arguments)}): {call.why}" for call in calls]
