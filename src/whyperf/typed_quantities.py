"""Times and signals as people type them, on a command line or in a configuration file."""

from __future__ import annotations

import re
import signal

_SECONDS = {"": 1.0, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def typed_seconds(text: str) -> float | None:
    """30, 30s, 500ms, 2m, 1h; None for anything else."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", text.strip())
    if match is None or match[2] not in _SECONDS:
        return None
    return float(match[1]) * _SECONDS[match[2]]


def typed_signal(text: str) -> int | None:
    """TERM, SIGTERM or 15; None for anything else."""
    name = text.strip().upper()
    if name.isascii() and name.isdigit():
        number = int(name)
    else:
        found = getattr(signal, name if name.startswith("SIG") else f"SIG{name}", None)
        number = int(found) if isinstance(found, signal.Signals) else 0
    return number if number in signal.valid_signals() else None
