"""The rings' records (native/sampler/session.h), for whoever writes them from outside the watched process."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from enum import IntEnum

OWNER = struct.Struct("<IIQQ")  # pid, tid, slot sequence, slot start: the head of ring and blocked chunks
RECORD = struct.Struct("<HHIQ")  # kind, words, detail, time
PROCESS = struct.Struct("<IIII")  # pid, ppid, origin, argc
MODULE = struct.Struct("<QQQQI20sQ")  # start, end, file offset, bias, build-id size, build-id, inode
THREAD_END = struct.Struct("<Q16s")  # CPU time, name
MEMORY = struct.Struct("<QQQQ")  # address, bytes, interval, kind

# `enum whyperf_cut` and `enum whyperf_unfollowed`, in words.
CUT_REASONS = (
    "complete",
    "return address in no known module",
    "no unwind information for the address",
    "unwind rule too complex",
    "register not recovered",
    "stack memory unreadable",
    "damaged or switched stack",
    "deeper than 1024 frames",
    "no system calls allowed (seccomp)",
    "only the function and its caller were asked for",
    "the thread went on before its stack could be read",
)
OUT_OF_REACH = 5
UNFOLLOWED_REASONS = {
    1: "statically linked",
    2: "another C library than glibc",
    3: "another architecture",
    4: "setuid or with file capabilities",
    OUT_OF_REACH: "the recording is out of its reach (chroot or dropped privileges)",
    6: "seccomp filter",
    7: "every ring was taken",
    8: "a sanitizer's runtime must be loaded before everything else",
    9: "a child made by syscall() instead of fork(), which is not sampled unless it starts a program",
}


class RingRecordKind(IntEnum):
    SAMPLE = 1
    PROCESS = 2
    MODULE = 3
    MODULE_GONE = 4
    UNFOLLOWED = 5
    THREAD_END = 6
    VALUES = 7
    GLOBALS = 8
    VARIABLES = 9
    MEMORY = 10
    STACK = 16
    SAMPLE_REF = 17
    BLOCKED = 18


class MemoryEvent(IntEnum):
    """`enum whyperf_memory_kind`."""

    ALLOCATED = 0
    FREED = 1
    FREED_BEFORE = 2
    FAULTED = 3
    TOUCHED = 4


class ProcessOrigin(IntEnum):
    EXEC = 1
    FORK = 2
    ATTACHED = 3


def record(kind: RingRecordKind, time: int, payload: bytes, detail: int = 0) -> bytes:
    """A record, filled up with zeros to whole pairs of words as rings want it."""
    payload += bytes(-len(payload) % 16)
    return RECORD.pack(kind, (RECORD.size + len(payload)) // 8, detail, time) + payload


def sample(time: int, pcs: Sequence[int], weight: int = 1, cut: int = 0) -> bytes:
    return record(RingRecordKind.SAMPLE, time, struct.pack(f"<{len(pcs)}Q", *pcs), weight | cut << 24)


def blocked(time: int, pcs: Sequence[int], weight_ns: int, system_call: int, cut: int = 0) -> bytes:
    return record(
        RingRecordKind.BLOCKED, time, struct.pack(f"<{1 + len(pcs)}Q", weight_ns, *pcs), system_call | cut << 24
    )


def process(
    time: int, pid: int, ppid: int, origin: ProcessOrigin, *, executable: str, arguments: Sequence[str] = ()
) -> bytes:
    text = b"".join(word.encode(errors="surrogateescape") + b"\0" for word in (executable, *arguments))
    return record(RingRecordKind.PROCESS, time, PROCESS.pack(pid, ppid, origin, len(arguments)) + text)


def module(
    time: int,
    start: int,
    end: int,
    *,
    bias: int,
    path: str,
    build_id: str = "",
    file_offset: int = 0,
    inode: int = 0,
) -> bytes:
    identity = bytes.fromhex(build_id)[:20]
    packed = MODULE.pack(start, end, file_offset, bias, len(identity), identity, inode)
    return record(RingRecordKind.MODULE, time, packed + path.encode(errors="surrogateescape") + b"\0")


def owner(pid: int, tid: int, sequence: int = 0, start: int = 0) -> bytes:
    """How a ring or blocked chunk begins: whose records follow."""
    return OWNER.pack(pid, tid, sequence, start)
