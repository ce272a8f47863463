"""Source as recordings keep it, around a line or of a function, with the time that good and bad runs spend there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from whyperf.assistants.results import NextCall, Recordings, ResultLine, SourceResult
from whyperf.assistants.summary import naming
from whyperf.diagnose.diagnosis import examine
from whyperf.diagnose.recording_kinds import are_deep
from whyperf.engines.excess.places import LineTime, line_times
from whyperf.engines.run import Run, ints, source_lines, texts
from whyperf.errors import WhyperfError
from whyperf.recording.sealed.reader import Recording
from whyperf.seal.opening import open_recording

_AROUND = 12  # lines before and after the one that was asked for
_MOST = 60  # lines
_WIDEST = 200  # characters of a line
_OTHERS = 5
_LINE = re.compile(r"(?P<file>.+):(?P<line>\d+)")


@dataclass(frozen=True)
class _Declared:
    name: str
    file: str
    line: int


@dataclass(frozen=True)
class _Times:
    unit: str
    lines: dict[int, LineTime]


def source_of(recordings: Recordings, place: str) -> SourceResult:
    good, bad = ([open_recording(Path(path)) for path in side] for side in (recordings.good, recordings.bad))
    runs = [Run(one) for one in bad]
    declared = sorted(set(_declared(runs)), key=lambda one: (one.file, one.line))
    at_line = _LINE.fullmatch(place)
    if at_line is not None:
        file, also = _file(runs, at_line["file"])
        line = int(at_line["line"])
        above = [one for one in declared if one.file == file and one.line <= line]
        function = max(above, key=lambda one: one.line, default=_Declared("", file, 0))
        wanted = range(line - _AROUND, line + _AROUND + 1)
    else:
        function, also = _function(runs, declared, place)
        file, wanted = function.file, _extent(function, declared)
    text = source_lines(runs, file)
    kept = [number for number in sorted(text) if number in wanted]
    if not kept:
        raise WhyperfError(
            f"The recordings keep no source of {place}: source is kept of functions that samples fell in.",
            "whyperf diagnose GOOD BAD --top 50",
        )
    compared = bool(good) and not are_deep([*good, *bad])
    times = _times(good, bad, function) if compared and function.name else None
    shown = kept[:_MOST]
    explain = NextCall("explain", {"function": function.name, **naming(recordings)}, "what is known of its time")
    return SourceResult(
        file=file,
        function=function.name,
        unit="" if times is None else times.unit,
        lines=[_line(number, text[number], times) for number in shown],
        lines_left_out=len(kept[_MOST:]),
        also=also[:_OTHERS],
        next=[explain] if compared and function.name else [],
    )


def _declared(runs: Sequence[Run]) -> Iterator[_Declared]:
    for run in runs:
        table = run.recording.table("functions")
        for name, file, line in zip(texts(table, "name"), texts(table, "file"), ints(table, "line"), strict=True):
            if file and line:
                yield _Declared(name, file, line)


def _file(runs: Sequence[Run], wanted: str) -> tuple[str, list[str]]:
    """The kept file whose path ends like the one wanted, and others that do."""
    kept = list(dict.fromkeys(file for run in runs for file in run.source))
    found = [file for file in kept if file == wanted] or [file for file in kept if f"/{file}".endswith(f"/{wanted}")]
    if not found:
        raise WhyperfError(
            f"The recordings keep no source of a file {wanted}.", "whyperf diagnose GOOD BAD --top 50", status=1
        )
    return found[0], found[1:]


def _function(runs: Sequence[Run], declared: Sequence[_Declared], wanted: str) -> tuple[_Declared, list[str]]:
    """The function so called, one with kept source first, and where others of the name are."""
    named = [one for one in declared if one.name == wanted] or [
        one for one in declared if one.name.endswith(f"::{wanted}") or one.name.partition("<")[0] == wanted
    ]
    if not named:
        raise WhyperfError(
            f"The recordings know no source file of a function {wanted}: it is not in them, or has no debug "
            "information.",
            "whyperf info RECORDING",
        )
    named.sort(key=lambda one: not any(one.line in run.source.get(one.file, {}) for run in runs))
    return named[0], [f"{one.file}:{one.line}" for one in named[1:]]


def _extent(function: _Declared, declared: Sequence[_Declared]) -> range:
    """From above its declaration to the next one of the file."""
    later = [one.line for one in declared if one.file == function.file and one.line > function.line]
    return range(function.line - 1, min(later, default=function.line + 10 * _MOST))


def _times(good: Sequence[Recording], bad: Sequence[Recording], function: _Declared) -> _Times | None:
    diagnosis = examine(good, bad, keep_accounts=True)
    if diagnosis.excess is None:
        return None
    index = diagnosis.excess.index
    numbers = [one for one in index.called(function.name) if index.functions[one].file in ("", function.file)]
    found = [time for number in numbers for time in line_times(diagnosis.excess, number)]
    lines = {time.line: time for time in found if time.file == function.file}
    return _Times(diagnosis.verdict.symptom.unit, lines)


def _line(number: int, text: str, times: _Times | None) -> ResultLine:
    cut = text if len(text) <= _WIDEST else f"{text[:_WIDEST]}..."
    time = None if times is None else times.lines.get(number)
    return ResultLine(number, cut, None if time is None else time.good_s, None if time is None else time.bad_s)
