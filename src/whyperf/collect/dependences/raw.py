"""What an open deep recording holds beside its log: what was asked for, the tool's plan, and the tool's stream."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from whyperf.recording.safe_files.dataclass_json import from_plain, to_plain
from whyperf.recording.safe_files.limits import MOST_JSON_BYTES
from whyperf.recording.safe_files.regular_files import read_regular
from whyperf.recording.safe_files.storage import write_new

STREAM = "stream"
PLAN = "plan"
MESSAGES = "valgrind.log"
_ASKED = "deep.json"

SKETCH = "sketch"
ZOOM = "zoom"
WRITERS = "writers"


@dataclass(frozen=True)
class Asked:
    phase: str
    valgrind: str
    symptom: str = ""
    left_out: tuple[str, ...] = ()


def write_asked(raw: Path, asked: Asked) -> None:
    write_new(raw / _ASKED, json.dumps(to_plain(asked), indent=1).encode())


def is_deep(raw: Path) -> bool:
    return (raw / _ASKED).is_file()


def read_asked(raw: Path) -> Asked:
    """OSError or ValueError when it cannot be had."""
    return from_plain(Asked, json.loads(read_regular(raw / _ASKED, MOST_JSON_BYTES)))
