"""Runs real programs under the preloaded sampler and decodes what they left in the rings."""

from __future__ import annotations

import os
import struct
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from tests.patience import PATIENCE_S
from whyperf.collect import _session
from whyperf.collect.sampling.sampler import LIBRARY
from whyperf.debuginfo.elf_files.elf import read_elf
from whyperf.debuginfo.variable_tables.making import write_table
from whyperf.recording.raw_log.chunks import ChunkKind, ChunkReader

PROCESS, MODULE, MODULE_GONE, UNFOLLOWED, THREAD_END, GLOBALS = 2, 3, 4, 5, 6, 8
EXEC, FORK = 1, 2
UNFOLLOWED_STATIC, UNFOLLOWED_OTHER_LIBC, UNFOLLOWED_OTHER_ARCHITECTURE, UNFOLLOWED_SETUID = 1, 2, 3, 4
UNFOLLOWED_UNREACHABLE, UNFOLLOWED_SECCOMP = 5, 6


@dataclass(frozen=True)
class Module:
    start: int
    end: int
    bias: int
    path: str


@dataclass(frozen=True)
class Process:
    pid: int
    parent: int
    origin: int
    executable: str
    arguments: tuple[str, ...]


@dataclass
class Outcome:
    """What a program printed, how it ended, and what the sampler saw of it."""

    status: int
    output: str
    counters: _session.Counters
    processes: list[Process] = field(default_factory=list)
    unfollowed: list[tuple[int, str]] = field(default_factory=list)
    modules: dict[int, list[Module]] = field(default_factory=dict)
    notes: list[tuple[int, bytes]] = field(default_factory=list)  # kind and payload of every record but samples
    samples: list[tuple[int, int, int, tuple[int, ...]]] = field(default_factory=list)  # pid, tid, weight, pcs

    def named_stacks(self, binary: Path) -> list[list[str]]:
        """Stacks innermost first, addresses of `binary` as its symbols' names, others as file names."""
        symbols = _function_symbols(binary)
        return [
            [self._name(pid, pc, i, binary, symbols) for i, pc in enumerate(pcs)] for pid, _, _, pcs in self.samples
        ]

    def _name(self, pid: int, pc: int, depth: int, binary: Path, symbols: Sequence[tuple[int, int, str]]) -> str:
        parents = {p.pid: p.parent for p in self.processes if p.origin == FORK}
        while pid not in self.modules and pid in parents:
            pid = parents[pid]
        for module in self.modules.get(pid, ()):
            if module.start <= pc < module.end:
                if Path(module.path).name != binary.name:
                    return Path(module.path).name
                address = pc - module.bias - (depth > 0)
                return next((name for start, size, name in symbols if start <= address < start + size), hex(address))
        return "?"


def _function_symbols(binary: Path) -> list[tuple[int, int, str]]:
    listing = subprocess.run(["nm", "-S", "--defined-only", binary], capture_output=True, text=True, check=True).stdout
    rows = (line.split() for line in listing.splitlines())
    return [(int(row[0], 16), int(row[1], 16), row[3]) for row in rows if len(row) == 4 and row[2] in "tT"]


@pytest.fixture
def compiled(tmp_path: Path) -> Callable[..., Path]:
    def compile_source(source: str, *flags: str, name: str = "program", compiler: str = "cc") -> Path:
        file = tmp_path / f"{name}.c"
        file.write_text(source)
        binary = tmp_path / name
        subprocess.run([compiler, "-g", "-O2", *flags, "-o", binary, file, "-lpthread"], check=True)
        return binary

    return compile_source


@pytest.fixture
def sampled(tmp_path: Path) -> Callable[..., Outcome]:
    def run(
        *command: str | Path,
        rate_hz: int = 1000,
        perf_events: bool = True,
        environment: Mapping[str, str] | None = None,
        drain: bool = True,
        timeout: float = PATIENCE_S,
        values_depth: int = 0,
        libraries: Sequence[Path] = (),
    ) -> Outcome:
        folder = tmp_path / f"session-{time.monotonic_ns()}"
        (folder / "tables").mkdir(parents=True)
        rings = folder / "rings"
        _session.create(rings, rate_hz, perf_events, folder / "tables", LIBRARY, values_depth)
        if values_depth:
            for binary in (Path(command[0]), *libraries):
                _make_variables_table(binary, folder / "tables")
        drainer = _session.Drainer(rings)
        log = os.open(folder / "log-000001", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        own = {**os.environ, **(environment or {})}
        own["LD_PRELOAD"] = " ".join(filter(None, (str(LIBRARY), own.get("LD_PRELOAD"))))
        own["WHYPERF_SESSION"] = str(rings)
        deadline = time.monotonic() + timeout
        with subprocess.Popen(
            [str(word) for word in command], env=own, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            while process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.02)
                if drain:
                    drainer.drain(log)
                    drainer.retire_dead()
            if process.poll() is None:
                process.kill()
                pytest.fail(f"{command} hangs")
            output = process.stdout.read() if process.stdout else ""
        drainer.drain(log)
        os.close(log)
        outcome = Outcome(process.returncode, output, drainer.counters())
        _decode(folder, outcome)
        return outcome

    return run


def _make_variables_table(program: Path, folder: Path) -> None:
    elf = read_elf(program)
    assert elf is not None
    assert write_table(str(program), elf.build_id, folder, cache=folder) is not None


def _decode(folder: Path, outcome: Outcome) -> None:
    decoder = _session.Decoder()
    owners: list[tuple[int, int]] = []
    for chunk in ChunkReader().in_folder(folder):
        if chunk.kind != ChunkKind.RING:
            continue
        pid, tid, _, _ = struct.unpack_from("<IIQQ", chunk.payload)
        owners.append((pid, tid))
        for kind, detail, _, payload in decoder.add(len(owners) - 1, chunk.payload[24:]):
            _take_in(outcome, pid, kind, detail, bytes(payload))
    columns = decoder.columns()
    ends = np.frombuffer(columns["stack_ends"], np.int64)
    pcs = np.frombuffer(columns["pcs"], np.uint64)
    for owner, stack, weight in zip(
        np.frombuffer(columns["owner"], np.int32),
        np.frombuffer(columns["stack"], np.int32),
        np.frombuffer(columns["weight"], np.int64),
        strict=True,
    ):
        start = ends[stack - 1] if stack else 0
        outcome.samples.append((*owners[owner], int(weight), tuple(int(pc) for pc in pcs[start : ends[stack]])))


def _take_in(outcome: Outcome, pid: int, kind: int, detail: int, payload: bytes) -> None:
    outcome.notes.append((kind, payload))
    if kind == PROCESS:
        number, parent, origin, count = struct.unpack_from("<4I", payload)
        texts = payload[16:].split(b"\0")
        arguments = tuple(text.decode() for text in texts[1 : 1 + count])
        outcome.processes.append(Process(number, parent, origin, texts[0].decode(), arguments))
    elif kind == MODULE:
        start, end, _, bias = struct.unpack_from("<4Q", payload)
        path = payload[64:].split(b"\0")[0].decode()
        outcome.modules.setdefault(pid, []).append(Module(start, end, bias, path))
    elif kind == UNFOLLOWED:
        outcome.unfollowed.append((detail, payload.split(b"\0")[0].decode()))
