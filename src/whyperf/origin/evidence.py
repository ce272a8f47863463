"""Pairs of runs, and what they showed so far: each place is looked at once in a good and in a bad run. Where there is
one command alone, only that is run, and the good side of everything is empty."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from whyperf.collect.dependences.last_writers import LastWriters, Reader
from whyperf.collect.observation.sites import (
    RECORD,
    ObservationLimits,
    Observed,
    ObservedSite,
    Rows,
    Watch,
    file_named,
)
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.program import Program
from whyperf.origin.points import Point
from whyperf.origin.program_code import BuildSide, Modules, ProgramCode
from whyperf.origin.values import UNSEEN, Sample, UInt64s

MOST_POINTS = 60
_ROOM_ALONE = 32768
"""Records of all places: what a run has room for."""
_TRAPS_TO_COUNT = 100_000
"""Of a place, or of one run alone of all places: a second or two of a run."""


class Observe(Protocol):
    def __call__(
        self,
        program: Program,
        sites: Sequence[ObservedSite],
        *,
        watches: Sequence[Watch] = (),
        lifecycle: Lifecycle,
        environment: Mapping[str, str],
        limits: ObservationLimits = ...,
    ) -> Observed: ...


class AskWriters(Protocol):
    def __call__(
        self,
        program: Program,
        reader: Reader,
        modules: Sequence[Path],
        *,
        lifecycle: Lifecycle,
        environment: Mapping[str, str],
        seconds: float,
    ) -> LastWriters: ...


class OutOfBudgetError(Exception):
    """The reason, in a sentence."""


@dataclass(frozen=True)
class Targets:
    """What is run: good, then bad."""

    programs: tuple[Program, Program]
    lifecycles: tuple[Lifecycle, Lifecycle]
    environment: Mapping[str, str]
    is_alone: bool = False
    """Nothing is compared: only the bad one is run."""


@dataclass(frozen=True)
class Observing:
    """How runs are made, and whom to tell."""

    observe: Observe
    progress: Callable[[str], None] = lambda _: None
    ask_writers: AskWriters | None = None
    """By a run under Valgrind; None: that was not allowed."""


@dataclass(frozen=True)
class Bounds:
    most_runs: int
    deadline: float
    """By the monotonic clock."""
    budget_s: float


@dataclass(frozen=True, eq=False)
class Looked:
    """What one side showed at one point."""

    rows: Rows
    total: int
    complete: bool
    files: Rows = field(default_factory=lambda: np.zeros(0, RECORD))
    """Records of the files that a call was given."""

    def file_of(self, row: Rows) -> str:
        """The path of the file at one hit; empty: unknown."""
        same = self.files[(self.files["hit"] == row["hit"]) & (self.files["thread"] == row["thread"])]
        return file_named(same[0]) if len(same) == 1 else ""

    @property
    def is_counted(self) -> bool:
        """Not where the good build has no such place, or the place could not be watched: 0 would be no count."""
        return self.total > 0 or self.complete

    def sample(self, values: UInt64s, *, is_text: bool = False, is_float: bool = False) -> Sample:
        if len(values) != len(self.rows):
            return UNSEEN
        return Sample(values, self.rows["hit"], self.total, self.complete, is_text, is_float)


@dataclass(frozen=True, eq=False)
class WatchedWrites:
    """A pair of runs with watched addresses."""

    observed: tuple[Observed, Observed]

    def writes(self, side: BuildSide) -> Rows:
        return self.observed[side].writes

    def lost(self, side: BuildSide) -> bool:
        """Whether some are missing: then reads seem to see an earlier one."""
        return self.observed[side].lost > 0


@dataclass(eq=False)
class KnownPlaces:
    """What runs of two programs have shown, which several searches may share."""

    looked: dict[tuple[Path, int], tuple[Looked, Looked]] = field(default_factory=dict)
    points: dict[tuple[Path, int], Point] = field(default_factory=dict)
    modules: tuple[Modules, Modules] = ((), ())


class OriginEvidence:
    def __init__(
        self,
        code: ProgramCode,
        targets: Targets,
        bounds: Bounds,
        observing: Observing,
        known: KnownPlaces | None = None,
    ) -> None:
        self._code, self._targets, self._bounds, self._observing = code, targets, bounds, observing
        self._known = known or KnownPlaces()
        self.runs = 0
        self.unseen: dict[str, None] = {}  # sentences: what runs did not show

    @property
    def is_alone(self) -> bool:
        return self._targets.is_alone

    @property
    def modules(self) -> tuple[Modules, Modules]:
        return self._known.modules

    def has_room(self, runs: int) -> bool:
        """Whether so many more may be made, and half of the time is left."""
        left = self._bounds.deadline - time.monotonic()
        return self.runs + runs <= self._bounds.most_runs and left > self._bounds.budget_s / 2

    def point(self, key: tuple[Path, int]) -> Point | None:
        return self._known.points.get(key)

    def both(self, key: tuple[Path, int]) -> tuple[Looked, Looked] | None:
        """What good and bad runs showed there."""
        return self._known.looked.get(key)

    def looked(self, key: tuple[Path, int], side: BuildSide) -> Looked | None:
        found = self._known.looked.get(key)
        return None if found is None else found[side]

    def look(self, points: Iterable[Point], why: str, most: int = MOST_POINTS) -> None:
        """At those that were not looked at yet, in one pair of runs; none where there are none."""
        joined: dict[tuple[Path, int], Point] = {}
        for point in points:
            if self.serves(point) or not (point.key in joined or len(joined) < most):
                continue
            known = joined.get(point.key) or self._known.points.get(point.key)
            joined[point.key] = known.joined(point) if known is not None else point
        if joined:
            self._run(list(joined.values()), ((), ()), why)

    def serves(self, wanted: Point) -> bool:
        """Whether a place was looked at already in the way that is wanted, or in one that rules that out."""
        known = self._known.points.get(wanted.key)
        return known is not None and known.joined(wanted) == known

    def count(self, points: Sequence[Point], why: str) -> None:
        """How often few places are passed, in one pair of runs: exactly, unless that is very often."""
        wanted = [one for one in points if not (self._is_counted(one.key) and self.serves(one))]
        if wanted:
            joined = [known.joined(one) if (known := self._known.points.get(one.key)) else one for one in wanted]
            self._run(joined, ((), ()), why, traps=_TRAPS_TO_COUNT)

    def _is_counted(self, key: tuple[Path, int]) -> bool:
        found = self._known.looked.get(key)
        sides = (BuildSide.BAD,) if self.is_alone else BuildSide
        return found is not None and all(found[side].complete for side in sides)

    def look_again(self, points: Sequence[Point], why: str) -> None:
        """At all of them in one pair of runs, whatever was seen before: so that their order can be told."""
        joined: dict[tuple[Path, int], Point] = {}
        for point in points[:MOST_POINTS]:
            joined[point.key] = joined[point.key].joined(point) if point.key in joined else point
        self._run(list(joined.values()), ((), ()), why, self._traps(len(joined)))

    def watch(self, reader: Point, watches: tuple[Sequence[Watch], Sequence[Watch]], why: str) -> WatchedWrites:
        """Who writes to addresses, one list a side, while a reader is looked at again."""
        return WatchedWrites(self._run([reader], watches, why, self._traps(1)))

    @property
    def is_deep(self) -> bool:
        """Whether programs may be run under Valgrind."""
        return self._observing.ask_writers is not None

    def last_writers(self, reader: Point, offset: int, size: int) -> tuple[LastWriters, LastWriters]:
        """Who wrote what a place reads, in a good and a bad run under Valgrind. They may take half of the time that is
        left; the bad one, which is the slower one, comes first. WhyperfError where one of them comes to no end."""
        self._check_runs()
        self._observing.progress("asking Valgrind who writes it")
        ends = time.monotonic() + self._left() / 2
        bad = self._writers_of(BuildSide.BAD, reader, offset, size, ends)
        if self.is_alone:
            return LastWriters({}, 0), bad
        return self._writers_of(BuildSide.GOOD, reader, offset, size, ends), bad

    def _writers_of(self, side: BuildSide, reader: Point, offset: int, size: int, ends: float) -> LastWriters:
        where = reader.key if side is BuildSide.BAD else self._code.in_good(self._code.at(*reader.key))
        paths = [Path(name).resolve() for name, _ in self.modules[side] if name.startswith("/")]
        own = [path for path in paths if self._code.is_program(self._code.module(path))]
        if self._observing.ask_writers is None or where is None or where[0] not in own:
            return LastWriters({}, 0)
        self.runs += 1
        return self._observing.ask_writers(
            self._targets.programs[side],
            Reader(*where, offset, size),
            own,
            lifecycle=self._targets.lifecycles[side],
            environment=self._targets.environment,
            seconds=max(1.0, ends - time.monotonic()),
        )

    def _check_runs(self) -> None:
        if self.runs + (1 if self.is_alone else 2) > self._bounds.most_runs:
            raise OutOfBudgetError("no more runs are allowed")

    def _left(self) -> float:
        left = self._bounds.deadline - time.monotonic()
        if left <= 0:
            raise self._used_up()
        return left

    def _run(
        self,
        points: Sequence[Point],
        watches: tuple[Sequence[Watch], Sequence[Watch]],
        why: str,
        traps: int = ObservationLimits.traps,
    ) -> tuple[Observed, Observed]:
        self._check_runs()
        self._observing.progress(why)
        if self.is_alone:
            bad = self._one(BuildSide.BAD, points, watches, traps)
            seen = (_not_run(bad), bad)
        else:
            good = self._one(BuildSide.GOOD, points, watches, traps)
            seen = (good, self._one(BuildSide.BAD, points, watches, traps))
        if self._code.pair_libraries(seen[0].modules, seen[1].modules):  # now it is known where the good run has them
            seen = (self._one(BuildSide.GOOD, points, watches, traps), seen[1])
        with_files = [number for number, point in enumerate(points) if point.file is not None]
        files = {number: len(points) + row for row, number in enumerate(with_files)}
        for number, point in enumerate(points):
            first, second = (_looked(seen[side], number, files.get(number)) for side in BuildSide)
            self._known.points[point.key] = point
            self._known.looked[point.key] = first, second
        self._known.modules = (seen[0].modules, seen[1].modules)
        return seen

    def _one(
        self, side: BuildSide, points: Sequence[Point], watches: tuple[Sequence[Watch], Sequence[Watch]], traps: int
    ) -> Observed:
        left = self._left()
        sites = [self._site(side, point) for point in points]
        sites += [self._site(side, point, of_file=True) for point in points if point.file is not None]
        self.runs += 1
        found = self._observing.observe(
            self._targets.programs[side],
            [site for site in sites if site is not None],
            watches=watches[side],
            lifecycle=self._targets.lifecycles[side],
            environment=self._targets.environment,
            limits=ObservationLimits(self._records(len(sites)), traps, seconds=left),
        )
        if found.failure is not None:
            raise found.failure
        self.unseen |= dict.fromkeys(found.unseen)
        if found.stopped_by == "for" and time.monotonic() >= self._bounds.deadline:  # a part of a run says nothing
            raise self._used_up()
        if any(site is None for site in sites):
            found = _spread(found, [site is not None for site in sites])
        return found

    def _records(self, points: int) -> int:
        """Of each place, before only every second hit is recorded: of one run alone as many as there is room for, since
        shares would be wrong where code takes turns. Further hits are counted, as of unknown makers."""
        usual = ObservationLimits.records
        return max(usual, _ROOM_ALONE // max(1, points)) if self.is_alone else usual

    def _traps(self, points: int) -> int:
        """Of each place, before it is left alone: of one run alone as many as there is time for, since what came first
        says nothing of shares."""
        usual = ObservationLimits.traps
        return max(usual, _TRAPS_TO_COUNT // max(1, points)) if self.is_alone else usual

    def _used_up(self) -> OutOfBudgetError:
        return OutOfBudgetError(f"the budget of {self._bounds.budget_s:.0f} s is used up")

    def _site(self, side: BuildSide, point: Point, *, of_file: bool = False) -> ObservedSite | None:
        where: tuple[Path, int] | None = point.key
        if side is BuildSide.GOOD:
            where = self._code.in_good(self._code.at(point.path, point.address))
        if where is None:
            return None
        return point.site_of_file(*where) if of_file else point.site(*where)


def _looked(observed: Observed, number: int, of_file: int | None) -> Looked:
    files = observed.of(of_file) if of_file is not None else np.zeros(0, RECORD)
    return Looked(observed.of(number), observed.hits[number], observed.complete[number], files)


def _not_run(other: Observed) -> Observed:
    """In place of a run that is not made: nothing is known of any site."""
    many = len(other.hits)
    nothing = replace(other, records=other.records[:0], writes=other.writes[:0])
    return replace(nothing, hits=(0,) * many, complete=(False,) * many, placed=(False,) * many)


def _spread(found: Observed, there: Sequence[bool]) -> Observed:
    """With places for the sites that the good build does not have."""
    numbers = np.flatnonzero(there)
    records = found.records.copy()
    records["site"] = numbers[records["site"]] if len(records) else records["site"]
    rest = iter(zip(found.hits, found.complete, found.placed, strict=True))
    all_of = [next(rest) if one else (0, False, False) for one in there]
    hits, complete, placed = zip(*all_of, strict=True)
    return replace(found, records=records, hits=hits, complete=complete, placed=placed)
