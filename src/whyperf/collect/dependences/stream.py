"""Streams of the Valgrind tool as arrays. native/dependences/stream.h says what each column means."""

from dataclasses import dataclass
from enum import IntFlag
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyperf.collect import _dependences
from whyperf.errors import WhyperfError
from whyperf.recording.safe_files.dataclass_json import storable
from whyperf.recording.safe_files.regular_files import opened_by_name

SITE = np.dtype(
    {
        "names": ["module", "function", "address", "flags", "length"],
        "formats": ["u4", "i4", "u8", "u2", "u1"],
        "offsets": [0, 4, 8, 16, 18],
        "itemsize": 24,
    }
)
PAIR = np.dtype([("reader", "u4"), ("writer", "u4"), ("loads", "u8")])
WATCH = np.dtype([("watch", "u4"), ("site", "u4"), ("event", "u4"), ("thread", "u4"), ("old", "u8"), ("new", "u8")])
REGION = np.dtype(
    {
        "names": ["parent", "place", "arm", "event", "thread", "first", "instructions", "began", "kind"],
        "formats": ["u4", "i4", "i4", "u4", "u4", "u4", "u8", "u8", "i1"],
        "offsets": [0, 4, 8, 12, 16, 20, 24, 32, 40],
        "itemsize": 48,
    }
)
# What the decoder calls a region's kind is one more than a `RegionKind`: its 0 is the root, which is nobody's.
_FIRST_KIND = 1
HEAP = np.dtype(
    {
        "names": ["function", "thread", "region", "event", "argument0", "argument1", "caller", "result", "returned"],
        "formats": ["i4", "u4", "u4", "u4", "u8", "u8", "u8", "u8", "u1"],
        "offsets": [0, 4, 8, 12, 16, 24, 32, 40, 48],
        "itemsize": 56,
    }
)

INEXACT = ("x87", "producers", "outside", "pairs", "depth", "stacks", "events", "helpers")
ENDINGS = ("exit", "limit", "disk")


class SiteFlag(IntFlag):
    COPY = 1
    CALL = 2
    RETURN = 4
    CONDITIONAL = 8
    INDIRECT = 16
    ZOOM = 128
    MARK = 256


@dataclass(frozen=True)
class StreamModule:
    """A file that executed code came from; number 0 is code of no file."""

    path: str
    build_id: str
    base: int
    bias: int


@dataclass(frozen=True)
class Unsupported:
    """An instruction that Valgrind could not execute: the program got SIGILL there."""

    module: int
    address: int
    code: bytes


@dataclass(frozen=True)
class StreamFlow:
    """The program's graph, numbered as the caller likes; arrays of -1 where nothing is known."""

    site_block: NDArray[np.int32]
    site_head: NDArray[np.uint8]
    block_ipdom: NDArray[np.int32]
    block_loop: NDArray[np.int32]
    block_branch: NDArray[np.uint8]
    loop_header: NDArray[np.int32]
    loop_parent: NDArray[np.int32]

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """In the order and with the types that the decoder wants."""
        return (
            np.ascontiguousarray(self.site_block, np.int32),
            np.ascontiguousarray(self.site_head, np.uint8),
            np.ascontiguousarray(self.block_ipdom, np.int32),
            np.ascontiguousarray(self.block_loop, np.int32),
            np.ascontiguousarray(self.block_branch, np.uint8),
            np.ascontiguousarray(self.loop_header, np.int32),
            np.ascontiguousarray(self.loop_parent, np.int32),
        )


@dataclass(frozen=True)
class DecodedStream:
    """Events (row 0: none) with their producers, and the region tree (row 0: the root, of kind -1).

    The other regions' kinds are `RegionKind`s.
    """

    site: NDArray[np.uint32]
    region: NDArray[np.uint32]
    join: NDArray[np.uint8]
    first: NDArray[np.uint64]
    producers: NDArray[np.uint32]
    kinds: NDArray[np.uint8]
    regions: NDArray[np.void]
    heap: NDArray[np.void]


@dataclass(frozen=True)
class Stream:
    """What a stream says beside its events."""

    path: Path
    modules: tuple[StreamModule, ...]
    sites: NDArray[np.void]
    pairs: NDArray[np.void]
    watches: NDArray[np.void]
    unsupported: tuple[Unsupported, ...]
    inexact: dict[str, int]
    events: int
    producers: int
    instructions: int
    threads: int
    forks: int
    ending: str
    """How the recording ended: `exit`, `limit` or `disk`; `cut` when the tool was killed or the file is damaged."""

    @property
    def complete(self) -> bool:
        return self.ending == "exit"

    def decode(self, flow: StreamFlow | None = None) -> DecodedStream:
        """Events and regions; without a flow only activations, threads and signals are regions."""
        with opened_by_name(self.path) as name:
            columns = _dependences.decode(name, flow.arrays() if flow else None)
        regions = np.frombuffer(columns["regions"], REGION).copy()
        regions["kind"] -= _FIRST_KIND
        return DecodedStream(
            np.frombuffer(columns["site"], np.uint32),
            np.frombuffer(columns["region"], np.uint32),
            np.frombuffer(columns["join"], np.uint8),
            np.frombuffer(columns["first"], np.uint64),
            np.frombuffer(columns["producers"], np.uint32),
            np.frombuffer(columns["kinds"], np.uint8),
            regions,
            np.frombuffer(columns["heap"], HEAP),
        )


def read_stream(path: Path) -> Stream:
    """The stream in this file, up to where it was cut."""
    try:
        with opened_by_name(path) as name:
            scanned = _dependences.scan(name)
    except ValueError as problem:
        raise WhyperfError(f"{path} is {problem}.", "whyperf record --deep -o NAME -- COMMAND") from problem
    except OSError as problem:
        raise WhyperfError(f"{path} cannot be read: {problem.strerror}.", f"ls -l {path}") from problem
    ending = scanned["ending"]
    # A record that names what is not there ends what is read, and is still in its column.
    sites = np.frombuffer(scanned["sites"], SITE).copy()
    sites["module"][sites["module"] >= len(scanned["modules"])] = 0
    pairs, watches = np.frombuffer(scanned["pairs"], PAIR), np.frombuffer(scanned["watches"], WATCH)
    return Stream(
        path,
        tuple(StreamModule(storable(name), build.hex(), base, bias) for name, build, base, bias in scanned["modules"]),
        sites,
        pairs[(pairs["reader"] < len(sites)) & (pairs["writer"] < len(sites))],
        watches[(watches["site"] < len(sites)) & (watches["event"] <= scanned["events"])],
        tuple(Unsupported(*row) for row in scanned["unsupported"]),
        {name: count for name, count in zip(INEXACT, scanned["inexact"], strict=True) if count},
        scanned["events"],
        scanned["producers"],
        scanned["instructions"],
        scanned["threads"],
        scanned["forks"],
        ENDINGS[ending] if 0 <= ending < len(ENDINGS) else "cut",
    )
