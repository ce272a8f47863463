"""Who holds the lock that others wait for, and what it does meanwhile.

A lock is taken and released by the same code: while threads wait for it, its holder is in a function that they are in
too, at another place than the lock. Kernel events tell in which: who releases the lock wakes the next. So of the
functions on the way to a contended lock, the innermost from which it is released is the holder. Looks at waiting
threads do not say who owns a lock: there it is the innermost in which another thread runs or waits for most of that
time.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np
import numpy.typing as npt

from whyperf.engines.finding import Detail, Finding, HotLine, Place, Strength
from whyperf.engines.functions import FunctionIndex
from whyperf.engines.kernel.blocked_waits import in_locks
from whyperf.engines.kernel.lock_releases import lock_releases
from whyperf.engines.kernel.system_calls import READY, numbers
from whyperf.engines.quantities import percent, seconds
from whyperf.engines.run import Floats, Run, column, source_lines
from whyperf.recording.schemas.tables import Clock

ENGINE = "locks"
_MOST_OF_THE_TIME = 0.5  # while others wait, the holder was seen at the same place: more likely there than not
_NEARLY_ALWAYS = 0.8  # and hardly anybody else can be the holder
_LINES_AROUND = 3

Spans = list[tuple[float, float]]


@dataclass(frozen=True, kw_only=True)
class LocksDetail(Detail):
    holds: str  # who
    does: str  # meanwhile
    inside: str  # the function in which it does that
    call: str
    good_s: float
    bad_s: float
    seen: float  # part of the time in which it was seen there, or after which it released the lock


@dataclass(frozen=True)
class LockHolder:
    finding: Finding
    waiters: frozenset[int]  # functions, of the index, in which threads wait for the lock
    within: frozenset[int]  # functions in which the holder passes the time
    added_s: float  # per run, some thread waits for the lock


@dataclass(frozen=True)
class _Sample:
    span: tuple[float, float]
    own: tuple[int, ...]  # the program's functions on its stack, outermost first
    stack: int
    is_blocked: bool


class _Contention:
    """One run's waits for locks, and what threads do beside."""

    def __init__(self, run: Run, index: FunctionIndex) -> None:
        self.run = run
        self.waits: list[_Sample] = []
        self.others: list[_Sample] = []
        self._locked = in_locks(run.recording)
        self._index = index
        self._own: dict[int, tuple[int, ...]] = {}
        for stack, span, is_blocked in _samples(run):
            sample = _Sample(span, self._own_of(stack), stack, is_blocked)
            (self.waits if self._locked[stack] and is_blocked else self.others).append(sample)

    def _own_of(self, stack: int) -> tuple[int, ...]:
        if stack not in self._own:
            self._own[stack] = _own_functions(self.run, stack, self._index)
        return self._own[stack]

    @cached_property
    def _releases(self) -> Mapping[tuple[int, int], float]:
        """Seconds of waits that a release ended, by the stacks of who waited and of who released."""
        return lock_releases(self.run.recording, self._locked)

    def released(self, function: int) -> tuple[float, float]:
        """How long threads waited for the lock in the function until somebody released it, as far as events tell, and
        for how long of that until somebody in the same function did."""
        ended = {ends: lasted for ends, lasted in self._releases.items() if function in self._own_of(ends[0])}
        return sum(ended.values()), sum(s for (_, releaser), s in ended.items() if function in self._own_of(releaser))

    def waited(self, function: int | None = None) -> Spans:
        """When some thread waits for a lock, in a function if one is named."""
        return _union(one.span for one in self.waits if function is None or function in one.own)

    def beside(self, function: int) -> list[_Sample]:
        return [one for one in self.others if function in one.own]

    def seen_beside(self, function: int) -> tuple[int, int]:
        """How many looks found a thread waiting for the lock, and how many of them another one in the function.

        Looks see all threads at once, and are often too far apart to tell how long something lasted.
        """
        looks = np.unique([one.span[1] for one in (*self.waits, *self.others) if one.is_blocked])
        during = looks[_within(looks, [one.span for one in self.waits if function in one.own])]
        return len(during), int(_within(during, [one.span for one in self.beside(function)]).sum())


