"""What can be said of a benchmark."""

from __future__ import annotations

from enum import Enum


class BenchmarkState(Enum):
    SLOWER = "slower"
    FASTER = "faster"
    SAME = "no difference"
    INSUFFICIENT = "not enough data"
    FAILED = "failed"  # the head does not build, or its benchmark fails where the base's does not
