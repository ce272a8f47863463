"""Deep recordings on disk, as sealing leaves them: a sketch and a zoom of one small program."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.engines.made import Made
from tests.engines.relations import programs
from tests.engines.relations.sketched import sketch
from whyperf.recording.schemas.tables import table_named
from whyperf.recording.sealed.manifest import Deep
from whyperf.recording.sealed.writer import write_recording

_KEPT = {
    "sketch": ("sites", "calls", "fanouts"),
    "zoom": ("sites", "regions", "executions", "dependences", "updates"),
}


def stored(path: Path, recording: Made, phase: str) -> Path:
    manifest = replace(
        recording.manifest, deep=Deep(phase, "3.19", "instructions", instructions=100, executions=10, planned=2)
    )
    deep = (
        ("sites", "calls", "fanouts")
        if phase == "sketch"
        else ("sites", "regions", "executions", "dependences", "updates")
    )
    kept = {name: table for name, table in recording.tables.items() if not table_named(name).optional or name in deep}
    write_recording(path, manifest, kept)
    return path


def stored_sketch(path: Path, times: int = 60) -> Path:
    lines = (
        "main 1 100",
        f"main>restore {times} {10 * times} | {times}:1",
        f"main>restore>read {times} {times} | 1:{times}",
    )
    return stored(path, sketch(*lines), "sketch")


def stored_zoom(path: Path, times: int = 1) -> Path:
    return stored(path, programs.cursors(times, option=0), "zoom")
