"""JSON that another tool wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_MOST_BYTES = 64 << 20


def read_report(path: Path) -> Any:
    """What it holds; None where it cannot be read."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        return json.loads(data) if len(data) <= _MOST_BYTES else None
    except (OSError, ValueError, RecursionError):
        return None
