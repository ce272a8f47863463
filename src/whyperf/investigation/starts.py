"""Where to begin: what a suspect's variables, changed calls and deciding lines are, the most telling first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from whyperf.diagnose.verdict import CallChange, Suspect, Verdict
from whyperf.origin.starts import Start, start_at_calls, start_at_line, start_at_variable

_ASKED = 2  # suspects
_LARGE = 0.3  # share of the excess from which on changed calls are worth following
_TEXTS = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|//.*|/\*.*?\*/")
_NAMES = re.compile(r"(?<![\w.>:])([A-Za-z_]\w*(?:(?:->|\.)[A-Za-z_]\w*)*)\b(?!\s*\(|::)")
_MEMBER = re.compile(r"(?:->|\.)\w+$")

FindBinary = Callable[[str], Path | None]
"""The file of a module that a verdict names."""


@dataclass(frozen=True)
class Beginning:
    suspect: Suspect
    start: Start


def beginnings(verdict: Verdict, binary_of: FindBinary) -> Iterator[Beginning]:
    """Of suspects whose calls, or whose time per call, changed most by exact counts, and of lines that call more often
    though nobody there is a suspect; then of the first suspects."""
    met = set[Start]()
    for one in _all_beginnings(verdict, binary_of):
        if one.start not in met:
            met.add(one.start)
            yield one


def _all_beginnings(verdict: Verdict, binary_of: FindBinary) -> Iterator[Beginning]:
    for change in _large_changes(verdict):
        suspects = _suspected(verdict, (change.function, change.callee))
        if not suspects:
            yield from _at_calls(verdict, change, binary_of)
        for suspect in suspects:
            yield from _of_suspect(verdict, suspect, binary_of)
    for suspect in verdict.suspects[:_ASKED]:
        yield from _of_suspect(verdict, suspect, binary_of)


def _large_changes(verdict: Verdict) -> list[CallChange]:
    changes = () if verdict.counts is None else verdict.counts.changes
    return [change for change in changes if change.share >= _LARGE]


def _suspected(verdict: Verdict, names: Iterable[str]) -> list[Suspect]:
    return [one for name in dict.fromkeys(names) for one in verdict.suspects if one.function == name]


def _at_calls(verdict: Verdict, change: CallChange, binary_of: FindBinary) -> Iterator[Beginning]:
    """What it leads to is told of the first suspect, which pays."""
    binary = binary_of(change.module)
    if binary is not None and verdict.suspects and _is_place(change):
        yield Beginning(verdict.suspects[0], start_at_calls(binary, change.file, change.line, change.callee))


def _of_suspect(verdict: Verdict, suspect: Suspect, binary_of: FindBinary) -> Iterator[Beginning]:
    binary = binary_of(suspect.module)
    if binary is not None and suspect.kind == "function":
        for start in _starts(verdict, suspect, binary):
            yield Beginning(suspect, start)


def _starts(verdict: Verdict, suspect: Suspect, binary: Path) -> Iterator[Start]:
    for change in _changed_calls(verdict, suspect):
        yield start_at_calls(binary, change.file, change.line, change.callee)
    for variable in suspect.variables:
        if variable.dimension == "value":
            yield start_at_variable(binary, suspect.function, variable.name)
    deciding = next((line.text for line in suspect.lines if line.line == (suspect.decided_by or suspect.line)), "")
    for name in _named_in(deciding):
        yield start_at_variable(binary, suspect.function, name)
    for line in (suspect.decided_by, suspect.line):
        if line and suspect.file:
            yield start_at_line(binary, suspect.file, line)


def _changed_calls(verdict: Verdict, suspect: Suspect) -> list[CallChange]:
    """Lines that call the suspect more often, or where it calls more often itself, by exact counts."""
    return [
        change
        for change in _large_changes(verdict)
        if _is_place(change) and suspect.function in (change.function, change.callee)
    ]


def _is_place(change: CallChange) -> bool:
    return change.kind == "calls" and bool(change.line and change.file)


def _named_in(text: str) -> list[str]:
    """What may be variables in a line of C or C++, as they are written: `i`, `index->used`; then what members are of:
    `index`. Others are not found."""
    names = _NAMES.findall(_TEXTS.sub(" ", text))
    owners = [_MEMBER.sub("", name) for name in names]
    return list(dict.fromkeys([*names, *owners]))
