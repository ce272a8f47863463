"""What stays the same between builds, processes and machines."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FunctionKey:
    """A function's identity across builds and processes: never an address."""

    module: str
    name: str
    file: str
    order: int = 0
