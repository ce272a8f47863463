"""A machine that runs small programs written in Python against it and records what a zoom would: for tests.

    machine = Machine()
    with machine.call("main"):
        limit = machine.constant(3, line=5)
        ...
    recording = machine.recording()

Sites are told apart by function, line and operation, so that two machines which run the same program have the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.engines import made
from tests.engines.relations.deep import deep_recording
from whyperf.recording.schemas.deep_tables import DependenceKind, MemoryUse, RegionKind, SiteKind


@dataclass(frozen=True)
class Value:
    value: int
    event: int


@dataclass
class Code:
    """Addresses of instructions: one build."""

    build: str = "aa"
    file: str = "/src/tool.c"
    text: str = ""
    offsets: dict[tuple[str, int, str], int] = field(default_factory=dict)

    def offset(self, function: str, line: int, operation: str) -> int:
        return self.offsets.setdefault((function, line, operation), 0x1000 + 4 * len(self.offsets))


SAME = Code()
HEADER = "/usr/include/c++/12/bits/stl_algo.h"

_KIND = {"branch": SiteKind.BRANCH, "call": SiteKind.CALL, "return": SiteKind.RETURN}
_MEMORY = {"load": MemoryUse.READS, "store": MemoryUse.WRITES, "update": MemoryUse.READS | MemoryUse.WRITES}


class Machine:
    def __init__(self, code: Code | None = None) -> None:
        self.code = code or SAME
        self.memory: dict[Any, Value] = {}
        self._functions: dict[str, int] = {}
        self._sites: dict[tuple[str, int, str], int] = {}
        self._site_rows: list[dict[str, Any]] = []
        self._executions: list[dict[str, Any]] = []
        self._inputs: list[dict[str, Any]] = []
        self._regions: list[dict[str, Any]] = []
        self._updates: list[dict[str, Any]] = []
        self._stack: list[int] = []
        self._names: list[str] = []
        self._frames: list[dict[str, Any]] = []
        self._inlined: tuple[str, int] | None = None
        self._last_branch = -1
        self._open("", RegionKind.THREAD, -1)

    # Instructions

    def constant(self, value: int, *, line: int) -> Value:
        return Value(value, self._execute(line, "constant", (), ()))

    def compute(self, value: int, *inputs: Value, line: int) -> Value:
        return Value(value, self._execute(line, "compute", inputs, ()))

    def store(self, address: Any, value: Value, *, line: int) -> None:
        self.memory[address] = Value(value.value, self._execute(line, "store", (value,), ()))

    def load(self, address: Any, *, line: int) -> Value:
        stored = self.memory.get(address)
        event = self._execute(line, "load", (), (stored,) if stored else ())
        return Value(stored.value if stored else 0, event)

    def update(self, address: Any, by: int, *, line: int, watched: bool = False) -> None:
        """`counter += by`: the old value is no value input."""
        old = self.memory.get(address, Value(0, -1))
        event = self._execute(line, "update", (), ())
        if old.event >= 0:
            self._inputs.append({"producer": old.event, "kind": DependenceKind.OLD})
        self.memory[address] = Value(old.value + by, event)
        if watched:
            self._updates.append({"execution": event, "amount": by})

    def test(self, *inputs: Value, line: int) -> int:
        self._last_branch = self._execute(line, "branch", inputs, ())
        return self._last_branch

    # Regions

    @contextmanager
    def call(self, function: str, *, line: int = 0) -> Iterator[None]:
        opener = self._execute(line, "call", (), ()) if self._names else -1
        self._names.append(function)
        self._open(function, RegionKind.ACTIVATION, opener, self._site(1, "entry"))
        self._execute(1, "entry", (), ())
        yield
        self._execute(2, "return", (), ())
        self._names.pop()
        self._stack.pop()

    @contextmanager
    def inlined(self, function: str, *, line: int) -> Iterator[None]:
        """What follows is code of a system header's function, inlined at this line."""
        self._inlined = function, line
        yield
        self._inlined = None

    @contextmanager
    def arm(self, test: int, *, line: int) -> Iterator[None]:
        self._open("", RegionKind.ARM, test, self._executions[test]["site"], self._site(line, "arm"))
        self._execute(line, "arm", (), ())
        yield
        self._stack.pop()

    @contextmanager
    def loop(self, *limits: Value, line: int) -> Iterator[Loop]:
        """Tested at the bottom of each iteration, by comparing `limits`."""
        self._open("", RegionKind.LOOP, -1, self._site(line, "header"))
        yield Loop(self, limits, line)
        self._stack.pop()

    def rounds(self, times: int, *limits: Value, line: int) -> Iterator[int]:
        """A loop's iterations."""
        with self.loop(*limits, line=line) as loop:
            for number in range(times):
                with loop.iteration():
                    yield number

    def recording(self) -> made.Made:
        rows = {
            "functions": [
                {
                    "function": number,
                    "module": 0,
                    "name": name,
                    "file": HEADER if name.startswith("std::") else self.code.file,
                    "line": 1,
                    "order": 0,
                    "inlined": name.startswith("std::"),
                    "sampled": False,
                }
                for name, number in self._functions.items()
            ],
            "modules": [
                {
                    "module": 0,
                    "name": "tool",
                    "path": "/bin/tool",
                    "build_id": self.code.build,
                    "origin": "program",
                    "debug": "full",
                }
            ],
            "source": [{"file": self.code.file, "first_line": 1, "text": self.code.text, "sha256": ""}],
            "sites": self._site_rows,
            "frames": self._frames,
            "regions": self._counted(),
            "executions": self._executions,
            "dependences": self._inputs,
            "updates": self._updates,
        }
        return deep_recording(rows)

    def _counted(self) -> list[dict[str, Any]]:
        inside = [0] * len(self._regions)
        for execution in self._executions:
            inside[execution["region"]] += 1
        for row in reversed(self._regions):
            if row["parent"] >= 0:
                inside[row["parent"]] += inside[row["region"]]
        return [
            {**row, "instructions": inside[row["region"]] if row["kind"] == RegionKind.ACTIVATION else 0}
            for row in self._regions
        ]

    def _execute(self, line: int, operation: str, registers: tuple[Value, ...], memory: tuple[Value, ...]) -> int:
        event = len(self._executions)
        row = {"site": self._site(line, operation), "region": self._stack[-1], "joined": False}
        self._executions.append({**row, "dependences": len(self._inputs)})
        self._inputs += [{"producer": value.event, "kind": DependenceKind.REGISTER} for value in registers]
        self._inputs += [{"producer": value.event, "kind": DependenceKind.MEMORY} for value in memory]
        return event

    def _open(self, name: str, kind: RegionKind, opener: int, site: int = -1, arm: int = -1) -> None:
        number = len(self._regions)
        self._regions.append(
            {
                "region": number,
                "parent": self._stack[-1] if self._stack else -1,
                "kind": kind,
                "site": site,
                "arm": arm,
                "number": -1,
                "opener": opener,
                "thread": -1,
                "first": len(self._executions),
            }
        )
        self._stack.append(number)

    def _site(self, line: int, operation: str) -> int:
        key = self._names[-1], line, operation
        if key not in self._sites:
            self._sites[key] = len(self._site_rows)
            function = self._function(key[0])
            within = self._inlined and self._function(self._inlined[0])
            self._site_rows.append(
                {
                    "site": self._sites[key],
                    "module": 0,
                    "offset": self.code.offset(*key),
                    "function": function,
                    "inlined": function if within is None else within,
                    "file": self.code.file if within is None else HEADER,
                    "line": line,
                    "frame": self._frame(function, within, line),
                    "block": line,
                    "kind": _KIND.get(operation, SiteKind.PLAIN),
                    "entry": operation == "entry",
                    "copy": operation in ("load", "store"),
                    "memory": _MEMORY.get(operation, 0),
                    "loop": -1,
                    "join": -1,
                    "callee": -1,
                }
            )
        return self._sites[key]

    def _function(self, name: str) -> int:
        return self._functions.setdefault(name, len(self._functions))

    def _frame(self, function: int, within: int | None, line: int) -> int:
        """The innermost frame's row."""
        at = line if self._inlined is None else self._inlined[1]
        chain = [(function, self.code.file, at)] + ([] if within is None else [(within, HEADER, line)])
        for number, (of, file, in_line) in enumerate(reversed(chain)):
            row = {"module": 0, "offset": 0, "function": of, "file": file, "line": in_line, "block": -1, "in_loop": -1}
            outer = len(self._frames) + 1 if number + 1 < len(chain) else -1
            self._frames.append({"frame": len(self._frames), **row, "inlined_in": outer})
        return len(self._frames) - len(chain)


@dataclass(frozen=True)
class Loop:
    machine: Machine
    limits: tuple[Value, ...]
    line: int

    @contextmanager
    def iteration(self) -> Iterator[None]:
        machine = self.machine
        machine._open("", RegionKind.ITERATION, machine._last_branch, machine._site(self.line, "header"))
        machine._execute(self.line, "header", (), ())
        yield
        machine.test(*self.limits, line=self.line)
        machine._stack.pop()
