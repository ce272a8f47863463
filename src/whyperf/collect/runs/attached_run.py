"""Recording what already runs: it is watched for a while and left as it was."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Protocol

from whyperf.collect.sampling.attach import AttachedSampler
from whyperf.collect.sampling.sampler import SYNC_EVERY_S, tables_folder
from whyperf.collect.setup import folder as folders
from whyperf.collect.setup.lifecycle import Lifecycle, Measuring, RunOutcome
from whyperf.collect.setup.rate import plan_sampling
from whyperf.collect.setup.start import start_of, write_start
from whyperf.collect.target.drive import Driver
from whyperf.collect.target.signals import SignalWatch
from whyperf.collect.target.spawn import Streams
from whyperf.collect.usage.totals import LongestWaits, Usage, longest_waits, usage_of
from whyperf.errors import WhyperfError
from whyperf.recording.raw_log.log_writer import RawLogWriter
from whyperf.recording.sealed.latency import LatencyCount
from whyperf.recording.sealed.manifest import Sampling, Totals

_TICK_S = 0.1
_LOOK_EVERY_S = 0.5


def record_process(pid: int, path: Path, *, lifecycle: Lifecycle, measuring: Measuring, force: bool) -> RunOutcome:
    """Records `pid` until it ends, the driver ends, the time is over, or Ctrl-C. It is never stopped by that."""
    check_lifecycle(lifecycle, measuring, f"whyperf record --pid {pid} --for 30s")
    plan = plan_sampling(measuring.rate_hz)
    tables = tables_folder()
    log = Log()
    attached = AttachedSampler(pid, tables, log.append, rate_hz=plan.rate_hz, clock=measuring.clock)
    folder = folders.create(path, force=force)
    try:
        sampling = Sampling(
            float(plan.rate_hz), measuring.clock, "perf-event", measuring.blocked_rate_hz, measuring.max_bytes
        )
        unit = measuring.unit or ("unit" if lifecycle.drive else "run")
        start = start_of(command_of(pid), {}, sampling, unit, round(lifecycle.skip_s * 1e9))
        with folder.removed_unless_begun():
            write_start(folder.raw, start)
            log.open(RawLogWriter(folder.raw, measuring.max_bytes))
        with SignalWatch() as signals:
            return ProcessWatch(attached, lambda: usage_of([pid]), log, signals, lifecycle).execute(path, unit)
    except OSError as error:
        raise WhyperfError(f"{path} cannot be written: {error.strerror}.", f"df -h {path.parent}") from None
    finally:
        folder.release()


def check_lifecycle(lifecycle: Lifecycle, measuring: Measuring, instead: str) -> None:
    if lifecycle.ready is not None or measuring.work_count is not None or measuring.latency is not None:
        raise WhyperfError(
            "--ready, --work-count and --latency are for programs that whyperf starts, not for what already runs.",
            instead,
            status=2,
        )


class WatchedProcess(Protocol):
    """Whoever looks at what runs, through the log that it was given."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def ended(self) -> bool:
        """Whether there is nothing left to look at."""

    def new_log_file(self) -> None:
        """Repeats what the log's next file needs to be readable alone."""

    def notes(self) -> list[str]:
        """What was lost, once it was stopped."""

    def counters(self) -> dict[str, object]: ...


