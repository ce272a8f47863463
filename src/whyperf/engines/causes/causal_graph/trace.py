"""A traced recording as columns, with names for its stacks and threads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

import numpy as np

from whyperf.engines.arrays import Bools, Bytes, Int32s, Ints, Words
from whyperf.engines.causes.causal_graph.stacks import StackNames
from whyperf.engines.kernel.rules import Rules
from whyperf.engines.recording_protocol import Recorded, columns_of
from whyperf.engines.run import ints, texts
from whyperf.errors import WhyperfError
from whyperf.recording.schemas.events import EventKind
from whyperf.recording.sealed.manifest import Manifest, TaskQueue

_COLUMNS = (
    "time", "thread", "kind", "context", "detail", "other", "object", "peer", "argument1", "result", "extra", "stack",
    "cut",
)  # fmt: skip
_KTHREADD = 2  # the process that starts the kernel's threads


@dataclass(frozen=True)
class TraceEvents:
    """Columns of the table `events`, in time order."""

    time: Ints
    thread: Int32s
    kind: Bytes
    context: Bytes
    call: Int32s  # column `detail`
    other: Int32s
    object: Words
    peer: Words
    argument1: Words
    result: Ints
    extra: Words
    site: Int32s
    """The innermost stack node outside the kernel."""
    cut: Bytes
    """Why the stack ends early; 0: it is whole."""

    def __len__(self) -> int:
        return len(self.time)


@dataclass(frozen=True)
class EventThread:
    tid: int
    pid: int
    name: str
    process: int
    file: str  # the program's name
    program: str  # of an interpreter with its script, as shown
    main: bool

    @property
    def label(self) -> str:
        return self.program if self.main else f"{self.program}/{self.name}"


class EventTrace:
    """One recording's events."""

    def __init__(self, recording: Recorded, rules: Rules) -> None:
        self.path: Path = recording.path
        self.manifest: Manifest = recording.manifest
        self.rules = rules
        self.recording = recording
        self.stacks = StackNames(recording)

    @cached_property
    def events(self) -> TraceEvents:
        held = columns_of(self.recording, "events", _COLUMNS)
        if not held or not len(held["time"]):
            raise WhyperfError(
                f"{self.path} holds no kernel events: what threads waited for is not in it.",
                "whyperf record --trace -o NAME -- COMMAND",
            )
        return TraceEvents(call=held.pop("detail"), site=self.stacks.outside_kernel[held.pop("stack")], **held)

    @property
    def start(self) -> int:
        return int(self.events.time[0])

    @property
    def end(self) -> int:
        return int(self.events.time[-1])

    @cached_property
    def queues(self) -> tuple[TaskQueue, ...]:
        """Whose tasks were recorded, by the number that events have; more than that are nobody's."""
        events = self.events
        tasks = events.call[(events.kind == EventKind.TASK_PUT) | (events.kind == EventKind.TASK_RUN)]
        told = self.manifest.trace.queues if self.manifest.trace is not None else ()
        untold = int(tasks.max(initial=-1)) + 1 - len(told)
        return (*told, *[TaskQueue("queue", "weak")] * untold)

    @cached_property
    def threads(self) -> list[EventThread]:
        table, processes = self.recording.table("threads"), self.recording.table("processes")
        pids = ints(processes, "pid")
        names = dict(zip(ints(table, "tid"), texts(table, "name"), strict=True))
        programs = [
            self._names(executable, command or [], names.get(pid, ""))
            for pid, executable, command in zip(
                pids, texts(processes, "executable"), processes.column("command").to_pylist(), strict=True
            )
        ]
        found = []
        for process, tid, name in zip(ints(table, "process"), ints(table, "tid"), texts(table, "name"), strict=True):
            pid = pids[process] if process >= 0 else 0
            file, program = programs[process] if process >= 0 else ("", "")
            found.append(EventThread(tid, pid, name, process, file or name, program or name, tid == pid))
        return found

    @cached_property
    def followed(self) -> Bools:
        """By thread: whether it belongs to what was recorded, rather than to what that talks to, or to the kernel."""
        processes = self.recording.table("processes")
        program = [
            origin != "met" and bool(executable)
            for origin, executable in zip(texts(processes, "origin"), texts(processes, "executable"), strict=True)
        ]
        return np.array([one.process >= 0 and program[one.process] for one in self.threads], np.bool_)

    @cached_property
    def of_kernel(self) -> Bools:
        """By thread: whether it is one of the kernel's own, such as ksoftirqd."""
        processes = self.recording.table("processes")
        pids, parents = ints(processes, "pid"), ints(processes, "parent_pid")
        # In a name space of processes, an ordinary program has that number; threads of the kernel run no file.
        started = [
            _KTHREADD in (pid, parent) and not executable
            for pid, parent, executable in zip(pids, parents, texts(processes, "executable"), strict=True)
        ]
        return np.array([one.process >= 0 and started[one.process] for one in self.threads], np.bool_)

    @cached_property
    def witnessed(self) -> Bools:
        """By thread: whether enough of it was recorded to say what it did. Of threads that merely took turns with a
        followed one on a CPU only those switches are known."""
        acted = np.zeros(len(self.threads) + 1, np.bool_)
        acted[self.events.thread[self.events.kind == EventKind.SYSCALL]] = True
        return self.followed | acted[:-1]

    @cached_property
    def pids(self) -> Int32s:
        """By thread."""
        return np.array([thread.pid for thread in self.threads], np.int32)

    @cached_property
    def thread_of_tid(self) -> dict[int, int]:
        """The last thread that had the number: numbers are taken again only when they run out."""
        return {thread.tid: number for number, thread in enumerate(self.threads)}

    def _names(self, executable: str, command: list[str], main_thread: str) -> tuple[str, str]:
        """As it was called, since one file may be several programs (redis-server is redis-check-rdb); else the file's
        name. The second one: of an interpreter with the script that it runs."""
        called = PurePosixPath(command[0].split(" ")[0]).name.rstrip(":") if command else ""
        file = PurePosixPath(executable.removesuffix(" (deleted)")).name
        name = called if main_thread and called[: len(main_thread)] == main_thread else file
        if name.rstrip("0123456789.") not in self.rules.interpreters:
            return name, name
        scripts = [word for word in command[1:] if not word.startswith("-")]
        return name, f"{name} {PurePosixPath(scripts[0]).name}" if scripts and len(scripts[0]) < 200 else name
