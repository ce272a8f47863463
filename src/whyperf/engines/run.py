"""One run as engines see it: seconds per calling context within the window, and the work done meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from whyperf.engines.holdings import holdings_of, holds_memory
from whyperf.engines.kernel.blocked_waits import BlockedWaits, which_count
from whyperf.engines.recording_protocol import Recorded
from whyperf.recording.schemas.tables import Clock
from whyperf.recording.sealed.manifest import Manifest

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

ONE_RUN = "run"

_USUAL_BLOCKED_RATE_HZ = 50.0
_ASKED_FOR_SOURCE = 3  # recordings: each holds it around the lines that were sampled in it


@dataclass(frozen=True)
class Work:
    unit: str
    count: float


@dataclass(frozen=True)
class StackTime:
    """Time per distinct stack; of `Clock.MEMORY` the bytes that are in use at the peak.

    `squares` is the variance of `seconds`. CPU samples arrive as Poisson events: the sum of their squared weights. A
    blocked thread was watched as long as it was blocked: only the ends of the wait are uncertain, by one look.
    """

    stack: Ints
    seconds: Floats
    squares: Floats
    samples: Ints

    @property
    def total_s(self) -> float:
        return float(self.seconds.sum())

    @property
    def total_samples(self) -> int:
        return int(self.samples.sum())


@dataclass(frozen=True)
class Tally:
    """What a run's samples come to, however many there are."""

    work: Work
    times: dict[Clock, StackTime]


class Run:
    """A recording with its columns at hand. Tables are read when first asked for."""

    def __init__(
        self,
        recording: Recorded,
        *,
        waits: BlockedWaits = BlockedWaits.ALL,
        parts: Floats | None = None,
        tally: Tally | None = None,
    ) -> None:
        """`waits`: which ones of blocked threads count, and by sample which `parts` of them; `tally`, if known."""
        self.recording = recording
        self._waits, self._parts = waits, parts
        if tally is not None:
            self._tally = tally

    def __getstate__(self) -> dict[str, Any]:
        """What was read is read again by whoever gets the run."""
        return {name: value for name, value in vars(self).items() if name in ("recording", "_waits", "_parts")}

    @property
    def manifest(self) -> Manifest:
        return self.recording.manifest

    @property
    def work(self) -> Work:
        return self._tally.work

    def time(self, clock: Clock) -> StackTime:
        return self._tally.times[clock]

    def threads_in(self, clock: Clock, stacks: Ints) -> int:
        """How many threads were seen in any of these stacks."""
        table = self.recording.table("samples")
        seen = self._counted[clock] & np.isin(column(table, "stack"), stacks)
        return len(np.unique(column(table, "thread")[seen]))

    @cached_property
    def _counted(self) -> dict[Clock, npt.NDArray[np.bool_]]:
        return _counted(self.recording.table("samples"), self.recording, self._waits)

    @cached_property
    def _tally(self) -> Tally:
        return tally(self._waits, self.recording, self._parts)

    @cached_property
    def stack_parent(self) -> list[int]:
        return ints(self.recording.table("stacks"), "parent")

    @cached_property
    def stack_frame(self) -> list[int]:
        return ints(self.recording.table("stacks"), "frame")

    @cached_property
    def frames(self) -> pa.Table:
        return self.recording.table("frames")

    @cached_property
    def frame_line(self) -> list[int]:
        return ints(self.frames, "line")

    @cached_property
    def frame_block(self) -> list[int]:
        return ints(self.frames, "block")

    @cached_property
    def frame_in_loop(self) -> list[int]:
        return ints(self.frames, "in_loop")

    @cached_property
    def decided_by(self) -> dict[int, int]:
        """By frame the line of its function that decides that the frame is reached, where one does."""
        table = self.recording.table("decisions")
        return {frame: line for frame, line in zip(ints(table, "frame"), ints(table, "line"), strict=True) if line}

    @cached_property
    def in_every_round(self) -> set[int]:
        """Frames that are reached in every round of the loop of which the deciding line says whether it goes on."""
        table = self.recording.table("decisions")
        return set(ints(table.filter(table.column("every_round")), "frame"))

    @cached_property
    def in_every_call(self) -> set[int]:
        """Frames that are reached in every call of their function."""
        table = self.recording.table("decisions")
        return set(ints(table.filter(table.column("every_call")), "frame"))

    @cached_property
    def inlined_everywhere(self) -> set[str]:
        """Functions of which no binary holds an out-of-line copy."""
        table = self.recording.table("functions")
        inlined = table.column("inlined")
        return set(texts(table.filter(inlined), "name")) - set(texts(table.filter(pc.invert(inlined)), "name"))

    @cached_property
    def source(self) -> dict[str, dict[int, str]]:
        """The stored source by file and line, as far as it was stored."""
        table = self.recording.table("source")
        found: dict[str, dict[int, str]] = {}
        columns = zip(texts(table, "file"), ints(table, "first_line"), texts(table, "text"), strict=True)
        for file, first, text in columns:
            found.setdefault(file, {}).update(enumerate(text.split("\n"), first))
        return found

    @cached_property
    def source_digest(self) -> dict[str, str]:
        """Of the whole file, by file of which some source is stored."""
        table = self.recording.table("source")
        return dict(zip(texts(table, "file"), texts(table, "sha256"), strict=True))

    @cached_property
    def frame_chain(self) -> list[tuple[int, ...]]:
        """For every frame the functions at that address, outermost first: the out-of-line one, then what it inlined."""
        inlined_in = ints(self.frames, "inlined_in")
        chains: list[tuple[int, ...]] = []
        for frame in range(len(inlined_in)):
            chain = [frame]
            while (outer := inlined_in[chain[-1]]) >= 0 and len(chain) <= len(inlined_in):
                chain.append(outer)
            chains.append(tuple(reversed(chain)))
        return chains


