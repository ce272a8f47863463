"""A real program with threads in known stacks, and what a raw log says about it."""

from __future__ import annotations

import contextlib
import subprocess
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.native.unwind.building import PROGRAMS, compile_program
from whyperf.collect._stacks import Reader
from whyperf.recording.raw_log.chunks import ChunkKind
from whyperf.recording.raw_log.ringrecords import OWNER, RECORD, RingRecordKind


@dataclass(frozen=True)
class Watched:
    pid: int
    path: Path

    def threads(self) -> dict[str, int]:
        """By name; the main thread is called after the program."""
        tasks = Path(f"/proc/{self.pid}/task").iterdir()
        return {(task / "comm").read_text().strip(): int(task.name) for task in tasks}


@contextlib.contextmanager
def watched(folder: Path, build: str = "gcc -O0", *arguments: str, source: str = "waiting.c") -> Iterator[Watched]:
    program = compile_program(folder / "waiting", PROGRAMS / source, *build.split(), "-pthread")
    process = subprocess.Popen([program, *arguments], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield Watched(process.pid, program)
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


class Names:
    """Functions of the program by address; other modules by their file's name."""

    def __init__(self, process: Watched, reader: Reader) -> None:
        self._modules = reader.modules(process.pid)
        self._path = str(process.path)
        symbols = subprocess.check_output(["nm", process.path], text=True).splitlines()
        words = [line.split() for line in symbols]
        self._symbols = sorted((int(w[0], 16), w[2]) for w in words if len(w) == 3 and w[1] in "tT")

    def of(self, pcs: list[int]) -> list[str]:
        return [self._name(pc - (i > 0)) for i, pc in enumerate(pcs)]

    def _name(self, pc: int) -> str:
        for start, end, _, bias, _, path, _ in self._modules:
            if start <= pc < end and path == self._path:
                return self._symbols[bisect_right(self._symbols, (pc - bias, "~")) - 1][1]
            if start <= pc < end:
                return Path(path).name.split(".")[0]
        return "?"


@dataclass(frozen=True)
class Said:
    """A record of a ring or blocked chunk."""

    tid: int
    sequence: int
    kind: RingRecordKind
    detail: int
    time: int
    payload: bytes

    @property
    def pcs(self) -> list[int]:
        skipped = 8 if self.kind == RingRecordKind.BLOCKED else 0
        words = memoryview(self.payload)[skipped:].cast("Q")
        return [pc for pc in words if pc]

    @property
    def weight_ns(self) -> int:
        return int.from_bytes(self.payload[:8], "little")


@dataclass
class Log:
    """Takes chunks as the raw log does."""

    chunks: list[tuple[int, bytes]] = field(default_factory=list)

    def append(self, kind: int, payload: bytes) -> None:
        self.chunks.append((kind, payload))

    def records(self, kind: RingRecordKind) -> list[Said]:
        found = []
        for chunk, payload in self.chunks:
            if chunk not in (ChunkKind.RING, ChunkKind.BLOCKED):
                continue
            _, tid, sequence, _ = OWNER.unpack_from(payload)
            at = OWNER.size
            while at < len(payload):
                number, words, detail, time = RECORD.unpack_from(payload, at)
                assert words % 2 == 0
                body = payload[at + RECORD.size : at + 8 * words]
                found.append(Said(tid, sequence, RingRecordKind(number), detail, time, body))
                at += 8 * words
        return [said for said in found if said.kind == kind]
