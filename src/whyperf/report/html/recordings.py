"""What was recorded, where, at what cost, and what was lost."""

from __future__ import annotations

import shlex

from whyperf.diagnose.losses import lost_in
from whyperf.engines.run import Run
from whyperf.recording.sealed.manifest import Manifest
from whyperf.report.endings import ending
from whyperf.report.html.examined import Examined
from whyperf.report.html.model import RecordingRow, RecordingsSection


def recordings_section(examined: Examined) -> RecordingsSection:
    compared = bool(examined.good)
    good = [_row(run, True) for run in examined.good_runs]
    return RecordingsSection((*good, *(_row(run, False if compared else None) for run in examined.bad_runs)))


def _row(run: Run, good: bool | None) -> RecordingRow:
    recording, manifest = run.recording, run.manifest
    totals, host, overhead = manifest.totals, manifest.host, manifest.overhead
    return RecordingRow(
        good=good,
        name=recording.path.name,
        path=str(recording.path),
        command=shlex.join(manifest.command),
        started=manifest.start_real // 1_000_000,
        host=f"{host.name} ({host.machine})",
        kernel=host.kernel,
        cpus=host.cpus,
        whyperf=manifest.whyperf,
        sampling=_sampling(manifest),
        wall_s=totals.wall_s,
        window_s=(manifest.window.end - manifest.window.start) / 1e9,
        user_s=totals.cpu_user_s,
        system_s=totals.cpu_system_s,
        cpu_wait_s=totals.cpu_wait_s,
        memory_bytes=totals.max_rss_bytes,
        read_bytes=totals.read_bytes,
        written_bytes=totals.written_bytes,
        work=run.work.count,
        unit=run.work.unit,
        samples=recording.table("samples").num_rows,
        threads=recording.table("threads").num_rows,
        processes=recording.table("processes").num_rows,
        ended=ending(manifest),
        overhead_s=overhead.handler_s,
        recorder_s=overhead.recorder_cpu_s,
        lost=tuple(lost_in(manifest)),
    )


def _sampling(manifest: Manifest) -> str:
    deep, sampling = manifest.deep, manifest.sampling
    if deep is not None:
        return f"{deep.phase} under Valgrind {deep.valgrind}: {deep.instructions:,} instructions"
    waits = f", blocked threads {sampling.blocked_rate_hz:g} Hz" if sampling.blocked_rate_hz else ""
    redacted = "; numbers redacted" if manifest.redaction else ""
    clock = "CPU time" if sampling.clock == "cpu" else "time"
    return f"{sampling.rate_hz:g} Hz of {clock} ({sampling.source}){waits}{redacted}"
