"""The table of sampled allocations."""

from __future__ import annotations

from enum import IntEnum

import pyarrow as pa

from whyperf.recording.schemas.schema import Column, Table


class MemoryKind(IntEnum):
    """What a row of `allocations` is."""

    ALLOCATION = 0
    """A call of malloc, of another function of its family, or of C++'s new."""
    PAGE = 1
    """A page that was touched for the first time."""


ALLOCATIONS = Table(
    "allocations",
    "Memory that was allocated or first touched, sampled by bytes, and until when it was there.",
    (
        Column("sample", pa.int32(), "row of `samples`: when and where", "samples"),
        Column("kind", pa.int8(), "0: an allocation, 1: a page that was first touched", one_of=MemoryKind),
        Column("size", pa.int64(), "bytes that were asked for; of pages their size", least=0),
        Column("weight", pa.int64(), "bytes that the sample stands for", least=0),
        Column(
            "touched",
            pa.int64(),
            "bytes of its pages that were there when it was freed or its process ended; -1: unknown",
            absent=-1,
        ),
        Column("end", pa.int64(), "when it was freed, or its process ended; -1: neither was seen"),
        Column("freed", pa.bool_(), "it was freed while its process ran"),
        Column("freed_by", pa.int32(), "row of `samples`: where it was freed; -1 when unknown", "samples"),
    ),
    optional=True,
)
