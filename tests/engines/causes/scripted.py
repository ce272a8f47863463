"""Recordings of kernel events written by hand, for tests.

A script names threads and says what each did, in milliseconds; events are sorted by time when the recording is made.
Stacks are words as in `tests.engines.made`, innermost last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.engines.made import Made, _Builder, recording
from whyperf.recording.names.system_calls import NUMBERS
from whyperf.recording.schemas.events import EVENTS, EventKind
from whyperf.recording.schemas.tables import table_named
from whyperf.recording.sealed.manifest import TraceSummary

MS = 1_000_000
PIPE, SOCKET, FILE = 0x1 << 60, 0xC << 60, 0x8 << 60
HRTIMER = 2
ASLEEP = 1


def socket(inode: int, peer: int) -> dict[str, int]:
    """A unix socket and its other end."""
    return {"object": SOCKET | inode, "peer": SOCKET | peer}


@dataclass
class Script:
    """Threads are named `program` or `program/thread`; a program is a process, one in brackets the kernel's."""

    events: list[dict[str, Any]] = field(default_factory=list)
    threads: list[str] = field(default_factory=list)
    built: _Builder = field(default_factory=lambda: _Builder("tool", "/src", "full", {}))

    def __post_init__(self) -> None:
        self.built.module("")

    def thread(self, name: str) -> int:
        if name not in self.threads:
            program = name.partition("/")[0]
            if program != name:
                self.thread(program)
            self.threads.append(name)
        return self.threads.index(name)

    def add(self, at: float, who: str, kind: EventKind, stack: Sequence[str] = (), **more: Any) -> None:
        row = {column.name: 0 for column in EVENTS.columns} | {"detail": -1, "other": -1}
        call = more.pop("call", None)
        other = more.pop("other", None)
        row |= {
            "time": round(at * MS),
            "thread": self.thread(who) if who else -1,
            "kind": int(kind),
            "stack": self.built.stack(stack) if stack else -1,
            **({"detail": NUMBERS[call]} if call else {}),
            **({"other": self.thread(other)} if other else {}),
            **more,
        }
        self.events.append(row)

    def asleep(
        self, who: str, begin: float, end: float | None, call: str, stack: Sequence[str], *, by: str = "", **more: Any
    ) -> None:
        """`by`: the thread that wakes it, "timer", or nobody. What the waker does is in `waker_...`."""
        waker = {key.removeprefix("waker_"): more.pop(key) for key in list(more) if key.startswith("waker_")}
        result = more.pop("returns", None)
        self.add(begin, who, EventKind.SWITCH, stack, call=call, result=ASLEEP, **more)
        if end is None:
            return
        if by == "timer":
            self.add(end, "", EventKind.WAKING, other=who, context=HRTIMER)
        elif by:
            self.add(end, by, EventKind.WAKING, waker.pop("stack", ()), other=who, **waker)
        self.add(end + 0.01, "", EventKind.SWITCH, other=who)
        if result is not None:
            self.add(end + 0.02, who, EventKind.SYSCALL, stack, call=call, result=result, **more)

    def busy(self, who: str, begin: float, end: float, stack: Sequence[str]) -> None:
        """On a CPU, seen every 5 ms."""
        at = begin
        while at < end:
            self.add(at, who, EventKind.SAMPLE, stack, argument0=5 * MS)
            at += 5

    def did(self, who: str, at: float, call: str, result: int, stack: Sequence[str] = ("main",), **more: Any) -> None:
        self.add(at, who, EventKind.SYSCALL, stack, call=call, result=result, **more)

    def made(self, path: str = "run.whyperf") -> Made:
        empty = recording([], path=path)
        rows = sorted(self.events, key=lambda row: row["time"])
        programs = sorted({name.partition("/")[0] for name in self.threads})
        pids = {program: 100 * (number + 1) for number, program in enumerate(programs)}
        processes = [
            {
                "process": number,
                "pid": pids[program],
                "parent_pid": 2 if program.startswith(("[", "contained")) else 1,
                "start": 0,
                "origin": "exec",
                "executable": "" if program.startswith("[") else f"/usr/bin/{program}",
                "command": [program],
            }
            for number, program in enumerate(programs)
        ]
        threads = []
        for number, name in enumerate(self.threads):
            program, _, thread = name.partition("/")
            tid = pids[program] + (number + 1 if thread else 0)
            threads.append(
                {
                    "thread": number,
                    "process": programs.index(program),
                    "tid": tid,
                    "name": thread or program,
                    "start": 0,
                    "cpu": -1,
                }
            )
        tables: Mapping[str, list[dict[str, Any]]] = {
            "events": rows,
            "processes": processes,
            "threads": threads,
            "modules": self.built.modules,
            "functions": self.built.functions,
            "frames": self.built.frames,
            "stacks": self.built.stacks,
        }
        made = dict(empty.tables)
        for name, content in tables.items():
            schema = table_named(name).schema
            full = [{**_absent(name), **row} for row in content]
            made[name] = pa.Table.from_pylist(full, schema=schema)
        manifest = replace(empty.manifest, trace=TraceSummary("bpf", "all", 49.0))
        return Made(Path(path), manifest, made)


def _absent(table: str) -> dict[str, Any]:
    """What columns hold that a script does not speak of."""
    empty: dict[Any, Any] = {pa.string(): "", pa.bool_(): False}
    return {column.name: empty[column.type] for column in table_named(table).columns if column.type in empty}
