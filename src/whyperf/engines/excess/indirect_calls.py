"""Calls of which nobody on the stack chose whom they reach: through a pointer.

A place from which one instruction calls several functions calls whatever a pointer says. If the good runs called from
that place as well, and came there by the same calls all the way from the outermost function, then every caller did
what it always does, and which function it was lay in the data. (A callee that ends in a jump to another function looks
the same, and the caller did not choose that one either.) Places are functions and lines relative to the declaration,
so that two builds can be compared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from whyperf.engines.context_tree import ContextTree
from whyperf.engines.excess.own_frames import OwnFrames
from whyperf.engines.functions import FunctionIndex
from whyperf.engines.run import Run
from whyperf.recording.schemas.tables import Clock

_MOSTLY = 0.5


@dataclass(frozen=True)
class _Site:
    function: int
    line: int  # counted from the function's declaration


@dataclass(frozen=True)
class _Calls:
    """What one side's runs were seen calling."""

    seconds: dict[tuple[_Site, int], float] = field(default_factory=lambda: defaultdict(float))  # by place and callee
    computed: set[_Site] = field(default_factory=set)


class Dispatch:
    """Stacks are read when first asked about: mostly nobody asks."""

    def __init__(self, index: FunctionIndex, tree: ContextTree, clock: Clock) -> None:
        self._index, self._tree, self._clock = index, tree, clock

    def nobody_chose(self, node: int) -> bool:
        """Whether a context was called through a pointer from where the good runs came the same way."""
        path = [int(self._tree.function[at]) for at in self._tree.path(node)]
        calls = list(pairwise(path))
        return bool(calls) and calls[-1] in self._through_pointers and self._as_ever.issuperset(calls[:-1])

    @cached_property
    def _through_pointers(self) -> set[tuple[int, int]]:
        """Callers and callees of calls through pointers, from places from which the good runs called as well."""
        known = {site for site, _ in self._good.seconds}
        computed = (self._good.computed | self._bad.computed) & known
        return _mostly(self._bad, {(site, callee) for site, callee in self._bad.seconds if site in computed})

    @cached_property
    def _as_ever(self) -> set[tuple[int, int]]:
        """Callers and callees of calls from places from which the good runs called the very function."""
        return _mostly(self._bad, self._good.seconds)

    @cached_property
    def _good(self) -> _Calls:
        return _calls(self._index, self._index.good, self._clock)

    @cached_property
    def _bad(self) -> _Calls:
        return _calls(self._index, self._index.bad, self._clock)


def _mostly(calls: _Calls, such: Collection[tuple[_Site, int]]) -> set[tuple[int, int]]:
    """Callers and callees of which most of the time was in such calls."""
    of_such: defaultdict[tuple[int, int], float] = defaultdict(float)
    of_all: defaultdict[tuple[int, int], float] = defaultdict(float)
    for (site, callee), seconds in calls.seconds.items():
        of_all[site.function, callee] += seconds
        of_such[site.function, callee] += seconds if (site, callee) in such else 0.0
    return {pair for pair, seconds in of_all.items() if of_such[pair] > _MOSTLY * seconds}


def _calls(index: FunctionIndex, runs: Sequence[Run], clock: Clock) -> _Calls:
    found = _Calls()
    for run in runs:
        called_at: dict[int, int] = {}  # by frame of the caller the one function that it was seen calling
        for frame, callee, seconds in _called(index, run, clock):
            site = _site(index, run, frame)
            if site is not None:
                found.seconds[site, callee] += seconds
                if called_at.setdefault(frame, callee) != callee:
                    found.computed.add(site)
    return found


def _site(index: FunctionIndex, run: Run, frame: int) -> _Site | None:
    function, line = index.of_frame[run][frame], run.frame_line[frame]
    declared = index.declared_line[run].get(function, 0)
    return _Site(function, line - declared) if line and declared else None


def _called(index: FunctionIndex, run: Run, clock: Clock) -> Iterator[tuple[int, int, float]]:
    """The frame of each call between functions of the program's own, the callee, and the time that it took."""
    frames, function_of, time = OwnFrames(index, run), index.of_frame[run], run.time(clock)
    for stack, seconds in zip(time.stack.tolist(), time.seconds.tolist(), strict=True):
        for caller, callee in pairwise(frames.of(stack)):
            if seconds > 0.0:
                yield caller, function_of[callee], seconds
