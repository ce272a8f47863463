"""The parts of a verdict's JSON (`verdict.schema.json`) that assistants are told."""

from __future__ import annotations

import json
from dataclasses import dataclass

from whyperf.errors import WhyperfError
from whyperf.recording.safe_files.dataclass_json import MisfitError, from_plain


@dataclass(frozen=True)
class FileSymptom:
    kind: str
    unit: str
    good: float | None
    bad: float | None
    measure: str
    good_runs: tuple[float | None, ...]
    bad_runs: tuple[float | None, ...]
    sentence: str


@dataclass(frozen=True)
class FileVariable:
    name: str
    good: str
    bad: str
    dimension: str
    sentence: str


@dataclass(frozen=True)
class FileSuspect:
    rank: int
    function: str
    module: str
    file: str
    line: int
    path: tuple[str, ...]
    share: float
    confidence: str
    pattern: str
    why: str
    variables: tuple[FileVariable, ...]


@dataclass(frozen=True)
class FileVerdict:
    verdict: str
    symptom: FileSymptom
    suspects: tuple[FileSuspect, ...]
    disagreements: tuple[str, ...]
    notes: tuple[str, ...]
    next_command: str | None


def read_verdict(text: bytes | str) -> FileVerdict:
    try:
        return from_plain(FileVerdict, json.loads(text))
    except (ValueError, MisfitError):
        raise WhyperfError("The diagnosis ended without a verdict.", "whyperf diagnose GOOD BAD") from None
