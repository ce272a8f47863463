"""One recorded run: start the target, wait until it is ready, drive it, stop it, and touch nothing else."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path

from whyperf.collect import folder as folders
from whyperf.collect.drive import Driver
from whyperf.collect.lifecycle import Lifecycle, Measuring, Outcome
from whyperf.collect.program import Program, check_followable
from whyperf.collect.rate import plan_sampling
from whyperf.collect.ready import FileExists, PortAccepts, ReadyCondition, condition
from whyperf.collect.sampler import Sampler
from whyperf.collect.shell import command_line
from whyperf.collect.signals import Arrival, SignalWatch
from whyperf.collect.spawn import Child, Streams, spawn
from whyperf.collect.start import start_of
from whyperf.collect.totals import (
    Usage,
    io_bytes,
    is_running,
    own_peak_rss_bytes,
    process_tree,
    usage_at_end,
    usage_of,
)
from whyperf.collect.work_count import CallCounter, counter_for
from whyperf.errors import WhyperfError
from whyperf.recording.manifest import Sampling, Totals

_TICK_S = 0.1
_READY_TICK_S = 0.02
_SECOND_INTERRUPT_S = 1.0  # two Ctrl-C within this time: the user wants it gone
_INTERRUPTED_S = 5.0  # an end so soon after a signal is that signal's doing

OnTick = Callable[[float], None]  # seconds since the target's start


def record_run(
    program: Program,
    path: Path,
    *,
    lifecycle: Lifecycle,
    measuring: Measuring,
    environment: Mapping[str, str],
    streams: Streams | None = None,
    force: bool = False,
    on_tick: OnTick | None = None,
) -> Outcome:
    """Runs `program` and records it into the folder `path`, which stays open: sealing it is the next step."""
    check_followable(program)
    plan = plan_sampling(measuring.rate_hz)
    if lifecycle.drive is not None:
        command_line(lifecycle.drive, environment)
    counter = counter_for(measuring.work_count, program.path) if measuring.work_count else None
    folder = folders.create(path, force=force)
    try:
        sampling = Sampling(
            rate_hz=float(plan.rate_hz),
            clock=measuring.clock,
            source=plan.source,
            blocked_rate_hz=measuring.blocked_rate_hz,
            max_bytes=measuring.max_bytes,
        )
        unit = measuring.unit or ("call" if counter else "unit" if lifecycle.drive else "run")
        start = start_of(program.command, environment, sampling, unit, round(lifecycle.skip_s * 1e9))
        sampler = Sampler(folder, start, plan)
        with SignalWatch() as signals:
            run = _Run(program, sampler, signals, lifecycle, environment, streams or Streams(), on_tick)
            run.count_calls(counter, unit)
            outcome = run.execute(path, [plan.note] if plan.note else [])
        return outcome
    finally:
        folder.release()
        if counter is not None:
            counter.close()


class _Run:
    """The state of one run. `_stopped_by` is None as long as it goes on."""

    def __init__(
        self,
        program: Program,
        sampler: Sampler,
        signals: SignalWatch,
        lifecycle: Lifecycle,
        environment: Mapping[str, str],
        streams: Streams,
        on_tick: OnTick | None,
    ) -> None:
        self._program = program
        self._sampler = sampler
        self._signals = signals
        self._lifecycle = lifecycle
        self._environment = environment
        self._streams = streams
        self._on_tick = on_tick
        self._stopped_by: str | None = None
        self._interrupts: list[float] = []
        self._counter: CallCounter | None = None
        self._unit = "run"
        self._work: float | None = None
        self._work_before_window = 0.0
        self._window_opens: int | None = None  # when it will, once the target is ready
        self._window_start: int | None = None  # when it did
        self._used_before_window = Usage()
        self._last_seen = Usage()
        self._target: Child
        self._driver: Driver | None = None

    def count_calls(self, counter: CallCounter | None, unit: str) -> None:
        self._counter = counter
        self._unit = unit

    def execute(self, path: Path, notes: list[str]) -> Outcome:
        inherited_rss = own_peak_rss_bytes()
        cpu_before = time.process_time()
        ready = self._ready_condition()
        failure: WhyperfError | None = None
        self._target = spawn(
            self._program,
            self._sampler.environment(self._environment),
            mask=self._signals.mask,
            streams=self._streams,
        )
        self._sampler.start(self._totals_so_far)
        try:
            failure = self._wait_until_ready(ready) if ready else self._open_window_later(self._target.started)
            if failure is None:
                failure = self._run_to_the_end()
        finally:
            ended_at, totals = self._end(inherited_rss)
            notes += self._closing_notes()
            self._count_work(ended_at)
            self._sampler.append("totals", time=ended_at, at="stop", totals=asdict(totals))
            status = self._target.status
            self._sampler.finish(
                notes,
                time=ended_at,
                exit_status=status if status is not None and status >= 0 else None,
                exit_signal=-status if status is not None and status < 0 else None,
                stopped_by=self._stopped_by or "exit",
                recorder_cpu_s=time.process_time() - cpu_before,
            )
        if self._sampler.disk_full:
            self._stopped_by = "disk-full"
            notes.append("The disk was full: the target ran on, but was recorded only until then.")
        return Outcome(
            path,
            status=status if status is not None and status >= 0 else None,
            signal=-status if status is not None and status < 0 else None,
            stopped_by=self._stopped_by or "exit",
            totals=totals,
            work=self._work,
            notes=tuple(notes),
            failure=failure,
        )

    def _ready_condition(self) -> ReadyCondition | None:
        if self._lifecycle.ready is None:
            return None
        quiet = Streams(stdin=_null(), stdout=self._streams.stdout, stderr=self._streams.stderr)
        ready = condition(self._lifecycle.ready, self._environment, self._signals.mask, quiet)
        if isinstance(ready, PortAccepts | FileExists) and ready.holds():
            next_command = f"ss -ltnp 'sport = :{ready.port}'" if isinstance(ready, PortAccepts) else f"rm {ready.path}"
            raise WhyperfError(
                f"Before the target was started {ready}: something else is ready in its place.", next_command
            )
        return ready

    def _wait_until_ready(self, ready: ReadyCondition) -> WhyperfError | None:
        deadline = time.monotonic() + self._lifecycle.ready_timeout_s
        if self._until(ready.holds, deadline, _READY_TICK_S):
            now = time.monotonic_ns()
            self._sampler.append("ready", time=now)
            return self._open_window_later(now)
        name = self._program.command[0]
        if self._stopped_by is None:
            self._stopped_by = "driver"
            return WhyperfError(
                f"{name} was never ready: {ready} did not come true within {self._lifecycle.ready_timeout_s:g} s.",
                "whyperf record --ready-timeout 120s ...",
            )
        if self._stopped_by == "interrupt":
            return None
        if self._sampler.live_threads():
            return WhyperfError(
                f"{name} went to the background before it was ready; start it so that it stays in the foreground.",
                "whyperf record --ready ... -- nginx -g 'daemon off;'",
            )
        return WhyperfError(
            f"{name} ended by itself before it was ready ({ready}).", shlex.join(self._program.command)
        )

    def _open_window_later(self, ready_at: int) -> None:
        self._window_opens = ready_at + round(self._lifecycle.skip_s * 1e9)
        if self._lifecycle.skip_s <= 0:
            self._open_window(ready_at)

    def _open_window(self, now: int) -> None:
        if now != self._target.started:
            self._used_before_window = usage_of(process.pid for process in process_tree(self._target.pid))
        if self._counter is not None:
            self._work_before_window = float(self._counter.count())
        elif self._work is not None:
            self._work_before_window = self._work
        self._window_start = now

    def _run_to_the_end(self) -> WhyperfError | None:
        lifecycle = self._lifecycle
        if lifecycle.drive is not None:
            self._driver = Driver(
                lifecycle.drive,
                self._environment,
                mask=self._signals.mask,
                streams=Streams(stdin=_null(), stdout=self._streams.stdout, stderr=self._streams.stderr),
                on_work=self._work_done,
            )
        opens = (self._window_opens or 0) / 1e9
        deadline = None if lifecycle.for_s is None else opens + lifecycle.for_s
        driver = self._driver
        driver_ended = self._until(driver.poll if driver else lambda: False, deadline, _TICK_S)
        if driver_ended and driver is not None:
            return self._after_driver(driver.status or 0)
        if self._stopped_by is None:
            self._stopped_by = "for"
        elif driver is not None and self._stopped_by in ("exit", "signal"):
            return WhyperfError(
                f"{self._program.command[0]} ended by itself while the driver was still running.",
                shlex.join(self._program.command),
            )
        return None

    def _after_driver(self, status: int) -> WhyperfError | None:
        interrupted = bool(self._interrupts)
        self._stopped_by = "interrupt" if interrupted else "driver"
        if status == 0 or interrupted:
            return None
        how = f"status {status}" if status > 0 else f"signal {signal.Signals(-status).name}"
        return WhyperfError(
            f"The driver {self._lifecycle.drive} failed with {how}, so the target did not get its load.",
            self._lifecycle.drive,
        )

    def _until(self, done: Callable[[], bool], deadline: float | None, tick: float) -> bool:
        """Waits for `done`, passing signals on; False when the deadline or the target's end comes first."""
        while self._stopped_by is None:
            if done():
                return True
            now = time.monotonic()
            if deadline is not None and now >= deadline:
                return False
            opens = self._window_opens
            if opens is not None and self._window_start is None and now * 1e9 >= opens:
                self._open_window(time.monotonic_ns())
            wait = tick if deadline is None else min(tick, deadline - now)
            self._heed(self._signals.wait(wait))
            if self._on_tick is not None:
                self._on_tick(now - self._target.started / 1e9)
            if self._target.has_ended():
                self._stopped_by = self._why_it_ended()
        return False

    def _heed(self, arrival: Arrival | None) -> None:
        if arrival is None:
            return
        now = time.monotonic()
        again = self._interrupts and now - self._interrupts[-1] <= _SECOND_INTERRUPT_S
        self._interrupts.append(now)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if arrival.reached_target and again:
                self._target.send(signal.SIGKILL)
            elif not arrival.reached_target:
                self._target.send(arrival.number)

    def _why_it_ended(self) -> str:
        if self._interrupts and time.monotonic() - self._interrupts[-1] <= _INTERRUPTED_S:
            return "interrupt"
        ended = os.waitid(os.P_PID, self._target.pid, os.WEXITED | os.WNOWAIT)
        return "exit" if ended is None or ended.si_code == os.CLD_EXITED else "signal"

    def _end(self, inherited_rss: int) -> tuple[int, Totals]:
        """Ends whatever still runs; the window's end and its totals are taken before that disturbs them."""
        if self._target.has_ended():
            storage = io_bytes(self._target.pid)
            self._target.poll()
            assert self._target.rusage is not None and self._target.ended is not None
            ended_at = self._target.ended
            used = usage_at_end(self._target.rusage, storage, self._last_seen, inherited_rss)
            self._stop_driver()
        else:
            ended_at = time.monotonic_ns()
            used = usage_of(process.pid for process in process_tree(self._target.pid))
            self._work_at_stop()
            self._stop_driver()
            self._stop_target()
        start = self._window_start if self._window_start is not None else self._target.started
        return ended_at, used.since(self._used_before_window, (ended_at - start) / 1e9)

    def _stop_driver(self) -> None:
        if self._driver is not None:
            self._driver.stop()

    def _stop_target(self) -> None:
        """The target gets the signal first; descendants that outlive it would hold its ports in the next run."""
        family = process_tree(self._target.pid)
        number = self._lifecycle.stop_signal
        deadline = time.monotonic() + self._lifecycle.stop_timeout_s
        with contextlib.suppress(ProcessLookupError, PermissionError):
            self._target.send(number)
        while not self._target.poll() and time.monotonic() < deadline:
            self._heed(self._signals.wait(_READY_TICK_S))
        while not self._target.poll():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                self._target.send(signal.SIGKILL)
            self._signals.wait(_READY_TICK_S)
        descendants = family[1:]
        for last_word in (number, signal.SIGKILL):
            left = [process for process in descendants if is_running(process)]
            for process in left:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(process.pid, last_word)
            while any(map(is_running, left)) and time.monotonic() < deadline:
                self._signals.wait(_READY_TICK_S)

    def _closing_notes(self) -> list[str]:
        notes = []
        if self._window_start is None and self._window_opens is not None:
            notes.append("The run ended before the warm-up that --skip cuts off was over.")
        left = {pid for pid, _ in self._sampler.live_threads()} if self._stopped_by in ("exit", "signal") else set()
        running = [pid for pid in left if pid != self._target.pid and Path(f"/proc/{pid}").exists()]
        if running:
            notes.append(f"{len(running)} processes that the target started were still running when it ended.")
        return notes

    def _totals_so_far(self) -> Totals | None:
        self._last_seen = used = usage_of(process.pid for process in process_tree(self._target.pid))
        start = self._window_start
        if start is None:
            return None
        return used.since(self._used_before_window, (time.monotonic_ns() - start) / 1e9)

    def _work_done(self, now: int, units: float) -> None:
        self._work = units
        if self._counter is None and self._window_start is not None:
            self._sampler.append("work", time=now, unit=self._unit, count=units - self._work_before_window)

    def _work_at_stop(self) -> None:
        if self._counter is not None:
            self._work = float(self._counter.count())

    def _count_work(self, now: int) -> None:
        if self._counter is None:
            return
        if self._work is None:
            self._work_at_stop()
        self._sampler.append("work", time=now, unit=self._unit, count=(self._work or 0.0) - self._work_before_window)


def _null() -> int:
    """A descriptor of /dev/null for the life of the process."""
    global _null_descriptor
    if _null_descriptor is None:
        _null_descriptor = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    return _null_descriptor


_null_descriptor: int | None = None
