"""What a stored value means by its variable's kind: its order, its dimensions, how it is written."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

import numpy as np
import numpy.typing as npt

from whyperf.engines.run import Floats, Ints

Flags = npt.NDArray[np.bool_]

_SIGN = np.int64(-(2**63))
_MAGNITUDE = np.int64(2**63 - 1)
_CLASS_SHIFT = 56
USUAL_DIGITS = 3
POINTER_CLASSES = ("null", "in a module", "on the heap", "on a stack", "elsewhere")


class Dimension(Enum):
    """Section 3.4.1 of the paper: values, their changes between adjacent samples, and how long they stay."""

    VALUE = "value"
    DELTA = "delta"
    DURATION = "duration"


class ValueKind(Enum):
    SIGNED = "signed"
    UNSIGNED = "unsigned"
    FLOAT = "float"
    BOOLEAN = "boolean"
    ENUM = "enum"
    POINTER = "pointer"
    SIZE = "size"
    # Of redacted recordings: numbers and sizes in a unit that is kept secret.
    SCALED = "scaled"
    SCALED_SIZE = "scaled-size"

    @property
    def numeric(self) -> bool:
        return self in (ValueKind.SIGNED, ValueKind.UNSIGNED, ValueKind.SIZE) or self.is_double

    @property
    def is_double(self) -> bool:
        """Stored as the bits of one."""
        return self is ValueKind.FLOAT or self.is_scaled

    @property
    def is_scaled(self) -> bool:
        return self in (ValueKind.SCALED, ValueKind.SCALED_SIZE)

    @property
    def is_size(self) -> bool:
        return self in (ValueKind.SIZE, ValueKind.SCALED_SIZE)

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        if self.numeric:
            return (Dimension.VALUE, Dimension.DELTA, Dimension.DURATION)
        return (Dimension.VALUE, Dimension.DURATION)


def kind_named(name: str) -> ValueKind:
    try:
        return ValueKind(name)
    except ValueError:
        return ValueKind.SIGNED


def ordered(kind: ValueKind, raw: Ints) -> Ints:
    """Integers that sort as the values do, so that every kind is compared by one set of kernels."""
    if kind.is_double:
        return from_floats(raw.view(np.float64))
    if kind in (ValueKind.UNSIGNED, ValueKind.SIZE):
        return raw ^ _SIGN
    if kind is ValueKind.POINTER:  # raw addresses are never compared between runs
        return (raw.view(np.uint64) >> np.uint64(_CLASS_SHIFT)).astype(np.int64)
    return raw


def from_floats(values: Floats) -> Ints:
    bits: Ints = (values + 0.0).view(np.int64)  # one zero
    return bits ^ ((bits >> np.int64(63)) & _MAGNITUDE)


def to_floats(codes: Ints) -> Floats:
    bits: Ints = codes ^ ((codes >> np.int64(63)) & _MAGNITUDE)
    return bits.view(np.float64)


def numbers(kind: ValueKind, codes: Ints) -> Floats:
    """What ordered integers stand for."""
    if kind.is_double:
        return to_floats(np.ascontiguousarray(codes))
    if kind in (ValueKind.UNSIGNED, ValueKind.SIZE):
        return (codes ^ _SIGN).view(np.uint64).astype(np.float64)
    return codes.astype(np.float64)


def steps(kind: ValueKind, raw: Ints, same_sequence: Flags) -> Ints:
    """Differences of adjacent readings, where both are of one sequence; in ordered form."""
    if kind.is_double:
        values = raw.view(np.float64)
        return from_floats(np.diff(values)[same_sequence])
    with np.errstate(over="ignore"):
        return np.diff(raw)[same_sequence]


def step_numbers(kind: ValueKind, codes: Ints) -> Floats:
    return to_floats(np.ascontiguousarray(codes)) if kind.is_double else codes.astype(np.float64)


def usable(kind: ValueKind, raw: Ints) -> Flags:
    """Which readings are values at all: not-a-number is none."""
    if kind.is_double:
        return ~np.isnan(raw.view(np.float64))
    return np.ones(len(raw), np.bool_)


def written(kind: ValueKind, value: float, digits: int = USUAL_DIGITS) -> str:
    if kind is ValueKind.POINTER:
        return POINTER_CLASSES[int(value)] if 0 <= value < len(POINTER_CLASSES) else "elsewhere"
    if kind.is_scaled:
        return multiple(value, digits)
    if kind is ValueKind.BOOLEAN and value in (0.0, 1.0):
        return "true" if value else "false"
    return number_text(value, digits)


def first_size(values: Iterable[float]) -> float:
    """Of the first one that can be a unit."""
    return next((abs(value) for value in values if value and np.isfinite(value)), 1.0)


def multiple(value: float, digits: int = USUAL_DIGITS) -> str:
    """How redacted numbers are written."""
    return f"{number_text(value, digits)}x" if value else "0"


def number_text(value: float, digits: int = USUAL_DIGITS) -> str:
    size = abs(value)
    if size < 1e15 and value == int(value) and (size < 1e7 or size < 10**digits):
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"
