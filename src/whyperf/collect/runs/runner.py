"""One recorded run: start the target, wait until it is ready, drive it, stop it, and touch nothing else."""

from __future__ import annotations

import contextlib
import math
import os
import shlex
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from whyperf.collect.latency.plans import LatencyPlan, plan_of
from whyperf.collect.runs.recorder import Recorder
from whyperf.collect.runs.work import CalledWork, CountsCalls, DriverWork, OneRun, ReportedWork, WorkAccount
from whyperf.collect.runs.work_count import counter_for
from whyperf.collect.sampling.allocator_plans import plans_of
from whyperf.collect.sampling.sampler import Sampler
from whyperf.collect.setup import folder as folders
from whyperf.collect.setup.lifecycle import Lifecycle, Measuring, RunOutcome
from whyperf.collect.setup.rate import plan_sampling
from whyperf.collect.setup.start import ValuesWanted, run_options, start_of
from whyperf.collect.target.drive import Driver
from whyperf.collect.target.program import Program, check_followable, check_traceable
from whyperf.collect.target.ready import FileExists, PortAccepts, ReadyCondition, condition
from whyperf.collect.target.shell import command_line
from whyperf.collect.target.signals import Arrival, SignalWatch
from whyperf.collect.target.spawn import Child, Spawn, Streams, spawn
from whyperf.collect.target.stop import stop_target
from whyperf.collect.usage.descendants import Descendants
from whyperf.collect.usage.thread_times import QuotaWatch, ThreadAccounts
from whyperf.collect.usage.totals import (
    LongestWaits,
    Thread,
    Usage,
    cpu_waits,
    identify,
    last_words,
    longest_waits,
    memory_of,
    peak_rss_bytes,
    process_tree,
    usage_at_end,
    usage_of,
)
from whyperf.errors import WhyperfError
from whyperf.recording.layout import OUTPUT
from whyperf.recording.sealed.latency import LatencyCount
from whyperf.recording.sealed.manifest import Sampling, Totals

if TYPE_CHECKING:
    from whyperf.collect.latency.timing import TimedCalls
    from whyperf.collect.tracer.session import TraceSession

_TICK_S = 0.1
_READY_TICK_S = 0.02
_FIRST_TICK_S = 0.005
_SECOND_INTERRUPT_S = 1.0  # two Ctrl-C within this time: the user wants it gone
_INTERRUPTED_S = 5.0  # an end so soon after a signal is that signal's doing

OnTick = Callable[[], None]

_ASKED_FOR_MEMORY = 32  # processes at a time
_ASKED_FOR_WAITS = 64  # threads at a time


def record_run(
    program: Program,
    path: Path,
    *,
    lifecycle: Lifecycle,
    measuring: Measuring,
    environment: Mapping[str, str],
    capture_output: bool = False,
    force: bool = False,
    on_tick: OnTick = lambda: None,
) -> RunOutcome:
    """Runs `program` and records it into the folder `path`, which stays open: sealing it is the next step.

    The target has the recorder's own streams; with `capture_output` it writes to files in the recording instead.
    """
    # Where no sampler can be loaded, the tracer still sees the program.
    (check_traceable if measuring.trace_hz else check_followable)(program)
    plan = plan_sampling(measuring.rate_hz)
    if lifecycle.drive is not None:
        command_line(lifecycle.drive, environment, lifecycle.folder)
    counter = counter_for(measuring.work_count, program.path) if measuring.work_count else None
    with contextlib.ExitStack() as held:
        if counter is not None:
            held.callback(counter.close)
        tracing = held.enter_context(_tracing(program, measuring)) if measuring.trace_hz else None
        allocators = plans_of(measuring.allocators, program, environment)
        latency = plan_of(measuring.latency, program, environment) if measuring.latency else None
        folder = folders.create(path, force=force)
        held.callback(folder.release)
        sampling = Sampling(
            float(plan.rate_hz),
            measuring.clock,
            plan.source,
            measuring.blocked_rate_hz,
            measuring.max_bytes,
            measuring.memory_interval,
            allocators.sampled,
        )
        unit = measuring.unit or ("call" if counter or latency else "unit" if lifecycle.drive else "run")
        wanted = ValuesWanted(
            measuring.components,
            str(measuring.compile_commands or ""),
            measuring.excluded_variables,
            measuring.redact,
        )
        start = start_of(
            program.command,
            environment,
            sampling,
            unit,
            round(lifecycle.skip_s * 1e9),
            values=wanted,
            options=run_options(program, lifecycle, measuring=measuring),
        )
        with folder.removed_unless_begun():
            allocators.write(folder.raw)
            timed = _timed_calls(latency, folder.raw) if latency is not None else None
            sampler = Sampler(folder, start, plan, measuring.values_depth)
            sampler.prepare_variables(program.path)
            recorder: Recorder = sampler if tracing is None else _traced(sampler, folder.raw, tracing)
        reported = partial(measuring.reported_work, path) if measuring.reported_work else None
        return run_to_the_end(
            program,
            path,
            recorder,
            _work_account(recorder, unit, counter or timed, lifecycle, reported),
            timed=timed,
            lifecycle=lifecycle,
            environment=environment,
            blocked_rate_hz=measuring.blocked_rate_hz,
            capture_output=capture_output,
            on_tick=on_tick,
            notes=[*([plan.note] if plan.note else []), *allocators.notes],
        )


