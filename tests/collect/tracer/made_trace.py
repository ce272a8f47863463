"""Raw kernel events, written as a tracer would leave them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.collect.open_recording import OpenRecording
from whyperf.collect.tracer.facts import FACTS, Fact, to_json
from whyperf.collect.tracer.traced import RECORD, TRACED_SAMPLES, Records
from whyperf.recording.raw_log.chunks import ChunkKind, encode_chunk
from whyperf.recording.schemas.events import EventKind


def records(*rows: dict[str, object]) -> Records:
    made = np.zeros(len(rows), RECORD)
    for row, given in zip(made, rows, strict=True):
        for name, value in given.items():
            row[name] = value
    return made


def event(kind: EventKind, time: int, pid: int, tid: int | None = None, **more: object) -> dict[str, object]:
    return {"kind": kind, "time": time, "pid": pid, "tid": pid if tid is None else tid, "detail": -1, **more}


def thread(pid: int, tid: int | None = None) -> int:
    """As the column `other` has it."""
    return pid << 32 | (pid if tid is None else tid)


def name(text: str) -> tuple[int, int, int]:
    """As fork, exec and rename carry it."""
    return (*struct.unpack("<QQ", text.encode().ljust(16, b"\0")), 0)


def stack(number: int, addresses: Sequence[int], flags: int = 0) -> bytes:
    return struct.pack(f"<IHH{len(addresses)}Q", number, len(addresses), flags, *addresses)


class TracedRecording:
    """An open recording to which a tracer adds; `rec` is the sampler's part of it."""

    def __init__(self, path: Path, *, sampled: bool = False) -> None:
        self.rec = OpenRecording(path)
        self.path = path
        if not sampled:
            start = self.rec.raw / "start.json"
            start.write_text(start.read_text().replace('"cpu-timer"', f'"{TRACED_SAMPLES}"'))

    def events(self, *rows: dict[str, object], cpu: int = 0) -> None:
        made = records(*rows)
        made["cpu"] = cpu
        self.rec.log.append(ChunkKind.EVENTS, made.tobytes())

    def stacks(self, *packed: bytes) -> None:
        self._add(encode_chunk(ChunkKind.TRACED_STACKS, b"".join(packed)))

    def fact(self, *facts: Fact) -> None:
        import json

        for fact in facts:
            self._add(encode_chunk(ChunkKind.JSON, json.dumps(to_json(fact)).encode()))

    def _add(self, chunk: bytes) -> None:
        with (self.rec.raw / FACTS).open("ab") as file:
            file.write(chunk)
