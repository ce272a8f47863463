"""What a peer is given and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from bench.cases.case import Case, Commands, Compiling, can_be_rebuilt, commands


class PeerError(Exception):
    """The tool did not do its work; the sentence says why."""


@dataclass(frozen=True)
class Recordings:
    """whyperf's recordings of the case, for methods that are computed from them."""

    good: tuple[Path, ...]
    bad: tuple[Path, ...]


@dataclass(frozen=True)
class Trial:
    case: Case
    folder: Path  # for the tools' files
    recordings: Callable[[], Recordings]
    _built: dict[str, Commands] = field(default_factory=dict, repr=False)

    def commands(self, flags: str = "") -> Commands:
        """The case's commands; our own programs and packages can be built with more flags."""
        if flags not in self._built:
            self._built[flags] = commands(self.case, Compiling(flags))
        return self._built[flags]

    @property
    def can_be_rebuilt(self) -> bool:
        return can_be_rebuilt(self.case)


@dataclass(frozen=True)
class Ranking:
    """Function names, best suspect first; or why there is no ranking."""

    names: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class Peer:
    name: str
    rank: Callable[[Trial], Ranking]
    follows_children: bool = True
    costly: bool = False  # minutes a case
