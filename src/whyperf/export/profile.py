"""What all those formats ask for: threads, their samples, and call stacks of named places."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from whyperf.recording.names.identity import name_by_address
from whyperf.recording.schemas.tables import Clock
from whyperf.recording.sealed.reader import Recording

Int64 = npt.NDArray[np.int64]

UNKNOWN = "[unknown]"


@dataclass(frozen=True)
class FramePlace:
    """A line of a function."""

    function: str
    module: str
    file: str
    line: int


@dataclass(frozen=True)
class ThreadSamples:
    """One thread's samples of one clock within the window, in time order."""

    program: str
    name: str
    pid: int
    tid: int
    clock: Clock
    time: Int64
    weight: Int64  # nanoseconds
    stack: Int64  # node of the profile's tree; -1 when nothing is known


@dataclass(frozen=True)
class Profile:
    command: tuple[str, ...]
    start: int  # CLOCK_MONOTONIC of the window, nanoseconds
    end: int
    start_real: int  # the same moment in nanoseconds of the epoch
    rate_hz: float
    places: tuple[FramePlace, ...]
    parent: Int64  # of each node, an earlier one; -1 at the root
    place: Int64  # of each node
    threads: tuple[ThreadSamples, ...]

    @cached_property
    def _paths(self) -> dict[int, tuple[int, ...]]:
        return {-1: ()}

    def path(self, node: int) -> tuple[int, ...]:
        """Places from the outermost to the node's own."""
        missing = []
        at = node
        while at not in self._paths:
            missing.append(at)
            at = int(self.parent[at])
        for one in reversed(missing):
            self._paths[one] = (*self._paths[int(self.parent[one])], int(self.place[one]))
        return self._paths[node]

    def totals(self, clock: Clock) -> Iterator[tuple[ThreadSamples, int, int]]:
        """Nanoseconds by thread and node."""
        for thread in self.threads:
            if thread.clock is clock:
                nodes, where = np.unique(thread.stack, return_inverse=True)
                sums = np.bincount(where, thread.weight.astype(np.float64), len(nodes))
                for node, total in zip(nodes.tolist(), sums.tolist(), strict=True):
                    yield thread, int(node), round(total)


def profile_of(recording: Recording) -> Profile:
    places, frame_chain = _places(recording)
    parent, place, node_of_stack = _tree(recording, frame_chain)
    manifest = recording.manifest
    window = manifest.window
    return Profile(
        command=manifest.command,
        start=window.start,
        end=window.end,
        start_real=manifest.start_real + window.start - manifest.start_monotonic,
        rate_hz=manifest.sampling.rate_hz,
        places=places,
        parent=parent,
        place=place,
        threads=tuple(_threads(recording, node_of_stack)),
    )


def _places(recording: Recording) -> tuple[tuple[FramePlace, ...], list[tuple[int, ...]]]:
    """Distinct places, and those of every frame: the out-of-line function's first, then what it inlined."""
    frames = recording.table("frames").to_pydict()
    functions, modules = (
        [str(name) for name in recording.table(table).column("name").to_pylist()] for table in ("functions", "modules")
    )
    numbers: dict[FramePlace, int] = {}
    columns = zip(frames["function"], frames["module"], frames["offset"], frames["file"], frames["line"], strict=True)
    of_frame = []
    for function, module, offset, file, line in columns:
        in_module = modules[module] if module >= 0 else ""
        nameless = name_by_address(in_module, offset) if in_module else UNKNOWN
        place = FramePlace(functions[function] if function >= 0 else nameless, in_module, file, line)
        of_frame.append(numbers.setdefault(place, len(numbers)))
    inlined_in = frames["inlined_in"]
    chains = []
    for frame in range(len(of_frame)):
        chain, outer = [of_frame[frame]], inlined_in[frame]
        while outer >= 0:
            chain.append(of_frame[outer])
            outer = inlined_in[outer]
        chains.append(tuple(reversed(chain)))
    return tuple(numbers), chains


def _tree(recording: Recording, frame_chain: list[tuple[int, ...]]) -> tuple[Int64, Int64, Int64]:
    """The calling-context tree with inlined functions as nodes of their own."""
    table = recording.table("stacks")
    parents: list[int] = []
    places: list[int] = []
    numbers: dict[tuple[int, int], int] = {}
    node_of_stack: list[int] = []
    columns = (table.column(name).to_numpy().tolist() for name in ("parent", "frame"))
    for parent, frame in zip(*columns, strict=True):
        node = node_of_stack[parent] if parent >= 0 else -1
        for place in frame_chain[frame] if frame >= 0 else ():
            key = (node, place)
            if key not in numbers:
                numbers[key] = len(parents)
                parents.append(node)
                places.append(place)
            node = numbers[key]
        node_of_stack.append(node)
    return np.array(parents, np.int64), np.array(places, np.int64), np.array(node_of_stack, np.int64)


def _threads(recording: Recording, node_of_stack: Int64) -> Iterator[ThreadSamples]:
    samples = {name: recording.table("samples").column(name).to_numpy() for name in _SAMPLE_COLUMNS}
    threads = recording.table("threads").to_pydict()
    processes = recording.table("processes").to_pydict()
    window = recording.manifest.window
    inside = (samples["time"] >= window.start) & (samples["time"] <= window.end)
    nodes = np.where(samples["stack"] >= 0, np.append(node_of_stack, -1)[samples["stack"]], -1)
    for thread in range(len(threads["tid"])):
        process = threads["process"][thread]
        program = processes["executable"][process].rsplit("/", 1)[-1] if process >= 0 else ""
        for clock in (Clock.CPU, Clock.BLOCKED):
            rows = np.flatnonzero(inside & (samples["thread"] == thread) & (samples["clock"] == clock))
            if len(rows):
                yield ThreadSamples(
                    program=program or UNKNOWN,
                    name=threads["name"][thread] or program,
                    pid=processes["pid"][process] if process >= 0 else 0,
                    tid=threads["tid"][thread],
                    clock=clock,
                    time=samples["time"][rows],
                    weight=samples["weight"][rows],
                    stack=nodes[rows],
                )


_SAMPLE_COLUMNS = ("time", "thread", "stack", "weight", "clock")
