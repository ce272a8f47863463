"""Traced recordings made from little stories, for tests: as sealed ones look to the engine.

A thread's story is a list of steps: `ran("main f", 3)` ran for 3 ms in that context, `waited("main f libc:usleep
kernel:schedule", 5)` was off the CPU. Words are as in `tests.engines.made`, with `kernel:` and `plug:` besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from tests.engines import made
from tests.engines.made import Made
from whyperf.recording.names.system_calls import NUMBERS
from whyperf.recording.schemas.events import EventKind, InterruptContext
from whyperf.recording.schemas.tables import table_named
from whyperf.recording.sealed.manifest import TraceSummary, Window

MS = 1_000_000
SLEEPING, RUNNABLE, UNINTERRUPTIBLE = 1, 0, 2
TIMER, DISK = InterruptContext.HRTIMER, InterruptContext.BLOCK_SOFTIRQ
SOCKET, FILE, PIPE = 0xC << 60, 0x8 << 60, 0x1 << 60


@dataclass(frozen=True)
class Ran:
    stack: tuple[str, ...]
    ms: float


@dataclass(frozen=True)
class Waited:
    stack: tuple[str, ...]
    ms: float
    call: str = ""
    state: int = SLEEPING
    waker: int = -1  # thread of the story
    context: int = 0
    object: int = 0
    peer: int = 0
    argument1: int = 0
    late_ms: float = 0.0  # runnable after being woken, part of `ms`
    result: int = 0  # of the system call
    cut_to: tuple[str, ...] = ()  # all that could be told of the stack on leaving the CPU


Step = Ran | Waited


def ran(stack: str, ms: float) -> Ran:
    return Ran(tuple(stack.split()), ms)


def waited(stack: str, ms: float, call: str = "", **more: Any) -> Waited:
    return Waited(tuple(stack.split()), ms, call, **more)


def slept(stack: str, ms: float) -> Waited:
    return waited(f"{stack} libc:clock_nanosleep kernel:hrtimer_nanosleep", ms, "clock_nanosleep", context=TIMER)


@dataclass(frozen=True)
class Thread:
    steps: Sequence[Step]
    process: int = 0
    main: bool = False
    start_ms: float = 0.0


@dataclass(frozen=True)
class Process:
    name: str = "tool"
    origin: str = "exec"


def traced(
    threads: Sequence[Thread],
    *,
    processes: Sequence[Process] = (Process(),),
    sample_ms: float = 10.0,
    syscall_stacks: bool = True,
    samples: bool = True,
    scope: str = "tree",
    offset_ms: float = 3.0,
    window: Window | None = None,
    **more: Any,
) -> Made:
    """Each thread has a CPU to itself; clock samples come every `sample_ms` of its running time."""
    builder = made._Builder("tool", "/src", "full", {})
    builder.module("")
    rows: list[dict[str, Any]] = []
    for number, thread in enumerate(threads):
        rows += _events(builder, number, thread, sample_ms if samples else 0.0, offset_ms, syscall_stacks)
    rows.sort(key=lambda row: row["time"])
    end = max((row["time"] for row in rows), default=0)
    wall_s = more.pop("wall_s", end / 1e9)
    base = made.recording([], wall_s=wall_s, cpu_s=more.pop("cpu_s", _running_s(threads)), **more)
    tables = dict(base.tables)
    pids = {number: 100 + number for number in range(len(processes))}
    replaced = {
        "events": rows,
        "stacks": builder.stacks,
        "frames": builder.frames,
        "functions": builder.functions,
        "modules": builder.modules,
        "processes": [
            {
                "process": number, "pid": pids[number], "parent_pid": 1, "start": number, "origin": process.origin,
                "executable": f"/src/{process.name}", "command": [process.name],
            }
            for number, process in enumerate(processes)
        ],
        "threads": [
            {
                "thread": number, "process": thread.process, "name": f"thread {number}", "start": 0, "cpu": -1,
                "tid": pids[thread.process] if thread.main else 1000 + number,
            }
            for number, thread in enumerate(threads)
        ],
    }  # fmt: skip
    for name, given in replaced.items():
        if given:
            known = pa.schema([field for field in table_named(name).schema if field.name in given[0]])
            tables[name] = table_named(name).completed(pa.Table.from_pylist(given, schema=known))
    manifest = replace(
        base.manifest, window=window or Window(0, end), trace=TraceSummary("bpf", scope, 1000 / sample_ms)
    )
    return Made(base.path, manifest, tables)


def _running_s(threads: Sequence[Thread]) -> float:
    return sum(step.ms for thread in threads for step in thread.steps if isinstance(step, Ran)) / 1e3


def _events(
    builder: Any, number: int, thread: Thread, sample_ms: float, offset_ms: float, syscall_stacks: bool
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    now, until_sample = thread.start_ms, offset_ms
    for step in thread.steps:
        stack = builder.stack(step.stack)
        if isinstance(step, Ran):
            left = step.ms
            while sample_ms and left >= until_sample:
                now += until_sample
                left -= until_sample
                until_sample = sample_ms
                weight = round(sample_ms * MS)
                rows.append(_row(now, number, EventKind.SAMPLE, stack=stack, argument0=weight))
            until_sample -= left
            now += left
            continue
        call = NUMBERS[step.call] if step.call else -1
        about = {"detail": call, "object": step.object, "peer": step.peer, "argument1": step.argument1}
        leaving = {"stack": builder.stack(step.cut_to), "cut": 1} if step.cut_to else {"stack": stack}
        rows.append(_row(now, number, EventKind.SWITCH, result=step.state, **leaving, **about))
        if step.state:
            woken = now + step.ms - step.late_ms
            rows.append(_row(woken, step.waker, EventKind.WAKING, other=number, context=step.context))
        now += step.ms
        rows.append(_row(now, -1, EventKind.SWITCH, other=number))
        if step.call:
            user = builder.stack([word for word in step.stack if not word.startswith("kernel:")])
            known = user if syscall_stacks else -1
            rows.append(_row(now, number, EventKind.SYSCALL, stack=known, result=step.result, **about))
    rows.append(_row(now, number, EventKind.EXIT))
    return rows


def _row(time_ms: float, thread: int, kind: EventKind, **columns: Any) -> dict[str, Any]:
    usual = {
        "cpu": 0, "context": 0, "detail": -1, "other": -1, "object": 0, "peer": 0, "argument0": 0, "argument1": 0,
        "argument2": 0, "result": 0, "extra": 0, "stack": -1, "cut": 0,
    }  # fmt: skip
    return {"time": round(time_ms * MS), "thread": thread, "kind": kind, **usual, **columns}