class Log:
    """The raw log, which takes nothing more once the disk is full.

    Opened after the sampler was made: a process that cannot be recorded leaves no folder behind.
    """

    _writer: RawLogWriter

    def __init__(self) -> None:
        self.full = False

    def open(self, writer: RawLogWriter) -> None:
        self._writer = writer

    def append(self, kind: int, payload: bytes) -> None:
        with self._until_full():
            self._writer.append(kind, payload)

    def say(self, kind: str, **fields: object) -> None:
        with self._until_full():
            self._writer.append_json({"type": kind, **fields})

    def keep(self, *, sync: bool) -> bool:
        """Syncs, and begins a new file when this one is full; whether it did."""
        with self._until_full():
            if sync:
                self._writer.sync()
            return self._writer.rotate()
        return False

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._writer.close()

    @contextlib.contextmanager
    def _until_full(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            self.full = True


class ProcessWatch:
    """The state of watching. `usage` tells what was used so far; nothing once it has ended."""

    def __init__(
        self,
        watched: WatchedProcess,
        usage: Callable[[], Usage],
        log: Log,
        signals: SignalWatch,
        lifecycle: Lifecycle,
    ) -> None:
        self._watched = watched
        self._usage = usage
        self._log = log
        self._signals = signals
        self._lifecycle = lifecycle
        self._unit = "run"
        self._work: float | None = None
        self._work_before = 0.0
        self._used_before = self._used = usage()
        self._seen_waits = LongestWaits()  # for a CPU, of threads when they were last seen
        self._latencies = LatencyCount("driver")
        self._opened = time.monotonic_ns()

    def execute(self, path: Path, unit: str) -> RunOutcome:
        self._unit = unit
        cpu_before = time.process_time()
        begun = self._opened = time.monotonic_ns()
        self._watched.start()
        driver = self._start_driver()
        try:
            stopped_by = self._watch(driver, begun)
        finally:
            ended = time.monotonic_ns()
            self._watched.stop()
            if driver is not None:
                driver.stop()
        failure = None
        if stopped_by == "driver" and driver is not None and driver.status:
            failure = WhyperfError(
                f"The driver {self._lifecycle.drive} failed with status {driver.status}, so the process did not get "
                "all of its load.",
                self._lifecycle.drive,
            )
        notes = self._watched.notes()
        totals = self._totals(ended)
        if self._log.full:
            stopped_by = "disk-full"
            notes.append("The disk was full: the process runs on, but was recorded only until then.")
        self._log.say("totals", time=ended, at="stop", totals=asdict(totals))
        self._log.say("losses", notes=notes, counters=self._watched.counters())
        self._log.say(
            "stop",
            time=ended,
            exit_status=None,
            exit_signal=None,
            stopped_by=stopped_by,
            recorder_cpu_s=time.process_time() - cpu_before,
        )
        self._log.close()
        return RunOutcome(path, None, None, stopped_by, totals, self._work, tuple(notes), failure)

    def _watch(self, driver: Driver | None, begun: int) -> str:
        opens = begun + round(self._lifecycle.skip_s * 1e9)
        closes = None if self._lifecycle.for_s is None else opens + round(self._lifecycle.for_s * 1e9)
        looked = synced = time.monotonic()
        waiting_for_warm_up = self._lifecycle.skip_s > 0
        while not self._log.full:
            now = time.monotonic_ns()
            if waiting_for_warm_up and now >= opens:
                waiting_for_warm_up = False
                self._opened, self._used_before, self._work_before = now, self._usage(), self._work or 0.0
                self._seen_waits = LongestWaits()
                self._latencies.window_opens()
            if self._watched.ended():
                return "attached-end"
            if driver is not None and driver.poll():
                return "driver"
            if closes is not None and now >= closes:
                return "for"
            if self._signals.wait(_TICK_S) is not None:
                return "interrupt"
            sync = now / 1e9 - synced >= SYNC_EVERY_S
            synced = now / 1e9 if sync else synced
            if self._log.keep(sync=sync):
                self._watched.new_log_file()
            if now / 1e9 - looked >= _LOOK_EVERY_S:
                looked = now / 1e9
                self._look(now)
        return "disk-full"

    def _look(self, now: int) -> None:
        used = self._usage()
        if used != Usage():  # it has not just ended
            self._used = used
            self._log.say("totals", time=now, at="running", totals=asdict(self._totals(now)))

    def _totals(self, now: int) -> Totals:
        used = self._usage()
        self._used = self._used if used == Usage() else used
        self._seen_waits |= longest_waits(self._used.cpu_waits, self._used_before)
        totals = self._used.since(self._used_before, (now - self._opened) / 1e9, seen=self._seen_waits)
        return replace(totals, latency=self._latencies.latency)

    def _start_driver(self) -> Driver | None:
        if self._lifecycle.drive is None:
            return None
        return Driver(
            self._lifecycle.drive,
            dict(os.environ),
            mask=self._signals.mask,
            streams=Streams(),
            on_work=self._work_done,
            latencies=self._latencies,
        )

    def _work_done(self, now: int, units: float) -> None:
        self._work = units
        self._log.say("work", time=now, unit=self._unit, count=units - self._work_before)


def command_of(pid: int) -> tuple[str, ...]:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
    except OSError:
        return ()
    return tuple(os.fsdecode(word) for word in words)
