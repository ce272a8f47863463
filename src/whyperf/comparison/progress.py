"""How long work says what is going on."""

from __future__ import annotations

from typing import Protocol


class Steps(Protocol):
    """Who shows what is going on."""

    def step(self, what: str, done: float, left_s: float | None) -> None:
        """A new step begins: `done` of 1 is behind us, and `left_s` is the guess of what is ahead."""

    def tick(self) -> None:
        """Time passes."""