def run_to_the_end(
    program: Program,
    path: Path,
    recorder: Recorder,
    work: WorkAccount,
    *,
    timed: TimedCalls | None = None,
    lifecycle: Lifecycle,
    environment: Mapping[str, str],
    blocked_rate_hz: float = 0.0,
    capture_output: bool = False,
    on_tick: OnTick = lambda: None,
    notes: Sequence[str] = (),
    spawn_target: Spawn = spawn,
) -> RunOutcome:
    """The run itself, whoever records it. `spawn_target` starts the program, but neither driver nor ready command."""
    with contextlib.ExitStack() as held:
        setting = _Setting(
            program=program,
            environment=environment,
            lifecycle=lifecycle,
            blocked_rate_hz=blocked_rate_hz,
            streams=held.enter_context(_captured(path)) if capture_output else Streams(),
            null=held.enter_context(_null()),
            on_tick=on_tick,
            spawn_target=spawn_target,
        )
        signals = held.enter_context(SignalWatch())
        return _Run(setting, recorder, signals, work, timed).execute(path, list(notes))


@contextlib.contextmanager
def _tracing(program: Program, measuring: Measuring) -> Iterator[TraceSession]:
    """A tracer to run beside the sampler, which leaves nothing in the kernel whatever happens."""
    from whyperf.collect.tracer.holder import alone, command_name
    from whyperf.collect.tracer.session import TraceSession, TraceWanted

    wanted = TraceWanted("tree", measuring.trace_hz, watched=measuring.watched, queues=measuring.queues)
    with (
        alone(command_name("record", "--trace", "--", *program.command)),
        contextlib.closing(TraceSession(wanted)) as session,
    ):
        yield session


def _timed_calls(plan: LatencyPlan, raw: Path) -> TimedCalls:
    from whyperf.collect.latency.timing import TimedCalls  # numpy, which other recordings need not load

    return TimedCalls(plan, raw)


def _traced(sampler: Sampler, raw: Path, session: TraceSession) -> Recorder:
    from whyperf.collect.tracer.traced_recorder import TracedRecorder

    return TracedRecorder(sampler, raw, session)