def find_holder(
    good: Sequence[Run],
    bad: Sequence[Run],
    index: FunctionIndex,
    *,
    added_wall_s: float,
    unit: str,
    per_unit: bool,
) -> LockHolder | None:
    """None where locks do not explain most of the added time, or nobody is seen to hold them."""
    before, after = ([_Contention(run, index) for run in side] for side in (good, bad))
    lengths = [
        [_length(one.waited()) / (one.run.work.count if per_unit else 1.0) for one in side] for side in (before, after)
    ]
    means = [sum(side) / len(side) for side in lengths]
    added = means[1] - means[0]
    if added_wall_s <= 0 or added < _MOST_OF_THE_TIME * added_wall_s:
        return None
    for function in _candidates(after):
        released = _released(after, function)
        cover = _cover(after, function) if released is None else released
        if cover >= _MOST_OF_THE_TIME:
            strength = _strength(lengths, min(1.0, added / added_wall_s) * cover, inferred=cover < _NEARLY_ALWAYS)
            said = _Said(cover, (means[0], means[1]), unit, is_released=released is not None)
            return _holder(function, after, index, said, strength)
    return None


def _candidates(runs: Sequence[_Contention]) -> list[int]:
    """Functions on the way to the lock that is waited for longest, innermost first."""
    longest: Counter[tuple[int, ...]] = Counter()
    for run in runs:
        for one in run.waits:
            longest[one.own] += round((one.span[1] - one.span[0]) * 1e9)
    chain = longest.most_common(1)[0][0] if longest else ()
    return list(dict.fromkeys(reversed(chain)))


def _cover(runs: Sequence[_Contention], function: int) -> float:
    """In how many looks that find threads waiting for the lock another one is in the function."""
    seen = [run.seen_beside(function) for run in runs]
    looks = sum(waited for waited, _ in seen)
    return sum(beside for _, beside in seen) / looks if looks else 0.0


def _released(runs: Sequence[_Contention], function: int) -> float | None:
    """For which part of the time that threads wait for the lock in the function somebody in it releases the lock; None
    where no kernel events tell."""
    ended = [run.released(function) for run in runs]
    waited_s = sum(waited for waited, _ in ended)
    return sum(inside for _, inside in ended) / waited_s if waited_s > 0 else None


@dataclass(frozen=True)
class _Said:
    """What the sentence says."""

    cover: float
    means: tuple[float, float]  # how long threads wait for the lock, good and bad
    unit: str
    is_released: bool  # `cover` tells who releases the lock, not who is seen


def _holder(
    function: int, runs: Sequence[_Contention], index: FunctionIndex, said: _Said, strength: Strength
) -> LockHolder:
    means, cover = said.means, said.cover
    inside: Counter[int] = Counter()  # innermost own function
    blocked, total = 0.0, 0.0
    stacks: defaultdict[tuple[Run, int], float] = defaultdict(float)
    for run in runs:
        waited = run.waited(function)
        for one in run.beside(function):
            lasted = _overlap(waited, [one.span])
            inside[one.own[-1]] += round(lasted * 1e9)
            stacks[run.run, one.stack] += lasted
            total += lasted
            blocked += lasted if one.is_blocked else 0.0
    within = inside.most_common(1)[0][0]
    (seen, stack), _ = max(stacks.items(), key=lambda item: item[1])
    frame = index.innermost_frame(seen, stack, function)
    line = seen.frame_line[frame] if frame is not None else 0
    known = index.functions[function]
    does = "waits" if blocked > total / 2 else "runs"
    where = "" if within == function else f" in {index.functions[within].key.name}"
    call = _called(seen, stack) if does == "waits" else ""
    shown = (
        f"{percent(cover)} of that waiting ends when a thread releases it here"
        if said.is_released
        else f"another thread is seen there in {percent(cover)} of that time"
    )
    why = (
        f"It holds a lock while it {does}{where}{f' ({call})' if call else ''}. Threads wait for that lock for "
        f"{seconds(means[1])} per {said.unit}, was {seconds(means[0])}; {shown}."
    )
    text = source_lines([each.run for each in runs], known.file)
    nearby = range(line - _LINES_AROUND, line + _LINES_AROUND + 1)
    lines = tuple(HotLine(one, 1.0 if one == line else 0.0, text[one]) for one in nearby if line and one in text)
    finding = Finding(
        ENGINE,
        known.key,
        Place(known.file, line),
        1,
        strength.high,
        strength.high,
        tuple(index.functions[one].key.name for one in _own_functions(seen, stack, index)),
        "long-wait",
        why,
        lines,
        LocksDetail(holds=known.key.name, does=does, inside=index.functions[within].key.name, call=call,
                    good_s=means[0], bad_s=means[1], seen=cover),
        strength=strength,
    )  # fmt: skip
    waiters = frozenset(one.own[-1] for each in runs for one in each.waits if one.own)
    beside = frozenset(one.own[-1] for each in runs for one in each.others if one.is_blocked and one.own)
    return LockHolder(finding, waiters - {function}, beside - {function}, means[1] - means[0])


