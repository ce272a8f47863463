"""A recording summed up for whoever had it made."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from whyperf.assistants.results import NextCall, RecordingResult
from whyperf.report.endings import ending
from whyperf.report.html.examined import Examined
from whyperf.report.html.recordings import recordings_section
from whyperf.seal.opening import open_recording


def recorded(path: Path, remarks: Sequence[str], last_wrote: Sequence[str]) -> RecordingResult:
    recording = open_recording(path)
    row = recordings_section(Examined([], [recording])).rows[0]
    return RecordingResult(
        recording=str(path),
        command=list(recording.manifest.command),
        ended=ending(recording.manifest),
        wall_s=row.wall_s,
        cpu_s=row.user_s + row.system_s,
        samples=row.samples,
        threads=row.threads,
        remarks=list(remarks),
        last_wrote=list(last_wrote) if recording.manifest.exit_status else [],
        lost=list(row.lost),
        next=[
            NextCall(
                "diagnose",
                {"good": [str(path)], "bad": ["RECORDING_OF_A_BAD_RUN"]},
                "once a bad run is recorded too; the other way round if this is the bad one",
            )
        ],
    )
