"""`raw/start.json`: what is known before the target starts. Written first, so that every recording can be opened."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from whyperf.recording.manifest import Host, Sampling
from whyperf.recording.plain import from_plain, to_plain
from whyperf.recording.storage import write_atomically

NAME = "start.json"


@dataclass(frozen=True)
class Start:
    format: int
    whyperf: str
    command: tuple[str, ...]
    environment_names: tuple[str, ...]
    host: Host
    start_monotonic: int
    start_real: int
    sampling: Sampling
    work_unit: str = "run"
    skip_ns: int = 0


def write_start(raw: Path, start: Start) -> None:
    write_atomically(raw / NAME, json.dumps(to_plain(start), indent=1).encode())


def read_start(raw: Path) -> Start:
    """ValueError (MisfitError) when it is damaged, OSError when it is not there."""
    return from_plain(Start, json.loads((raw / NAME).read_bytes()))
