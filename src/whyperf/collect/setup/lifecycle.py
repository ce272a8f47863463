"""What the user asks of a run, and what came of it."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from whyperf.allocators.functions import Allocator
from whyperf.collect.setup.rate import DEFAULT_RATE_HZ
from whyperf.errors import WhyperfError
from whyperf.recording.sealed.manifest import Totals

DEFAULT_DEPTH = 8


@dataclass(frozen=True)
class Lifecycle:
    """When the compared window begins and what ends it. Programs that end by themselves need none of this."""

    ready: str | None = None
    ready_timeout_s: float = 30.0
    drive: str | None = None
    for_s: float | None = None  # from the window's start
    skip_s: float = 0.0  # warm-up after ready that is not compared
    stop_signal: int = signal.SIGTERM
    stop_timeout_s: float = 10.0
    folder: Path | None = None  # where `ready` and `drive` are run; None: where we are


@dataclass(frozen=True)
class Measuring:
    rate_hz: int = DEFAULT_RATE_HZ
    clock: str = "cpu"
    max_bytes: int = 2 << 30
    work_count: str | None = None
    latency: str | None = None  # the function whose calls are timed, and are the units of work
    unit: str | None = None
    values_depth: int = DEFAULT_DEPTH  # frames whose variables are read; 0: none
    components: tuple[str, ...] = ()  # globs that narrow what is read
    excluded_variables: tuple[str, ...] = ()  # globs of what shall not be kept
    redact: bool = False  # keep numbers in a secret unit only
    compile_commands: Path | None = None  # how the program was compiled; None: to be looked for
    trace_hz: int = 0  # kernel events too, with so many samples a second of each CPU; 0: none
    watched: tuple[str, ...] = ()  # variables whose writes are among them
    queues: bool = True  # and tasks that programs put into queues of their own
    memory_interval: int = 0  # a sample for so many allocated bytes, on average; 0: allocations are not sampled
    allocators: tuple[Allocator, ...] = ()  # of the program's own, whose calls are sampled too
    # Units of work that the program reports itself, asked for by the recording's folder when it has ended.
    reported_work: Callable[[Path], float | None] | None = None

    @property
    def withholds_values(self) -> bool:
        """Some of the program's values shall not be seen."""
        return self.redact or bool(self.excluded_variables) or not self.values_depth

    @property
    def blocked_rate_hz(self) -> float:
        """At most: looks at threads that wait become rarer where they would cost too much."""
        return float(self.rate_hz) if self.clock == "wall" else 0.0


@dataclass(frozen=True)
class RunOutcome:
    """How a run ended. A failure still leaves a recording."""

    path: Path
    status: int | None  # exit status; None: ended by a signal, or still running
    signal: int | None
    stopped_by: str
    totals: Totals
    work: float | None
    notes: tuple[str, ...] = ()
    failure: WhyperfError | None = None

    @property
    def shell_status(self) -> int:
        """What a shell would have in `$?`; a target that ended by the signal we stopped it with did well."""
        if self.signal is not None:
            return 0 if self.stopped_by in ("for", "driver") and self.signal != signal.SIGKILL else 128 + self.signal
        return self.status or 0
