"""Times, sizes and signals as people type them."""

from __future__ import annotations

import argparse
import math
import re

from whyperf.typed_quantities import typed_seconds, typed_signal

_BYTES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SMALLEST_RECORDING = 1 << 20
_TIMES = "500ms, 30s, 2m or 1h"


def duration(text: str) -> float:
    """Seconds: 30, 30s, 500ms, 2m, 1h."""
    seconds = typed_seconds(text)
    if seconds is None and typed_seconds(text.strip().removeprefix("-")) is not None:
        raise argparse.ArgumentTypeError(f"{text!r} is negative: type {_TIMES}")
    if seconds is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time: type {_TIMES}")
    return seconds


def positive_duration(text: str) -> float:
    seconds = duration(text)
    if seconds <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not more than zero: type {_TIMES}")
    return seconds


def size(text: str) -> int:
    """Of a recording: 500M, 2G."""
    count = byte_count(text)
    if count < _SMALLEST_RECORDING:
        raise argparse.ArgumentTypeError(f"{text!r} is too small for a recording: the smallest is 1M")
    return count


def byte_count(text: str) -> int:
    """Bytes: 64K, 2G."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size: type 500M or 2G")
    return math.floor(float(match[1]) * _BYTES[match[2].upper()])


def signal_number(text: str) -> int:
    """TERM, SIGTERM or 15."""
    number = typed_signal(text)
    if number is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a signal: type TERM, INT, QUIT, USR1 or a number")
    return number


def count(text: str) -> int:
    """A whole number of at least one."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def seconds_in_words(seconds: float) -> str:
    """Three figures, in the unit that suits."""
    if seconds < 1.0:
        return f"{seconds * 1e3:.3g} ms"
    if seconds < 100.0:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def bytes_in_words(amount: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if amount < 1000 or unit == "GB":
            return f"{amount:.3g} {unit}"
        amount /= 1000
    raise AssertionError("unreachable")
