"""Recording a process that already runs, without touching it: perf events where permitted, else what waits."""

from __future__ import annotations

import contextlib
import json
import os
import select
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

from whyperf.collect._stacks import Reader
from whyperf.collect.architecture import this_architecture
from whyperf.collect.sampling.perf_samples import SamplesLost, ThreadEvents, ThreadForked, ThreadSample
from whyperf.collect.target.process_end import ProcessEnd
from whyperf.collect.usage.blocked import BlockedLosses, BlockedSampler, ThreadRef
from whyperf.errors import WhyperfError
from whyperf.recording.raw_log import ringrecords
from whyperf.recording.raw_log.chunks import ChunkKind
from whyperf.recording.raw_log.ringrecords import CUT_REASONS, ProcessOrigin

_DRAIN_EVERY_S = 0.05
_LOOK_EVERY_S = 1.0


@dataclass(frozen=True)
class AttachLosses:
    """What was recorded and what could not be."""

    samples: int = 0
    dropped: int = 0  # samples that the kernel had no room for
    cut: tuple[int, ...] = (0,) * len(CUT_REASONS)  # CPU samples by enum whyperf_cut
    perf_events: bool = True  # False: running threads could not be sampled at all
    kernel_time: bool = True  # False: time in the kernel is missing, perf_event_paranoid forbids it
    threads_missed: int = 0  # ended before they could be sampled, or too many for this user's limits
    children_not_followed: int = 0
    running_unseen: int = 0  # looks at running threads without perf events
    blocked: BlockedLosses | None = None

    def notes(self) -> list[str]:
        """Sentences for the report."""
        said = []
        if not self.perf_events:
            said.append(
                f"Running threads could not be sampled ({self.running_unseen} looks found one): perf events are not "
                "permitted (sudo sysctl kernel.perf_event_paranoid=2)."
            )
        elif not self.kernel_time:
            said.append(
                "CPU time inside the kernel is missing: perf_event_paranoid forbids it "
                "(sudo sysctl kernel.perf_event_paranoid=1)."
            )
        if self.threads_missed:
            said.append(f"{self.threads_missed} threads ended before they could be sampled, or were too many.")
        if self.children_not_followed:
            said.append(f"{self.children_not_followed} processes that it started are not in the recording.")
        return said


