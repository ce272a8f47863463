"""What is known of a flight recorder that runs: beside its pinned rings, files that are gone after a boot."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from whyperf.collect.tracer.holder import rings_are_pinned, state_folder
from whyperf.errors import WhyperfError
from whyperf.recording.safe_files.dataclass_json import MisfitError, from_plain
from whyperf.recording.safe_files.storage import write_atomically

_SETTINGS = "settings.json"


@dataclass(frozen=True)
class Flight:
    """How it was started."""

    ring_bytes: int  # of all CPUs together
    sample_hz: int
    started_monotonic: int
    started_real: int


def flight_folder() -> Path:
    return state_folder() / "flight"


def facts_path() -> Path:
    return flight_folder() / "facts"


def write_flight(flight: Flight) -> None:
    folder = flight_folder()
    folder.mkdir(mode=0o700, exist_ok=True)
    write_atomically(folder / _SETTINGS, json.dumps(asdict(flight)).encode())


def read_flight() -> Flight:
    """How the one that runs was started. WhyperfError when none does."""
    if not rings_are_pinned():
        raise WhyperfError("No flight recorder is running.", "whyperf trace start", status=3)
    try:
        return from_plain(Flight, json.loads((flight_folder() / _SETTINGS).read_bytes()))
    except (OSError, ValueError, MisfitError):
        raise WhyperfError(
            "A flight recorder's rings are in the kernel, but what it wrote about itself is gone.", "whyperf trace stop"
        ) from None


def forget() -> None:
    shutil.rmtree(flight_folder(), ignore_errors=True)
