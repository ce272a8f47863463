"""Times, sizes and signals as people type them."""

from __future__ import annotations

import argparse
import math
import re
import signal

_SECONDS = {"": 1.0, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_BYTES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SMALLEST_RECORDING = 1 << 20


def duration(text: str) -> float:
    """Seconds: 30, 30s, 500ms, 2m, 1h."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", text.strip())
    if match is None or match[2] not in _SECONDS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time: type 500ms, 30s, 2m or 1h")
    return float(match[1]) * _SECONDS[match[2]]


def positive_duration(text: str) -> float:
    seconds = duration(text)
    if seconds <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no time at all: type 500ms, 30s, 2m or 1h")
    return seconds


def size(text: str) -> int:
    """Bytes: 500M, 2G."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size: type 500M or 2G")
    count = math.floor(float(match[1]) * _BYTES[match[2].upper()])
    if count < _SMALLEST_RECORDING:
        raise argparse.ArgumentTypeError(f"{text!r} is too small for a recording: the smallest is 1M")
    return count


def signal_number(text: str) -> int:
    """TERM, SIGTERM or 15."""
    name = text.strip().upper()
    if name.isascii() and name.isdigit():
        number = int(name)
    else:
        found = getattr(signal, name if name.startswith("SIG") else f"SIG{name}", None)
        number = int(found) if isinstance(found, signal.Signals) else 0
    if number not in signal.valid_signals():
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
