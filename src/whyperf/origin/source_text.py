"""Lines of source files, as far as they can be read."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=8)  # many places are in the same file
def lines_of(file: str) -> tuple[str, ...]:
    try:
        return tuple(Path(file).read_text(errors="replace").split("\n"))
    except OSError:
        return ()


def read_line(file: str, line: int) -> str:
    """Empty where there is none."""
    return next(iter(lines_of(file)[max(0, line - 1) : line]), "")
