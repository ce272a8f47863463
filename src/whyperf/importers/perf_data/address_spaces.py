"""Copied stacks unwound: each with the modules that its process had mapped at that moment."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from whyperf.collect.tracer.traced import TracedMapping
from whyperf.debuginfo.describe import VDSO
from whyperf.importers._perf_data import Decoder
from whyperf.importers.perf_data.binaries import Binaries
from whyperf.importers.perf_data.bookkeeping import Forked, Happening, MappedRange, Renamed
from whyperf.importers.perf_data.samples import Samples

_Space = tuple[TracedMapping, ...]


@dataclass
class _Process:
    times: list[int] = field(default_factory=list)
    spaces: list[_Space] = field(default_factory=list)  # from each of the times on

    @property
    def now(self) -> _Space:
        return self.spaces[-1] if self.spaces else ()

    def change(self, time: int, space: _Space) -> None:
        if self.times and self.times[-1] == time:
            self.spaces[-1] = space
        else:
            self.times.append(time)
            self.spaces.append(space)


def unwind_copies(
    samples: Samples, data: memoryview, decoder: Decoder, happenings: Iterable[Happening], binaries: Binaries
) -> None:
    """Fills the user stacks of samples that carry registers and stack memory, in place."""
    copied = np.flatnonzero(samples["registers"] != 0)
    if not len(copied):
        return
    processes = _histories(happenings, binaries)
    tables = _Tables(decoder, binaries)
    number = np.full(len(samples), -1, np.int32)
    for pid in np.unique(samples["pid"][copied]).tolist():
        mine = copied[samples["pid"][copied] == pid]
        process = processes.get(pid, _Process([0], [()]))
        epoch = np.searchsorted(np.array(process.times, np.uint64), samples["time"][mine], side="right") - 1
        numbers = np.full(len(process.spaces), -1, np.int32)
        for used in np.unique(np.maximum(epoch, 0)).tolist():
            numbers[used] = tables.number(process.spaces[used])
        number[mine] = numbers[np.maximum(epoch, 0)]
    decoder.unwind(data, samples.data, number.data)


def _histories(happenings: Iterable[Happening], binaries: Binaries) -> dict[int, _Process]:
    processes: dict[int, _Process] = defaultdict(_Process)
    for one in happenings:
        if isinstance(one, MappedRange):
            mapping = binaries.mapping(one)
            process = processes[one.pid]
            kept = tuple(m for m in process.now if m.end <= one.start or one.end <= m.start)
            process.change(one.time, (*kept, mapping) if mapping else kept)
        elif isinstance(one, Renamed) and one.by_exec:
            processes[one.pid].change(one.time, ())
        elif isinstance(one, Forked) and one.pid != one.parent_pid:
            parent = processes[one.parent_pid]
            row = bisect_right(parent.times, one.time) - 1
            processes[one.pid].change(one.time, parent.spaces[row] if row >= 0 else ())
    return processes


class _Tables:
    """Unwind tables of mapped files, and the decoder's numbers of address spaces made of them."""

    def __init__(self, decoder: Decoder, binaries: Binaries) -> None:
        self._decoder, self._binaries = decoder, binaries
        self._modules: dict[str, int | None] = {}
        self._spaces: dict[_Space, int] = {}

    def number(self, space: _Space) -> int:
        if space not in self._spaces:
            rows = sorted(
                (mapping.start, mapping.end, mapping.bias, module)
                for mapping in space
                if (module := self._module(mapping)) is not None
            )
            self._spaces[space] = self._decoder.add_space(rows)
        return self._spaces[space]

    def _module(self, mapping: TracedMapping) -> int | None:
        elf = None if mapping.path == VDSO else self._binaries.of(mapping.path, mapping.build_id).elf
        file = VDSO if mapping.path == VDSO else str(elf.path) if elf else ""
        if file and file not in self._modules:
            try:
                self._modules[file] = self._decoder.add_module(file)
            except OSError:
                self._modules[file] = None
        return self._modules.get(file)


def cut_reasons(samples: Samples, reasons: tuple[str, ...]) -> dict[str, int]:
    """How many unwound stacks end early, and why."""
    counts: npt.NDArray[np.int64] = np.bincount(samples["cut"], minlength=len(reasons))
    return {reasons[number]: int(counts[number]) for number in range(1, len(reasons)) if counts[number]}