def _strength(lengths: Sequence[Sequence[float]], share: float, *, inferred: bool) -> Strength:
    good, bad = lengths
    error = sqrt(float(np.var(good)) / len(good) + float(np.var(bad)) / len(bad))
    added = sum(bad) / len(bad) - sum(good) / len(good)
    sigma = added / error if error > 0 else 99.0
    return Strength(min(sigma, 99.0), min(bad) > max(good), share * 0.9, share, inferred=inferred)


def _samples(run: Run) -> Iterator[tuple[int, tuple[float, float], bool]]:
    table, window = run.recording.table("samples"), run.manifest.window
    time, weight, clocks = (column(table, name) for name in ("time", "weight", "clock"))
    blocked = clocks == Clock.BLOCKED
    rests = blocked & np.isin(column(table, "wait"), numbers(READY))
    inside = np.flatnonzero((time >= window.start) & (time <= window.end) & ~rests)
    stacks = column(table, "stack")
    for at in inside.tolist():
        end = int(time[at])
        yield int(stacks[at]), ((end - int(weight[at])) / 1e9, end / 1e9), bool(blocked[at])


def _own_functions(run: Run, stack: int, index: FunctionIndex) -> tuple[int, ...]:
    of_frame, own = index.of_frame[run], index.own
    found: list[int] = []
    while stack >= 0:
        functions = [of_frame[frame] for frame in reversed(run.frame_chain[run.stack_frame[stack]])]
        found += [one for one in functions if one >= 0 and own[one]]
        stack = run.stack_parent[stack]
    return tuple(reversed(found))


def _called(run: Run, stack: int) -> str:
    """The innermost function that has a name: what the wait is called."""
    names = run.recording.table("functions").column("name")
    rows = run.frames.column("function")
    number = rows[run.stack_frame[stack]].as_py()
    return str(names[number].as_py()).lstrip("_").removeprefix("libc_") if number is not None and number >= 0 else ""


def _within(moments: Floats, spans: Iterable[tuple[float, float]]) -> npt.NDArray[np.bool_]:
    """Which moments lie in any of the spans; their ends do."""
    found = np.zeros(len(moments), np.bool_)
    for start, end in _union(spans):
        found[np.searchsorted(moments, start, "left") : np.searchsorted(moments, end, "right")] = True
    return found


def _union(spans: Iterable[tuple[float, float]]) -> Spans:
    merged: Spans = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def _length(spans: Spans) -> float:
    return sum(end - start for start, end in spans)


def _overlap(one: Spans, other: Spans) -> float:
    """Of two unions, in order."""
    total, at = 0.0, 0
    for start, end in other:
        while at < len(one) and one[at][1] <= start:
            at += 1
        look = at
        while look < len(one) and one[look][0] < end:
            total += min(end, one[look][1]) - max(start, one[look][0])
            look += 1
    return total