class AttachedSampler:
    """Records process `pid` from `start()` to `stop()`, through `append(kind, payload)` of the raw log.

    With `clock` "cpu" its threads are sampled `rate_hz` times per second of CPU time each; "wall" adds those that
    wait. The constructor raises WhyperfError where the process cannot be recorded. `ended(timeout_s)` waits for the
    process' own end; `new_log_file()` must be called when the log was rotated. `losses()` may be asked at any time.
    """

    def __init__(
        self,
        pid: int,
        tables: str | PathLike[str],
        append: Callable[[int, bytes], None],
        rate_hz: float = 200,
        clock: str = "cpu",
    ) -> None:
        self._pid = pid
        self._append = append
        self._period_ns = round(1e9 / rate_hz)
        self._reader = Reader(tables)
        _check(pid, self._reader)
        self._end = ProcessEnd(pid)
        self._sequence = 0
        self._refs: dict[int, ThreadRef] = {}
        self._events: dict[int, ThreadEvents] = {}
        self._missed: set[int] = set()
        self._children: set[int] = set()
        self._names: dict[int, str] = {}
        self._introduced: list[bytes] = []
        self._modules: set[tuple[object, ...]] = set()
        self._program: tuple[str, tuple[str, ...]] = ("", ())
        self._cut = [0] * len(CUT_REASONS)
        self._losses = AttachLosses()
        self._epoll = select.epoll()
        self._find_what_is_permitted()
        watch_blocked = clock == "wall" or not self._losses.perf_events
        self._blocked = BlockedSampler(tables, self._living, append, rate_hz) if watch_blocked else None
        self._guard = threading.Lock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._record, name="attached", daemon=True)

    def start(self) -> None:
        self._look()
        self._thread.start()
        if self._blocked is not None:
            self._blocked.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._blocked is not None:
            self._blocked.stop()
        if self._thread.ident is not None:
            self._thread.join()
        self._epoll.close()
        self._end.close()

    def ended(self, timeout_s: float = 0.0) -> bool:
        return self._end.has_come(timeout_s)

    def new_log_file(self) -> None:
        """Repeats what the log's next file needs to be readable alone."""
        with self._guard:
            for payload in self._introduced:
                self._append(ChunkKind.RING, payload)

    def losses(self) -> AttachLosses:
        blocked = self._blocked.losses() if self._blocked is not None else None
        running = blocked.running if blocked is not None and not self._losses.perf_events else 0
        return replace(
            self._losses,
            cut=tuple(self._cut),
            threads_missed=len(self._missed),
            children_not_followed=len(self._children),
            running_unseen=running,
            blocked=blocked,
        )

    def notes(self) -> list[str]:
        return self.losses().notes()

    def counters(self) -> dict[str, object]:
        losses = self.losses()
        return {"samples": losses.samples, "dropped": losses.dropped, "threads_without_slot": losses.threads_missed}

    def _find_what_is_permitted(self) -> None:
        for with_kernel in (True, False):
            with contextlib.suppress(OSError):
                ThreadEvents(self._pid, self._period_ns, with_kernel=with_kernel).close()
                self._losses = replace(self._losses, kernel_time=with_kernel)
                return
        self._losses = replace(self._losses, perf_events=False, kernel_time=False)

    def _living(self) -> Iterable[ThreadRef]:
        return list(self._refs.values())

    def _record(self) -> None:
        looked = time.monotonic()
        try:
            while not self._stopping.is_set():
                ready = [descriptor for descriptor, _ in self._epoll.poll(_DRAIN_EVERY_S)]
                self._stopping.wait(0.001 if ready else 0)  # a full ring must not make this loop spin
                if self._executes_another_program():
                    self._look()
                self._drain()
                self._rescan()
                if time.monotonic() - looked >= _LOOK_EVERY_S:
                    looked = time.monotonic()
                    self._look()
            self._drain()
            self._look()
        except OSError:
            self._stopping.set()  # the log takes nothing more, and its owner knows why
        for events in self._events.values():
            events.close()
        self._events.clear()

    def _rescan(self) -> None:
        """Threads come and go; one that has gone is drained once more by then."""
        try:
            present = {int(name) for name in os.listdir(f"/proc/{self._pid}/task")}  # noqa: PTH208
        except OSError:
            present = set()
        for tid in present - self._refs.keys():
            self._watch(tid)
        for tid in self._refs.keys() - present:
            del self._refs[tid]
            events = self._events.pop(tid, None)
            if events is not None:
                self._epoll.unregister(events.fileno())
                self._take(tid, events)
                events.close()

    def _watch(self, tid: int) -> None:
        self._sequence += 1
        self._refs[tid] = ThreadRef(self._pid, tid, self._sequence, time.monotonic_ns())
        if not self._losses.perf_events:
            return
        try:
            events = ThreadEvents(tid, self._period_ns, with_kernel=self._losses.kernel_time)
        except OSError:
            self._missed.add(tid)
            return
        self._events[tid] = events
        self._epoll.register(events.fileno(), select.EPOLLIN)

    def _drain(self) -> None:
        for tid, events in list(self._events.items()):
            self._take(tid, events)

    def _take(self, tid: int, events: ThreadEvents) -> None:
        records = bytearray()
        ref = self._refs.get(tid) or ThreadRef(self._pid, tid)
        for event in events.drain():
            match event:
                case ThreadSample():
                    records += self._unwound(event)
                case SamplesLost(count):
                    self._losses = replace(self._losses, dropped=self._losses.dropped + count)
                case ThreadForked(pid, child):
                    self._note_start(pid, child)
        if records:
            head = ringrecords.owner(ref.pid, ref.tid, ref.sequence, ref.start)
            self._append(ChunkKind.RING, head + bytes(records))
            self._losses = replace(self._losses, samples=sum(self._cut))

    def _unwound(self, sample: ThreadSample) -> bytes:
        try:
            pcs, cut = self._reader.unwind(self._pid, sample.registers, sample.stack, sample.stack_address)
        except OSError:  # the process is gone, and its mappings were never read again after an exec
            pcs, cut = [int.from_bytes(sample.registers[-8:], "little")], 1
        self._cut[cut] += 1
        return ringrecords.sample(sample.time, pcs, 1, cut)

    def _note_start(self, pid: int, tid: int) -> None:
        if pid != self._pid:
            self._children.add(pid)
        elif tid not in self._refs:
            self._watch(tid)

    def _look(self) -> None:
        """What changes rarely: threads' names, libraries, the program itself."""
        self._rescan()
        with contextlib.suppress(OSError):
            self._reader.refresh(self._pid)
        now = time.monotonic_ns()
        records = self._program_record(now) + self._module_records(now)
        main = self._refs.get(self._pid) or ThreadRef(self._pid, self._pid, 1, now)
        if records:
            payload = ringrecords.owner(main.pid, main.tid, main.sequence, main.start) + records
            with self._guard:
                self._introduced.append(payload)
                self._append(ChunkKind.RING, payload)
        for tid in self._refs:
            self._say_name(tid)

    def _executes_another_program(self) -> bool:
        try:
            return os.readlink(f"/proc/{self._pid}/exe") != self._program[0]  # noqa: PTH115
        except OSError:
            return False

    def _program_record(self, now: int) -> bytes:
        """The process, when first seen and after every exec."""
        try:
            executable = str(Path(f"/proc/{self._pid}/exe").readlink())
            words = Path(f"/proc/{self._pid}/cmdline").read_bytes().split(b"\0")[:-1]
        except OSError:
            return b""
        program = executable, tuple(os.fsdecode(word) for word in words)
        if program == self._program:
            return b""
        first = not self._program[0]
        self._program = program
        self._modules.clear()
        if not first:
            # A slot's sequence tells which program it belongs to.
            self._sequence += 1
            self._refs[self._pid] = ThreadRef(self._pid, self._pid, self._sequence, now)
        parent = _status(self._pid, "PPid")
        return ringrecords.process(
            now,
            self._pid,
            parent,
            ProcessOrigin.ATTACHED if first else ProcessOrigin.EXEC,
            executable=executable,
            arguments=program[1],
        )

    def _module_records(self, now: int) -> bytes:
        try:
            modules = self._reader.modules(self._pid)
        except OSError:
            return b""
        records = bytearray()
        for module in modules:
            if module not in self._modules:
                start, end, offset, bias, build_id, path, inode = module
                records += ringrecords.module(
                    now, start, end, bias=bias, path=path, build_id=build_id, file_offset=offset, inode=inode
                )
        self._modules.update(modules)
        return bytes(records)

    def _say_name(self, tid: int) -> None:
        try:
            name = Path(f"/proc/{self._pid}/task/{tid}/comm").read_text(errors="replace").rstrip("\n")
        except OSError:
            return
        if self._names.get(tid) != name:
            self._names[tid] = name
            said = {"type": "thread-name", "pid": self._pid, "tid": tid, "name": name}
            self._append(ChunkKind.JSON, json.dumps(said).encode())


