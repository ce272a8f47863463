"""What is investigated: a good and a bad way to run a program, and what may be spent on it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.loaded_files import paths_of
from whyperf.collect.target.program import Program
from whyperf.errors import WhyperfError


@dataclass(frozen=True)
class UnitsOfWork:
    """How recorded runs counted them, if it was not a driver."""

    calls: tuple[str, str] = ("", "")
    """Of which functions, good and bad."""
    are_timed: bool = False
    """The latency is that of those calls."""
    reported: str = ""
    """What they are called, if the program itself reports them."""


@dataclass(frozen=True)
class Subject:
    good: Program
    bad: Program
    lifecycles: tuple[Lifecycle, Lifecycle]  # good, bad
    environment: Mapping[str, str]
    output_files: tuple[Path, ...] = ()  # that runs write, and that forcing must not change
    units: UnitsOfWork = UnitsOfWork()

    @property
    def has_two_builds(self) -> bool:
        """Good and bad runs are made of other files."""
        good, bad = (set(paths_of(one, self.environment)) for one in (self.good, self.bad))
        return good != bad

    @cached_property
    def why_calls_not_counted(self) -> str:
        """Why runs that force values cannot count the calls that are units of work; empty: they can."""
        from whyperf.collect.runs.work_count import counter_again

        for program, lifecycle, calls in zip((self.good, self.bad), self.lifecycles, self.units.calls, strict=True):
            try:
                if calls:
                    counter_again(calls, program, self.environment, lifecycle.folder).close()
            except WhyperfError as error:
                return f"Runs that force values cannot count the units of work, calls of `{calls}`. {error.sentence}"
        return ""


MOST_RUNS = 20
"""One chain of the blind sets takes 4 to 20, most take 6 to 12 (bench/proven-*.json); a clear trial takes 5 to 11."""


@dataclass(frozen=True)
class ProofBounds:
    ends: float  # by the monotonic clock
    runs: int = MOST_RUNS  # that follow and force values, all together
    deep: bool = False  # runs under Valgrind are allowed

    @property
    def left_s(self) -> float:
        return max(0.0, self.ends - time.monotonic())

    def part(self, share: float) -> ProofBounds:
        """Of the time that is left."""
        return replace(self, ends=time.monotonic() + share * self.left_s)


Say = Callable[[str], None]
"""What is going on now."""
