"""What is investigated: a good and a bad way to run a program, and what may be spent on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.loaded_files import paths_of
from whyperf.collect.target.program import Program


@dataclass(frozen=True)
class Subject:
    good: Program
    bad: Program
    lifecycles: tuple[Lifecycle, Lifecycle]  # good, bad
    environment: Mapping[str, str]
    output_files: tuple[Path, ...] = ()  # that runs write, and that forcing must not change

    @property
    def has_two_builds(self) -> bool:
        """Good and bad runs are made of other files."""
        good, bad = (set(paths_of(one, self.environment)) for one in (self.good, self.bad))
        return good != bad


@dataclass(frozen=True)
class ProofBounds:
    ends: float  # by the monotonic clock
    runs: int = 20  # of each search
    deep: bool = False  # runs under Valgrind are allowed


Say = Callable[[str], None]
"""What is going on now."""