def tally(of_waits: BlockedWaits, recording: Recorded, parts: Floats | None = None) -> Tally:
    table, manifest = recording.table("samples"), recording.manifest
    stacks, seconds = column(table, "stack"), column(table, "weight") / 1e9
    seconds = seconds if parts is None else seconds * parts
    counted = _counted(table, recording, of_waits)
    running, blocked = counted[Clock.CPU], counted[Clock.BLOCKED] & (seconds > 0)
    look = 1 / (manifest.sampling.blocked_rate_hz or _USUAL_BLOCKED_RATE_HZ)
    waits = seconds[blocked]
    times = {
        Clock.CPU: _by_stack(stacks[running], seconds[running], seconds[running], np.ones(running.sum())),
        Clock.BLOCKED: _by_stack(stacks[blocked], waits, np.minimum(waits, look), np.ceil(waits / look)),
    }
    if holds_memory(recording):
        held = holdings_of(recording)
        there = np.flatnonzero(held.at_peak & (held.stack >= 0))
        times[Clock.MEMORY] = _by_stack(held.stack[there], held.weight[there], held.weight[there], np.ones(len(there)))
    else:
        times[Clock.MEMORY] = _by_stack(stacks[:0], seconds[:0], seconds[:0], seconds[:0])
    return Tally(_work_done(recording), times)


def ended_by_themselves(runs: Sequence[Run]) -> bool:
    return all(run.manifest.stopped_by == "exit" for run in runs)


def common_unit(runs: Iterable[Run]) -> str:
    """Of work: what all of the runs count, whole runs where they do not count the same."""
    units = {run.work.unit for run in runs}
    return units.pop() if len(units) == 1 else ONE_RUN


def _work_done(recording: Recorded) -> Work:
    """The last count of the window; one per run where nothing was counted."""
    table = recording.table("work")
    if table.num_rows == 0:
        return Work(ONE_RUN, 1.0)
    times, counts = column(table, "time"), column(table, "count")
    inside = np.flatnonzero(times <= recording.manifest.window.end)
    last = inside[np.argmax(times[inside])] if len(inside) else int(np.argmin(times))
    unit = str(table.column("unit")[int(last)].as_py())
    if not np.isfinite(counts[last]) or counts[last] <= 0:
        return Work(ONE_RUN, 1.0)
    return Work(unit, float(counts[last]))


def _counted(samples: pa.Table, recording: Recorded, waits: BlockedWaits) -> dict[Clock, npt.NDArray[np.bool_]]:
    """Which samples count for each clock."""
    time, clocks, window = column(samples, "time"), column(samples, "clock"), recording.manifest.window
    inside = (time >= window.start) & (time <= window.end)
    blocked = inside & (clocks == Clock.BLOCKED) & which_count(waits, samples, recording)
    return {Clock.CPU: inside & (clocks == Clock.CPU), Clock.BLOCKED: blocked}


def source_lines(runs: Sequence[Run], file: str) -> dict[int, str]:
    """What the first recordings that hold anything of a source file hold of it, as long as it is the same file."""
    holding = list(islice((run for run in runs if file in run.source), _ASKED_FOR_SOURCE))
    same = [run.source[file] for run in holding if run.source_digest[file] == holding[0].source_digest[file]]
    return {number: text for lines in same for number, text in lines.items()}


def column(table: pa.Table, name: str) -> npt.NDArray[Any]:
    values: npt.NDArray[Any] = table.column(name).to_numpy()
    return values


def ints(table: pa.Table, name: str) -> list[int]:
    return [int(value) for value in column(table, name).tolist()]


def texts(table: pa.Table, name: str) -> list[str]:
    return [str(value) for value in table.column(name).to_pylist()]


def sums(group: Ints, values: Floats, groups: int) -> Floats:
    """Values added up by group number."""
    return np.bincount(group, weights=values, minlength=groups).astype(np.float64, copy=False)


def _by_stack(stacks: npt.NDArray[Any], seconds: Floats, errors: Floats, samples: Floats) -> StackTime:
    unique, where = np.unique(stacks.astype(np.int64), return_inverse=True)
    size = len(unique)
    return StackTime(
        unique,
        sums(where, seconds, size),
        sums(where, errors * errors, size),
        sums(where, samples, size).astype(np.int64),
    )
