"""The raw log's ring chunks, decoded the slow and obvious way."""

from __future__ import annotations

import struct
from pathlib import Path

from whyperf.recording.raw_log.chunks import ChunkKind, ChunkReader
from whyperf.recording.raw_log.ringrecords import OWNER, RECORD, RingRecordKind

Decoded = tuple[int, int, int, int, tuple[int, ...] | bytes]  # sequence, kind, detail, time, pcs or payload


def decode(content: bytes) -> list[Decoded]:
    """Records with samples' stacks put back; a KeyError is a sample before its stack."""
    reader = ChunkReader()
    stacks: dict[int, tuple[int, ...]] = {}
    records: list[Decoded] = []
    for chunk in reader.in_bytes(content):
        assert chunk.kind == ChunkKind.RING
        _, _, sequence, _ = OWNER.unpack_from(chunk.payload)
        at = OWNER.size
        while at < len(chunk.payload):
            kind, words, detail, time = RECORD.unpack_from(chunk.payload, at)
            payload = bytes(chunk.payload[at + RECORD.size : at + 8 * words])
            at += 8 * words
            if kind == RingRecordKind.STACK:
                number, *pcs = struct.unpack(f"<{len(payload) // 8}Q", payload)
                assert number not in stacks
                stacks[number] = tuple(pcs)
            elif kind == RingRecordKind.SAMPLE_REF:
                records.append((sequence, RingRecordKind.SAMPLE, detail, time, stacks[struct.unpack("<Q", payload)[0]]))
            else:
                records.append((sequence, kind, detail, time, payload))
    assert reader.damaged_bytes == 0
    return records


def decode_file(path: Path) -> list[Decoded]:
    return decode(path.read_bytes())


def as_put(sequence: int, record: bytes) -> Decoded:
    """How a record that was put into a ring should come out."""
    kind, _, detail, time = RECORD.unpack_from(record)
    payload = record[RECORD.size :]
    if kind != RingRecordKind.SAMPLE:
        return sequence, kind, detail, time, payload
    pcs = struct.unpack(f"<{len(payload) // 8}Q", payload)
    return sequence, kind, detail, time, pcs[:-1] if pcs and pcs[-1] == 0 else pcs
