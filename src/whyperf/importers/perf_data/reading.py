"""All that a perf.data file says, understood."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from whyperf.collect.sampling.sampler import tables_folder
from whyperf.collect.tracer import kallsyms
from whyperf.collect.tracer.traced import KernelSymbol, TracedStacks
from whyperf.debuginfo.elf_files.perf_cache import cached_files
from whyperf.errors import WhyperfError
from whyperf.importers.perf_data.address_spaces import cut_reasons, unwind_copies
from whyperf.importers.perf_data.binaries import Binaries
from whyperf.importers.perf_data.bookkeeping import Bookkeeping, MappedRange, keep_books
from whyperf.importers.perf_data.container import Container, open_container
from whyperf.importers.perf_data.events import ThreadNumbers, Translated, translate
from whyperf.importers.perf_data.layout import NOBODY
from whyperf.importers.perf_data.samples import DecodedSamples, Samples, decode
from whyperf.importers.perf_data.weights import CpuSamples, timed_samples
from whyperf.recording.raw_log.ringrecords import CUT_REASONS

_FIRST_KERNEL_ADDRESS = np.uint64(1 << 63)
_KERNEL_STACK = 1  # flag of a traced stack
_CUT_SHIFT = 8
_NAMED = 5
KERNEL = "[kernel.kallsyms]"
_RUNNING = Path("/proc/kallsyms")
_WRAP = 1 << 64


@dataclass(frozen=True)
class PerfData:
    """Samples and records with what is needed to make something of them."""

    container: Container
    books: Bookkeeping
    decoded: DecodedSamples
    nameless: int  # samples of threads that had all but ended
    without_times: bool
    timed: CpuSamples
    binaries: Binaries
    events: Translated
    kernel: ImportedKernelNames
    stacks: TracedStacks
    begin: int
    end: int

    @property
    def samples(self) -> Samples:
        return self.decoded.samples

    @property
    def cut(self) -> dict[str, int]:
        return cut_reasons(self.samples[self.timed.rows], CUT_REASONS)


def read_perf_data(path: Path) -> PerfData:
    container = open_container(path)
    books = keep_books(container)
    decoded = decode(container, tables_folder())
    samples = decoded.samples
    binaries = Binaries(container.features.build_ids, container.changed_ns)
    if container.is_of_this_machine:
        unwind_copies(samples, container.data, decoded.decoder, books.happenings, binaries)
    threads = _threads(samples, books)
    nameless = threads.name_nobodies(samples, container.data)
    timed = timed_samples(samples, container.events)
    without_times = not samples["time"].any()
    if without_times:
        # One after the other, as if nothing had happened between them.
        samples["time"][timed.rows] = 1 + np.cumsum(timed.weight)
    events = translate(container, samples, timed, threads)
    if not len(events.records) and events.passed_over:
        raise _nothing_of_use(path, events.passed_over)
    stacks = _stacks(decoded)
    kernel = kernel_names(
        np.unique(stacks.pcs[stacks.pcs >= _FIRST_KERNEL_ADDRESS]),
        books.kernel_mappings,
        container.features.build_ids.get(KERNEL, ""),
    )
    times = [one.time for one in books.happenings if one.time]
    times += [int(samples["time"][0]), int(samples["time"][-1])] if len(samples) else []
    begin, end = (min(times), max(times)) if times else (0, 0)
    return PerfData(
        container, books, decoded, nameless, without_times, timed, binaries, events, kernel, stacks, begin, end
    )


def _nothing_of_use(path: Path, passed_over: dict[str, int]) -> WhyperfError:
    return WhyperfError(
        f"{path} holds samples of {listed(passed_over)} only, which tell neither time nor waits.",
        "perf record -e cpu-clock -g -- COMMAND",
    )


def listed(counts: dict[str, int]) -> str:
    names = [name if name.isprintable() else "?" for name in sorted(counts, key=lambda name: -counts[name])]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _threads(samples: Samples, books: Bookkeeping) -> ThreadNumbers:
    told = np.array([(one.tid, one.pid) for one in books.happenings if not isinstance(one, MappedRange)], np.uint32)
    told = told.reshape(-1, 2)
    both = samples["tid"].astype(np.uint64) << np.uint64(32) | samples["pid"]
    seen = np.unique(both[np.append(True, both[1:] != both[:-1])[: len(both)]])  # mostly one thread follows itself
    seen = seen[seen.astype(np.uint32) != np.uint32(NOBODY)]
    tid = np.concatenate([(seen >> np.uint64(32)).astype(np.uint32), told[:, 0]])
    pid = np.concatenate([seen.astype(np.uint32), told[:, 1]])
    return ThreadNumbers(tid, pid)


def _stacks(decoded: DecodedSamples) -> TracedStacks:
    raw_pcs, raw_ends = decoded.decoder.stacks()
    pcs, ends = np.frombuffer(raw_pcs, np.uint64), np.frombuffer(raw_ends, np.int64)
    count = len(ends)
    flags = np.zeros(count + 1, np.uint16)  # by number: from 1 on
    flags[decoded.samples["user_stack"]] = decoded.samples["cut"].astype(np.uint16) << _CUT_SHIFT
    starts = np.concatenate((np.zeros(1, np.int64), ends[:-1])) if count else ends
    flags = flags[1:]
    flags[pcs[starts] >= _FIRST_KERNEL_ADDRESS] |= _KERNEL_STACK
    return TracedStacks(np.arange(1, count + 1, dtype=np.uint32), ends, pcs, flags)


@dataclass(frozen=True)
class ImportedKernelNames:
    symbols: dict[int, KernelSymbol]  # by address, as stacks hold them
    base: int  # address of _text when it was recorded; 0: unknown
    build_id: str  # of the kernel, where it is known
    note: str  # why there are no names; mostly empty


def kernel_names(addresses: npt.NDArray[np.uint64], mappings: list[MappedRange], build_id: str) -> ImportedKernelNames:
    """From perf's cache of the very kernel, or from the running one if it is the same.

    `addresses` of which names are wanted; `mappings` of the kernel as perf wrote them down.
    """
    own = next((one for one in mappings if one.path.startswith(KERNEL)), None)
    base = (own.file_offset or own.start) if own else 0
    build_id = build_id or (own.build_id if own else "")
    if not len(addresses):
        return ImportedKernelNames({}, base, build_id, "")
    for path in _tables(build_id):
        names = kallsyms.KernelNames(path)
        if names and names.base:
            # Another boot of the same kernel has it all elsewhere by the same distance.
            shift = (base or names.base) - names.base
            found = names.at((addresses - np.uint64(shift % _WRAP)).tolist())
            symbols = {(address + shift) % _WRAP: symbol for address, symbol in found.items()}
            return ImportedKernelNames(symbols, base or names.base, build_id, "")
    why = "its symbols are not to be had here (perf keeps them on the machine that recorded)"
    return ImportedKernelNames({}, base, build_id, f"Functions of the kernel have no names: {why}.")


def _tables(build_id: str) -> Iterator[Path]:
    yield from (path for path in cached_files(build_id) if path.name == "kallsyms")
    if not build_id or build_id == kallsyms.kernel_build_id():
        yield _RUNNING
