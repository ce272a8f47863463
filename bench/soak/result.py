"""What a soak test found: sentences with figures, and whether each is as it must be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Result:
    checks: tuple[tuple[bool, str], ...]
    why_skipped: str = ""

    @staticmethod
    def of(checks: Sequence[tuple[bool, str]]) -> Result:
        return Result(tuple(checks))

    @staticmethod
    def skipped(why: str) -> Result:
        return Result((), why)

    @property
    def good(self) -> bool:
        return all(good for good, _ in self.checks)