@contextlib.contextmanager
def _captured(path: Path) -> Iterator[Streams]:
    """No input, and the output in the recording's own folder."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    with contextlib.ExitStack() as opened:
        stdin = opened.enter_context(_null())
        files = [os.open(path / name, flags, 0o600) for name in OUTPUT]
        for descriptor in files:
            opened.callback(os.close, descriptor)
        yield Streams(stdin, *files)


@contextlib.contextmanager
def _null() -> Iterator[int]:
    descriptor = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _work_account(
    sampler: Recorder,
    unit: str,
    counter: CountsCalls | None,
    lifecycle: Lifecycle,
    reported: Callable[[], float | None] | None,
) -> WorkAccount:
    if reported is not None:
        return ReportedWork(sampler, unit, reported)
    if counter is not None:
        return CalledWork(sampler, unit, counter)
    return DriverWork(sampler, unit) if lifecycle.drive is not None else OneRun()


@dataclass(frozen=True)
class _Setting:
    """What stays the same during a run."""

    program: Program
    environment: Mapping[str, str]
    lifecycle: Lifecycle
    blocked_rate_hz: float
    streams: Streams
    null: int  # what drivers and ready commands read: the terminal is the target's
    on_tick: OnTick
    spawn_target: Spawn

    @property
    def side_streams(self) -> Streams:
        return Streams(self.null, self.streams.stdout, self.streams.stderr)


class _Run:
    """The state of one run. `_stopped_by` is None as long as it goes on."""

    def __init__(
        self, setting: _Setting, recorder: Recorder, signals: SignalWatch, work: WorkAccount, timed: TimedCalls | None
    ) -> None:
        self._setting = setting
        self._lifecycle = setting.lifecycle
        self._recorder = recorder
        self._signals = signals
        self._work = work
        self._stopped_by: str | None = None
        self._last_signal = float("-inf")
        self._window_opens: int | None = None  # when it will, once the target is ready
        self._window_start: int | None = None  # when it did
        self._used_before = Usage()
        self._guard = threading.Lock()
        self._seen = Usage()  # peaks that were seen while it ran
        self._seen_waits = LongestWaits()  # for a CPU, of threads when they were last seen
        self._target: Child
        self._descendants: Descendants
        self._threads: ThreadAccounts
        self._quota: QuotaWatch
        self._driver: Driver | None = None
        self._swap_bytes = 0  # most that was seen
        self._latencies = LatencyCount("driver")
        self._timed = timed

    def execute(self, path: Path, notes: list[str]) -> RunOutcome:
        cpu_before = time.process_time()
        ready = self._ready_condition()
        self._target = self._setting.spawn_target(
            self._recorder.started(self._setting.program),
            self._recorder.environment(self._setting.environment),
            mask=self._signals.mask,
            streams=self._setting.streams,
        )
        self._signals.hear_the_end_of(self._target.pid)
        self._descendants = Descendants(identify(self._target.pid))
        self._threads = ThreadAccounts(self._target.pid)
        self._quota = QuotaWatch(self._target.pid)
        inherited_rss = peak_rss_bytes(os.getpid())
        self._recorder.start(self._totals_so_far)
        try:
            with self._blocked_threads():
                failure = self._get_ready(ready) or self._run_to_the_end()
        finally:
            ended_at, totals, work = self._end(inherited_rss)
            notes += self._closing_notes()
            status = self._target.status if self._target.status is not None else 0
            how = {"status": status, "signal": None} if status >= 0 else {"status": None, "signal": -status}
            self._recorder.finish(
                notes,
                totals,
                time=ended_at,
                exit_status=how["status"],
                exit_signal=how["signal"],
                stopped_by=self._stopped_by or "interrupt",
                recorder_cpu_s=time.process_time() - cpu_before,
            )
        stopped_by = "disk-full" if self._recorder.disk_full else self._stopped_by or "exit"
        return RunOutcome(path, how["status"], how["signal"], stopped_by, totals, work, tuple(notes), failure)

    @contextlib.contextmanager
    def _blocked_threads(self) -> Iterator[None]:
        if not self._setting.blocked_rate_hz:
            yield
            return
        blocked = self._recorder.blocked_threads(self._setting.blocked_rate_hz)
        blocked.start()
        try:
            yield
        finally:
            blocked.stop()

    def _ready_condition(self) -> ReadyCondition | None:
        if self._lifecycle.ready is None:
            return None
        environment, mask = self._setting.environment, self._signals.mask
        ready = condition(self._lifecycle.ready, environment, mask, self._setting.side_streams, self._lifecycle.folder)
        if isinstance(ready, PortAccepts | FileExists) and ready.holds():
            look = f"ss -ltnp 'sport = :{ready.port}'" if isinstance(ready, PortAccepts) else f"rm {ready.path}"
            raise WhyperfError(f"Already before the target is started {ready}: something else is in its place.", look)
        return ready

    def _get_ready(self, ready: ReadyCondition | None) -> WhyperfError | None:
        if ready is None:
            self._is_ready(self._target.started)
            return None
        deadline = time.monotonic() + self._lifecycle.ready_timeout_s
        if self._until(ready.holds, deadline, _READY_TICK_S):
            now = time.monotonic_ns()
            self._recorder.append("ready", time=now)
            self._is_ready(now)
            return None
        name = self._setting.program.command[0]
        if self._stopped_by is None:
            self._stopped_by = "driver"
            return WhyperfError(
                f"{name} was not ready within {self._lifecycle.ready_timeout_s:g} s: waited until {ready}.",
                "whyperf record --ready-timeout 120s ...",
            )
        if self._stopped_by == "interrupt":
            return None
        if any(pid != self._target.pid for pid, _ in self._live_threads()):
            return WhyperfError(
                f"{name} went to the background before it was ready; start it so that it stays in the foreground.",
                "whyperf record --ready ... -- nginx -g 'daemon off;'",
            )
        return WhyperfError(
            f"{name} ended by itself before it was ready ({ready}).", shlex.join(self._setting.program.command)
        )

    def _is_ready(self, ready_at: int) -> None:
        self._window_opens = ready_at + round(self._lifecycle.skip_s * 1e9)
        if self._lifecycle.skip_s <= 0:
            self._open_window(ready_at)

    def _open_window(self, now: int) -> None:
        is_later = now != self._target.started
        if is_later:
            self._used_before = self._used_by_living()
        self._threads.open_window(self._live_threads() if is_later else (), now / 1e9)
        self._quota.look()
        self._work.window_opens(from_start=not is_later)
        self._latencies.window_opens()
        if self._timed is not None:
            self._timed.window_opens(now, from_start=not is_later)
        self._window_start = now

    def _run_to_the_end(self) -> WhyperfError | None:
        lifecycle = self._lifecycle
        if lifecycle.drive is not None:
            self._driver = Driver(
                lifecycle.drive,
                self._setting.environment,
                mask=self._signals.mask,
                streams=self._setting.side_streams,
                folder=lifecycle.folder,
                on_work=self._work.report if isinstance(self._work, DriverWork) else lambda _now, _units: None,
                latencies=self._latencies,
            )
            self._signals.hear_the_end_of(self._driver.pid)
        opens = (self._window_opens or 0) / 1e9
        deadline = None if lifecycle.for_s is None else opens + lifecycle.for_s
        driver = self._driver
        if self._until(driver.poll if driver else lambda: False, deadline, _TICK_S) and driver is not None:
            return self._after_driver(driver.status or 0)
        if self._stopped_by is None:
            self._stopped_by = "for"
        elif driver is not None and self._stopped_by in ("exit", "signal"):
            name = self._setting.program.command[0]
            return WhyperfError(
                f"{name} ended by itself while its driver was still running.", shlex.join(self._setting.program.command)
            )
        return None

    def _after_driver(self, status: int) -> WhyperfError | None:
        self._stopped_by = "interrupt" if self._recently_signalled() else "driver"
        if status == 0 or self._stopped_by == "interrupt":
            return None
        how = f"status {status}" if status > 0 else f"signal {-status}"
        return WhyperfError(
            f"The driver {self._lifecycle.drive} failed with {how}, so the target did not get all of its load.",
            self._lifecycle.drive,
        )

    def _until(self, done: Callable[[], bool], deadline: float | None, tick: float) -> bool:
        """Waits for `done`, heeding signals; False when the deadline or the target's end comes first."""
        while self._stopped_by is None:
            if done():
                return True
            now = time.monotonic()
            if deadline is not None and now >= deadline:
                return False
            if self._window_start is None and self._window_opens is not None and now * 1e9 >= self._window_opens:
                self._open_window(time.monotonic_ns())
            lasted = now - self._target.started / 1e9
            at_first = max(_FIRST_TICK_S, lasted / 2)  # so that short runs are looked at, too
            self._pass_time(min(tick, at_first, math.inf if deadline is None else deadline - now))
            self._look_at_memory()
            self._look_for_waits()
            self._setting.on_tick()
            if self._target.has_ended():
                self._stopped_by = self._why_it_ended()
        return False

    def _look_at_memory(self) -> None:
        """Of the largest process now alive, as far as it is cheap to ask."""
        followed = sorted({pid for pid, _ in self._live_threads()})
        resident, swapped = zip(*map(memory_of, (self._target.pid, *followed[:_ASKED_FOR_MEMORY])), strict=True)
        self._saw(Usage(max_rss_bytes=max(resident)), LongestWaits())
        self._swap_bytes = max(self._swap_bytes, *swapped)

    def _saw(self, peaks: Usage, waits: LongestWaits) -> None:
        """The recorder's thread looks as well, more thoroughly and more rarely."""
        with self._guard:
            self._seen += peaks
            self._seen_waits |= waits

    def _live_threads(self) -> list[Thread]:
        return self._descendants.among(self._recorder.live_threads())

    def _look_for_waits(self) -> None:
        """Threads may end between the thorough looks, and with them what the kernel knew of them."""
        if self._window_start is not None:
            living = self._live_threads()[:_ASKED_FOR_WAITS]
            self._saw(Usage(), longest_waits(cpu_waits(living), self._used_before))
            self._threads.look(living, time.monotonic())
            self._quota.look()

    def _pass_time(self, seconds: float) -> None:
        arrival = self._signals.wait(seconds)
        if arrival is not None:
            self._heed(arrival)

    def _heed(self, arrival: Arrival) -> None:
        now = time.monotonic()
        again, self._last_signal = now - self._last_signal <= _SECOND_INTERRUPT_S, now
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if arrival.reached_target and again:
                self._target.send(signal.SIGKILL)
            elif not arrival.reached_target:
                self._target.send(arrival.number)

    def _recently_signalled(self) -> bool:
        self._pass_time(0.0)  # what ended the program or its driver may only now reach us
        return time.monotonic() - self._last_signal <= _INTERRUPTED_S

    def _why_it_ended(self) -> str:
        if self._recently_signalled():
            return "interrupt"
        ended = os.waitid(os.P_PID, self._target.pid, os.WEXITED | os.WNOWAIT)
        return "exit" if ended is None or ended.si_code == os.CLD_EXITED else "signal"

    def _end(self, inherited_rss: int) -> tuple[int, Totals, float | None]:
        """Ends whatever still runs. The window's end and its totals are taken before that disturbs them."""
        first = (self._target.pid, self._target.pid)
        self._quota.look()
        if self._target.has_ended():
            self._threads.look([first], time.monotonic())
            said = last_words(self._target.pid)
            self._target.poll()
            assert self._target.rusage is not None and self._target.ended is not None
            ended_at = self._target.ended
            used = usage_at_end(self._target.rusage, said, self._seen, inherited_rss)
            work = self._work.close(ended_at)
            self._stop_driver()
        else:
            ended_at = time.monotonic_ns()
            self._threads.look([first, *self._live_threads()], ended_at / 1e9)
            used = self._used_by_living()
            work = self._work.close(ended_at)
            self._stop_driver()
            stop_target(self._target, self._lifecycle.stop_signal, self._lifecycle.stop_timeout_s, self._pass_time)
        start = self._window_start if self._window_start is not None else self._target.started
        wall_s = (ended_at - start) / 1e9
        return ended_at, self._with_threads(used.since(self._used_before, wall_s, seen=self._seen_waits)), work

    def _with_threads(self, totals: Totals) -> Totals:
        quota = self._quota
        return replace(
            totals,
            threads=self._threads.times(),
            throttled_s=quota.throttled_s,
            quota_cpus=quota.cpus,
            swap_bytes=self._swap_bytes,
            latency=self._latencies.latency if self._timed is None else self._timed.latency,
        )

    def _stop_driver(self) -> None:
        if self._driver is not None:
            self._driver.stop()

    def _closing_notes(self) -> list[str]:
        notes = [] if self._timed is None else self._timed.notes
        if self._window_start is None and self._window_opens is not None:
            notes.append("The run ended before the warm-up that --skip cuts off was over.")
        if self._stopped_by in ("exit", "signal"):
            others = {pid for pid, _ in self._live_threads()} - {self._target.pid}
            running = sum(Path(f"/proc/{pid}").exists() for pid in others)
            if running:
                were = (
                    "process that the target started was" if running == 1 else "processes that the target started were"
                )
                notes.append(f"{running} {were} still running when it ended.")
        return notes

    def _used_by_living(self) -> Usage:
        tree = {process.pid for process in process_tree(self._target.pid)}
        # Followed descendants whose parents have gone are in no tree.
        followed = {pid for pid, _ in self._live_threads()}
        return usage_of(tree | followed)

    def _totals_so_far(self) -> Totals | None:
        start = self._window_start
        if start is None:
            return None
        used = self._used_by_living()
        wall_s = (time.monotonic_ns() - start) / 1e9
        self._saw(Usage(max_rss_bytes=used.max_rss_bytes), longest_waits(used.cpu_waits, self._used_before))
        return self._with_threads(used.since(self._used_before, wall_s, seen=self._seen_waits))
