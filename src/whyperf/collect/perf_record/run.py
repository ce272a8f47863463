"""One recording by perf: of a program, of a process, or of all of them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from whyperf.collect.perf_record.process import PerfProcess, PerfRecorded, Scope
from whyperf.collect.perf_record.recorders import PerfRecorder, PerfWatch
from whyperf.collect.runs.attached_run import Log, ProcessWatch, check_lifecycle, command_of
from whyperf.collect.runs.runner import run_to_the_end
from whyperf.collect.runs.work import DriverWork, OneRun
from whyperf.collect.sampling.attach import check_is_process, no_such_process
from whyperf.collect.setup import folder as folders
from whyperf.collect.setup.lifecycle import Lifecycle, Measuring, RunOutcome
from whyperf.collect.setup.start import start_of, write_start
from whyperf.collect.target.program import Program
from whyperf.collect.target.shell import command_line
from whyperf.collect.target.signals import SignalWatch
from whyperf.collect.tracer.holder import alone, command_name
from whyperf.collect.tracer.traced import EVERYBODY, TRACED_SAMPLES
from whyperf.collect.usage.totals import machine_usage, usage_of
from whyperf.errors import WhyperfError
from whyperf.recording.raw_log.log_writer import RawLogWriter
from whyperf.recording.sealed.manifest import Sampling


def record_with_perf(
    program: Program | None,
    path: Path,
    *,
    pid: int | None = None,
    everything: bool = False,
    lifecycle: Lifecycle,
    environment: Mapping[str, str],
    sample_hz: int = 99,
    unit: str | None = None,
    capture_output: bool = False,
    force: bool = False,
    on_tick: Callable[[], None] = lambda: None,
    seal: Callable[[Path, PerfRecorded], object],
) -> RunOutcome:
    """Record `program` with its descendants, `pid`, or `everything`, then have what perf wrote sealed."""
    if program is None:
        check_lifecycle(lifecycle, Measuring(), "whyperf record --trace --all --for 30s")
        if pid is not None and not check_is_process(pid):
            raise no_such_process(pid)
    elif lifecycle.drive is not None:
        command_line(lifecycle.drive, environment)
    scope = _scope(program, None if everything else pid)
    command = program.command if program else EVERYBODY if everything or pid is None else command_of(pid)
    named = unit or ("unit" if lifecycle.drive else "run")
    with contextlib.ExitStack() as held:
        held.enter_context(alone(command_name("record", "--trace")))
        folder = folders.create(path, force=force)
        held.callback(folder.release)
        try:
            with folder.removed_unless_begun():
                perf = PerfProcess(folder.raw, scope, sample_hz, environment)
                held.callback(perf.kill)
                # perf takes its time to begin: what is compared begins now.
                sampling = Sampling(float(sample_hz), "cpu", TRACED_SAMPLES)
                start = start_of(command, environment, sampling, named, round(lifecycle.skip_s * 1e9))
                write_start(folder.raw, start)
                log = Log()
                log.open(RawLogWriter(folder.raw))
        except (OSError, WhyperfError) as error:
            if isinstance(error, OSError):
                raise WhyperfError(f"{path} cannot be written: {error.strerror}.", f"df -h {path.parent}") from None
            if pid is not None and not check_is_process(pid):
                raise no_such_process(pid) from None
            raise
        if program is not None:
            recorder = PerfRecorder(perf, log)
            work = DriverWork(recorder, named) if lifecycle.drive is not None else OneRun()
            outcome = run_to_the_end(
                program,
                path,
                recorder,
                work,
                lifecycle=lifecycle,
                environment=environment,
                capture_output=capture_output,
                on_tick=on_tick,
            )
        else:
            signals = held.enter_context(SignalWatch())
            usage = machine_usage if scope.pid is None else (lambda: usage_of([scope.pid or 0]))
            outcome = ProcessWatch(PerfWatch(perf, scope.pid), usage, log, signals, lifecycle).execute(path, named)
        seal(path, PerfRecorded(perf.file, perf.pid, scope, perf.ended_early))
        return outcome


def _scope(program: Program | None, pid: int | None) -> Scope:
    if program is not None:
        return Scope("tree", os.getpid())  # whose own events are dropped again
    return Scope("all", None) if pid is None else Scope("process", pid)