def _status(pid: int, field: str) -> int:
    """A number of /proc/PID/status; 0 when it cannot be had."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1])
    return 0


def check_is_process(pid: int) -> int:
    """Its number again; 0 when there is no such process. A thread's number is a mistake worth a sentence."""
    group = _status(pid, "Tgid")
    if group and group != pid:
        raise WhyperfError(f"{pid} is a thread of process {group}.", f"whyperf record --pid {group}")
    return group


def no_such_process(pid: int) -> WhyperfError:
    return WhyperfError(f"There is no process {pid}.", "ps -e -o pid,args")


def _check(pid: int, reader: Reader) -> None:
    group = check_is_process(pid)
    try:
        modules = reader.modules(pid)
    except PermissionError:
        raise WhyperfError(
            f"Process {pid} may not be read: it belongs to another user, or this system restricts ptrace.",
            f"sudo whyperf record --pid {pid}",
        ) from None
    except ProcessLookupError:
        if not group:
            raise no_such_process(pid) from None
        raise WhyperfError(
            f"Process {pid} has no memory to look at: it has ended, or is the kernel's own.", "ps -e -o pid,args"
        ) from None
    if not modules:
        kind = this_architecture().name
        raise WhyperfError(f"Process {pid} runs no {kind} program that whyperf can look into.", f"file /proc/{pid}/exe")
