"""An open recording, written as the recorder would leave it, and binaries that exist only for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.collect.ring_producer import Rings, Thread
from whyperf.collect._session import Drainer
from whyperf.collect.setup.start import start_of, write_start
from whyperf.debuginfo.control_flow.decisions import DecidingLine
from whyperf.debuginfo.control_flow.tail_jumps import Calls, Jumps
from whyperf.recording.raw_log import ringrecords
from whyperf.recording.raw_log.log_writer import RawLogWriter
from whyperf.recording.sealed.manifest import Sampling
from whyperf.recording.sealed.reader import Recording
from whyperf.seal.opening import seal


class OpenRecording:
    """`rec.thread(...)` produces into rings, `rec.drain()` is the recorder at work, `rec.log` its log."""

    def __init__(self, path: Path, *, max_bytes: int = 0, skip_ns: int = 0, start: int = 100) -> None:
        self.path = path
        self.raw = path / "raw"
        self.raw.mkdir(parents=True)
        (self.raw / "lock").touch()
        known = start_of(("./tool", "x"), {"HOME": ""}, Sampling(200.0, "cpu", "cpu-timer"), "run", skip_ns)
        object.__setattr__(known, "start_monotonic", start)
        write_start(self.raw, known)
        self.rings = Rings(self.raw / "rings")
        self.log = RawLogWriter(self.raw, max_bytes)
        self.drainer = Drainer(self.rings.path)
        self._slots = 0

    def thread(self, pid: int, tid: int | None = None, start: int = 1) -> Thread:
        self._slots += 1
        return self.rings.take(self._slots - 1, pid, tid or pid, start)

    def drain(self) -> None:
        self.drainer.drain(self.log.fileno())
        if self.log.rotate():
            self.drainer.new_log_file()

    def outside(self, pid: int, tid: int, *records: bytes) -> None:
        """Records of a thread that has no slot, seen from outside."""
        self.log.append(3, ringrecords.owner(pid, tid) + b"".join(records))

    def stop(self, time: int = 10_000, **more: Any) -> None:
        self.drain()
        said = {"type": "stop", "time": time, "exit_status": 0, "exit_signal": None, "stopped_by": "exit"}
        self.log.append_json({**said, "recorder_cpu_s": 0.5, **more})
        self.log.close()

    def sealed(self, symbols: FakeSymbols | None = None) -> Recording:
        return seal(self.path, symbols=symbols or FakeSymbols())


@dataclass(frozen=True)
class FakeFunctions:
    names: Sequence[str]
    files: Sequence[str]
    lines: npt.NDArray[np.int32]
    order: npt.NDArray[np.int32]
    inlined: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class FakePlaces:
    start: npt.NDArray[np.int32]
    function: npt.NDArray[np.int32]
    file: npt.NDArray[np.int32]
    files: Sequence[str]
    line: npt.NDArray[np.int32]


@dataclass(frozen=True)
class FakeBinary:
    """Functions [low, high) by name; the address's distance from `low` is its line. `inlines` adds inner chains."""

    spans: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    inlines: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    debug: str = "full"
    file: str = "/src/fake.c"

    @property
    def _all(self) -> list[str]:
        return [*self.spans, *dict.fromkeys(name for chain in self.inlines.values() for name in chain)]

    @property
    def functions(self) -> FakeFunctions:
        count = len(self._all)
        return FakeFunctions(
            self._all,
            [self.file] * count,
            np.arange(count, dtype=np.int32) + 1,
            np.zeros(count, np.int32),
            np.array([name not in self.spans for name in self._all], bool),
        )

    def chain(self, address: int) -> list[tuple[str, int]]:
        for name, (low, high) in self.spans.items():
            if low <= address < high:
                return [*((inner, 7) for inner in self.inlines.get(address, ())), (name, address - low + 1)]
        return []

    def resolve(self, addresses: npt.NDArray[np.uint64]) -> FakePlaces:
        chains = [self.chain(int(address)) for address in addresses]
        flat = [entry for chain in chains for entry in chain]
        return FakePlaces(
            np.cumsum([0] + [len(chain) for chain in chains]).astype(np.int32),
            np.array([self._all.index(name) for name, _ in flat], np.int32),
            np.zeros(len(flat), np.int32),
            [self.file],
            np.array([line for _, line in flat], np.int32),
        )

    def block_of(self, addresses: npt.NDArray[np.uint64]) -> npt.NDArray[np.int32]:
        return (addresses // np.uint64(16)).astype(np.int32)

    def in_loop(self, addresses: npt.NDArray[np.uint64]) -> list[int]:
        return [0 for address in addresses for _ in self.chain(int(address))]


class FakePerfMap:
    def __init__(self, names: Mapping[int, str]) -> None:
        self._names = names

    def resolve(self, addresses: npt.NDArray[np.uint64]) -> list[str | None]:
        return [self._names.get(int(address)) for address in addresses]


@dataclass(frozen=True)
class FakeFingerprints:
    """Every function's number is its code."""

    function: npt.NDArray[np.int32]

    @property
    def code(self) -> npt.NDArray[np.uint64]:
        return self.function.astype(np.uint64)


class FakeSymbols:
    def __init__(
        self, binaries: Mapping[str, FakeBinary] | None = None, jit: Mapping[int, Mapping[int, str]] | None = None
    ) -> None:
        self._binaries = binaries or {}
        self._jit = jit or {}

    def describe(self, path: str, build_id: str) -> FakeBinary:
        return self._binaries.get(path, FakeBinary(debug="none"))

    def passed_calls(self, path: str, build_id: str, addresses: object) -> set[tuple[int, int]]:
        return set()

    def tail_jumps(self, files: object, calls: Calls, reached_by_name: object) -> list[Jumps]:
        return [()] * len(calls.file)

    def deciding_lines(self, path: str, build_id: str, addresses: npt.NDArray[np.uint64]) -> list[list[DecidingLine]]:
        """A thousand lines further on, which tells the functions at an address apart."""
        binary = self.describe(path, build_id)
        return [
            [DecidingLine(line + 1000, False, False) for _, line in binary.chain(int(address))] for address in addresses
        ]

    def fingerprints(self, path: str, build_id: str, functions: npt.NDArray[np.int32]) -> FakeFingerprints:
        return FakeFingerprints(functions)

    def perf_map(self, pid: int) -> FakePerfMap | None:
        return FakePerfMap(self._jit[pid]) if pid in self._jit else None


def paths(recording: Recording) -> list[tuple[str, ...]]:
    """Each sample's stack by name, innermost first, inlined functions in brackets, module!? where unnamed."""
    frames = recording.table("frames").to_pylist()
    functions = recording.table("functions").column("name").to_pylist()
    modules = recording.table("modules").column("name").to_pylist()
    parent = recording.table("stacks").column("parent").to_pylist()
    node_frame = recording.table("stacks").column("frame").to_pylist()

    def name(row: int) -> str:
        frame = frames[row]
        if frame["function"] >= 0:
            plain = str(functions[frame["function"]])
        else:
            plain = f"{modules[frame['module']]}!?" if frame["module"] >= 0 else "?"
        return f"[{plain}]" + name(frame["inlined_in"]) if frame["inlined_in"] >= 0 else plain

    def path(node: int) -> tuple[str, ...]:
        return () if node < 0 else (name(node_frame[node]), *path(parent[node]))

    return [path(node) for node in recording.table("samples").column("stack").to_pylist()]
