"""Tracing what already runs: one process with what it starts and talks to, or the whole machine."""

from __future__ import annotations

import contextlib
from pathlib import Path

from whyperf.collect.runs.attached_run import Log, ProcessWatch, check_lifecycle, command_of
from whyperf.collect.sampling.attach import check_is_process, no_such_process
from whyperf.collect.setup import folder as folders
from whyperf.collect.setup.lifecycle import Lifecycle, Measuring, RunOutcome
from whyperf.collect.setup.start import start_of, write_start
from whyperf.collect.target.process_end import ProcessEnd
from whyperf.collect.target.signals import SignalWatch
from whyperf.collect.tracer.holder import alone
from whyperf.collect.tracer.session import TraceSession, TraceWanted
from whyperf.collect.tracer.traced import EVERYBODY, TRACED_SAMPLES
from whyperf.collect.usage.totals import machine_usage, usage_of
from whyperf.errors import WhyperfError
from whyperf.recording.raw_log.log_writer import RawLogWriter
from whyperf.recording.sealed.manifest import Sampling


def record_traced(
    pid: int | None, path: Path, *, lifecycle: Lifecycle, measuring: Measuring, sample_hz: int, name: str, force: bool
) -> RunOutcome:
    """Traces `pid`, or all processes, until it ends, the driver ends, the time is over, or Ctrl-C."""
    check_lifecycle(lifecycle, measuring, "whyperf record --trace --all --for 30s")
    if pid is not None and not check_is_process(pid):
        raise no_such_process(pid)
    scope = "all" if pid is None else "tree"
    wanted = TraceWanted(scope, sample_hz, watched=measuring.watched, queues=measuring.queues)
    with alone(name), contextlib.closing(TraceSession(wanted)) as session:
        folder = folders.create(path, force=force)
        log = Log()

        def append(kind: int, payload: bytes) -> None:
            log.append(kind, payload)
            log.keep(sync=False)  # much may come at once

        try:
            with folder.removed_unless_begun():
                session.record_into(folder.raw, append)
                session.prepare(pid)
                # That took its time: what is compared begins after it.
                sampling = Sampling(float(sample_hz), "cpu", TRACED_SAMPLES, 0.0, measuring.max_bytes)
                unit = measuring.unit or ("unit" if lifecycle.drive else "run")
                command = EVERYBODY if pid is None else command_of(pid)
                write_start(folder.raw, start_of(command, {}, sampling, unit, round(lifecycle.skip_s * 1e9)))
                log.open(RawLogWriter(folder.raw, measuring.max_bytes))
            with SignalWatch() as signals:
                usage = machine_usage if pid is None else lambda: usage_of([pid])
                watched = _TracedProcesses(pid, session)
                return ProcessWatch(watched, usage, log, signals, lifecycle).execute(path, unit)
        except OSError as error:
            raise WhyperfError(f"{path} cannot be written: {error.strerror}.", f"df -h {path.parent}") from None
        finally:
            folder.release()


class _TracedProcesses:
    """What `ProcessWatch` asks of whoever records."""

    def __init__(self, pid: int | None, session: TraceSession) -> None:
        self._session = session
        self._notes: list[str] = []
        try:
            self._end = ProcessEnd(pid)
        except ProcessLookupError:
            raise no_such_process(pid or 0) from None

    def start(self) -> None:
        self._session.start()

    def stop(self) -> None:
        self._notes = self._session.stop()
        self._end.close()

    def ended(self) -> bool:
        return self._end.has_come()

    def new_log_file(self) -> None:
        """Events need nothing repeated: what explains them is in a file of its own."""

    def notes(self) -> list[str]:
        return self._notes

    def counters(self) -> dict[str, object]:
        return {}
