"""How a number is spread evenly: steps that every machine's stubs take one after the other.

Each can be undone, so that different numbers stay different until the result is cut to its lowest bits. Zero stays
zero: it ends texts and lists.
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_BITS = 31
"""That no number becomes negative, whatever the program takes it for."""
MOST_FLOAT_BITS = 24
"""All of them are exact in a floating-point number of 4 bytes."""


@dataclass(frozen=True)
class SpreadStep:
    shift: int
    to_the_left: bool
    """What was shifted is added, else it is combined by exclusive or."""


def steps(size: int) -> tuple[SpreadStep, ...]:
    """For numbers of 4 or 8 bytes."""
    upper_half = (SpreadStep(32, False),) if size > 4 else ()
    rest = ((3, True), (11, False), (15, True), (16, False), (5, True), (13, False))
    return (*upper_half, *(SpreadStep(*one) for one in rest))


def spread(value: int, size: int, bits: int) -> int:
    """What stubs make of it."""
    whole = (1 << 8 * size) - 1
    for step in steps(size):
        value = (value + (value << step.shift)) & whole if step.to_the_left else value ^ value >> step.shift
    return value & (1 << bits) - 1
