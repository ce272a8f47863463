"""What is going on and how long it will take: a bar on a terminal, lines elsewhere. Always on stderr."""

from __future__ import annotations

import math
import sys
import time
from types import TracebackType
from typing import Protocol, Self

from whyperf.cli.quantities import seconds_in_words
from whyperf.comparison.progress import Steps

_REDRAW_EVERY_S = 0.5


class Progress(Steps, Protocol):
    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None: ...


class PlainProgress:
    """One line a step."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        return None

    def step(self, what: str, done: float, left_s: float | None) -> None:  # noqa: ARG002
        left = "" if left_s is None else f", about {seconds_in_words(left_s)} left"
        print(f"whyperf: {what}{left}", file=sys.stderr, flush=True)

    def tick(self) -> None:
        return None


class BarProgress:
    """A bar that is redrawn when the runner ticks: no thread of its own, which would take the target's signals."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bar

        self._bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[left]}"),
            console=Console(stderr=True),
            auto_refresh=False,
            transient=True,
        )
        self._task = self._bar.add_task("", total=1.0, left="")
        self._left_s: float | None = None
        self._since = self._drawn = time.monotonic()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._bar.stop()

    def step(self, what: str, done: float, left_s: float | None) -> None:
        self._left_s, self._since = left_s, time.monotonic()
        self._bar.update(self._task, description=what, completed=done)
        self._draw()

    def tick(self) -> None:
        # Drawing uses the CPU that the target is measured on.
        if time.monotonic() - self._drawn >= _REDRAW_EVERY_S:
            self._draw()

    def _draw(self) -> None:
        self._drawn = time.monotonic()
        left = ""
        if self._left_s is not None:
            seconds = max(self._left_s - (time.monotonic() - self._since), 0.0)
            left = f"{seconds_in_words(math.ceil(seconds))} left" if seconds else ""
        self._bar.update(self._task, left=left)
        self._bar.refresh()


def progress() -> Progress:
    return BarProgress() if sys.stderr.isatty() else PlainProgress()
