"""What a run asks of whoever records it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from whyperf.collect.target.program import Program
from whyperf.recording.sealed.manifest import Totals

if TYPE_CHECKING:
    from whyperf.collect.usage.blocked import BlockedSampler


class Recorder(Protocol):
    @property
    def disk_full(self) -> bool: ...

    def started(self, program: Program) -> Program:
        """What is started in order to run the program."""

    def environment(self, base: Mapping[str, str]) -> dict[str, str]: ...

    def start(self, totals: Callable[[], Totals | None]) -> None:
        """The program runs; `totals` tells what it has used so far."""

    def append(self, kind: str, **fields: Any) -> None:
        """A JSON chunk of the raw log."""

    def live_threads(self) -> list[tuple[int, int]]:
        """Process and thread numbers of all that is followed."""

    def blocked_threads(self, rate_hz: float) -> BlockedSampler: ...

    def finish(self, notes: list[str], totals: Totals, *, time: int, **stop: Any) -> None:
        """Closes the log with what was used, what was lost and how it ended; may add to `notes`."""
