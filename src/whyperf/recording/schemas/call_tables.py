"""The table of counted calls."""

from __future__ import annotations

from enum import IntEnum

import pyarrow as pa

from whyperf.recording.schemas.schema import Column, Table


class CallKind(IntEnum):
    """What a count is of."""

    CALL = 0
    """A direct call."""
    TAIL = 1
    """A jump into another function, in place of a call and a return."""
    POINTER = 2
    """A call through a pointer."""
    POINTER_TAIL = 3
    """A jump through a pointer, in place of a call and a return."""
    ENTRY = 4
    """The function itself, however it was entered."""
    ITERATION = 5
    """A jump back to the beginning of a loop."""


class NotCounted(IntEnum):
    """Why a site has no count."""

    COUNTED = 0
    FLAGS = 1
    """The processor's flags are used behind it, and counting changes them."""
    ENTERED = 2
    """Something may jump into the middle of what would have to be moved."""
    STACK = 3
    """What would have to be moved uses the stack pointer."""
    NOT_MOVABLE = 4
    """What would have to be moved cannot be elsewhere."""
    TOO_SHORT = 5
    """No room for a jump."""
    REPEATED = 6
    """The function jumps to its own entry, which would be counted as well."""
    NO_JUMP = 7
    """Some iterations of the loop begin without a jump."""
    OTHER_EDGE = 8
    """Another jump of the same loop cannot be counted, and half a count is none."""
    REGISTERS = 9
    """The registers that counting changes are in use (64-bit ARM)."""


CALL_COUNTS = Table(
    "call_counts",
    "How often each call site was passed, exactly; sites that were never passed have no row.",
    (
        Column("process", pa.int32(), "row of `processes`", "processes"),
        Column("function", pa.int32(), "row of `functions`: the one that calls, or is entered", "functions"),
        Column("callee", pa.int32(), "row of `functions`; -1 when unknown: a pointer, or uncounted code", "functions"),
        Column("frame", pa.int32(), "row of `frames`: the place of the site", "frames"),
        Column(
            "order", pa.int32(), "tells sites of the same function, callee and kind apart: 0 for the first by address"
        ),
        Column(
            "kind",
            pa.int8(),
            "0: call, 1: tail call, 2: call by pointer, 3: tail call by pointer, 4: entry, 5: loop iteration",
        ),
        Column("count", pa.int64(), "how often, in all threads of the process"),
    ),
    optional=True,
)
