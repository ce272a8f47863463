"""From a perf.data file to a sealed recording."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from whyperf.collect import folder as folders
from whyperf.collect.sampler import tables_folder
from whyperf.collect.seal import Progress
from whyperf.collect.seal.evidence import without_samples
from whyperf.collect.seal.sealing import sealed_tables
from whyperf.collect.seal.symbols import DebugInfo
from whyperf.collect.start import Start
from whyperf.collect.tracer.traced import TRACED_SAMPLES, Traced, TracedStacks
from whyperf.errors import WhyperfError
from whyperf.importers.perf_data.address_spaces import cut_reasons, unwind_copies
from whyperf.importers.perf_data.binaries import Binaries
from whyperf.importers.perf_data.bookkeeping import Bookkeeping, Mapped, keep_books
from whyperf.importers.perf_data.container import Container, open_container
from whyperf.importers.perf_data.events import ThreadNumbers, Translated, translate
from whyperf.importers.perf_data.kernel_names import KERNEL, KernelNames, kernel_names
from whyperf.importers.perf_data.layout import MODE_KERNEL, Misc
from whyperf.importers.perf_data.participants import participants
from whyperf.importers.perf_data.samples import Decoded, Samples, decode
from whyperf.importers.perf_data.system_calls import fill_system_calls
from whyperf.importers.perf_data.weights import Timed, timed_samples
from whyperf.recording.events import EventKind
from whyperf.recording.manifest import Host, Sampling, Totals, Trace
from whyperf.recording.plain import to_plain
from whyperf.recording.reader import Recording
from whyperf.recording.ringrecords import CUT_REASONS
from whyperf.recording.writer import write_recording

_FIRST_KERNEL_ADDRESS = np.uint64(1 << 63)
_KERNEL_STACK = 1  # flag of a traced stack
_CUT_SHIFT = 8
_KINDS_NAMED = 5


def import_perf_data(
    path: Path, output: Path, *, force: bool = False, source: str = "perf.data", progress: Progress | None = None
) -> Recording:
    """Makes the recording `output` of a perf.data file; `source` says in its manifest how it came about."""
    report = progress or (lambda _what, _done: None)
    kept = folders.create(output, force=force)
    try:
        report(f"reading {path.name}", 0.0)
        read = _read(path)
        evidence = without_samples(_start(read), _traced(read, source), _said(read))
        manifest, tables = sealed_tables(evidence, report, DebugInfo())
        losses = replace(manifest.losses, samples_dropped=read.books.lost, stacks_cut=read.cut)
        report("writing tables", 0.9)
        write_recording(output, replace(manifest, losses=losses), tables)
    except BaseException:
        shutil.rmtree(output, ignore_errors=True)
        raise
    finally:
        kept.release()
    return Recording(output)


@dataclass(frozen=True)
class _Read:
    """All that the file says, understood."""

    container: Container
    books: Bookkeeping
    decoded: Decoded
    nameless: int  # samples of threads that had all but ended
    timed: Timed
    binaries: Binaries
    events: Translated
    kernel: KernelNames
    stacks: TracedStacks
    begin: int
    end: int

    @property
    def samples(self) -> Samples:
        return self.decoded.samples

    @property
    def cut(self) -> dict[str, int]:
        return cut_reasons(self.samples[self.timed.rows], CUT_REASONS)

    @property
    def kernel_build_id(self) -> str:
        return self.container.features.build_ids.get(KERNEL, "")


def _read(path: Path) -> _Read:
    container = open_container(path)
    books = keep_books(container)
    decoded = decode(container, tables_folder())
    samples = decoded.samples
    binaries = Binaries(container.features.build_ids, container.changed_ns)
    unwind_copies(samples, container.data, decoded.decoder, books.happenings, binaries)
    threads = _threads(samples, books)
    nameless = threads.name_nobodies(samples, container.data)
    timed = timed_samples(samples, container.events)
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
    return _Read(container, books, decoded, nameless, timed, binaries, events, kernel, stacks, begin, end)


def _nothing_of_use(path: Path, passed_over: dict[str, int]) -> WhyperfError:
    return WhyperfError(
        f"{path} holds samples of {_listed(passed_over)} only, which tell neither time nor waits.",
        "perf record -e cpu-clock -g -- COMMAND",
    )


def _listed(counts: dict[str, int]) -> str:
    names = [name if name.isprintable() else "?" for name in sorted(counts, key=lambda name: -counts[name])]
    more = f" and {len(names) - _KINDS_NAMED} more" if len(names) > _KINDS_NAMED else ""
    return ", ".join(names[:_KINDS_NAMED]) + more


def _threads(samples: Samples, books: Bookkeeping) -> ThreadNumbers:
    told = np.array([(one.tid, one.pid) for one in books.happenings if not isinstance(one, Mapped)], np.uint32)
    told = told.reshape(-1, 2)
    both = samples["tid"].astype(np.uint64) << np.uint64(32) | samples["pid"]
    seen = np.unique(both[np.append(True, both[1:] != both[:-1])[: len(both)]])  # mostly one thread follows itself
    seen = seen[seen.astype(np.uint32) != np.uint32(0xFFFFFFFF)]
    tid = np.concatenate([(seen >> np.uint64(32)).astype(np.uint32), told[:, 0]])
    pid = np.concatenate([seen.astype(np.uint32), told[:, 1]])
    return ThreadNumbers(tid, pid)


def _stacks(decoded: Decoded) -> TracedStacks:
    raw_pcs, raw_ends = decoded.decoder.stacks()
    pcs, ends = np.frombuffer(raw_pcs, np.uint64), np.frombuffer(raw_ends, np.int64)
    count = len(ends)
    flags = np.zeros(count + 1, np.uint16)  # by number: from 1 on
    flags[decoded.samples["user_stack"]] = decoded.samples["cut"].astype(np.uint16) << _CUT_SHIFT
    starts = np.concatenate((np.zeros(1, np.int64), ends[:-1])) if count else ends
    flags = flags[1:]
    flags[pcs[starts] >= _FIRST_KERNEL_ADDRESS] |= _KERNEL_STACK
    return TracedStacks(np.arange(1, count + 1, dtype=np.uint32), ends, pcs, flags)


def _traced(read: _Read, source: str) -> Traced:
    switched = bool((read.events.records["kind"] == EventKind.SWITCH).any())
    people = participants(read.books.happenings, read.binaries, read.begin, switches=not switched)
    known = read.events.records
    coming = people.records[np.argsort(people.records["time"], kind="stable")]
    records = np.insert(known, np.searchsorted(known["time"], coming["time"]), coming)
    fill_system_calls(records)
    command = read.container.features.command
    return Traced(
        records=records,
        stacks=read.stacks,
        trace=Trace(
            source=source,
            scope=_scope(command),
            sample_hz=read.timed.rate_hz,
            events_lost=read.books.lost,
            clock="monotonic" if all(one.monotonic for one in read.container.events) else "unaligned",
            passed_over=read.events.passed_over,
        ),
        processes=people.processes,
        threads=people.threads,
        mappings=people.mappings,
        kernel_symbols=read.kernel.symbols,
        kernel_base=read.kernel.base,
        kernel_build_id=read.kernel_build_id,
        damaged_bytes=read.container.damaged_bytes,
    )


def _scope(command: Sequence[str]) -> str:
    """From perf's own options, which end where the recorded command begins."""
    options = list(command[: command.index("--")] if "--" in command else command)
    if any(option in ("-a", "--all-cpus") for option in options):
        return "all"
    return "process" if any(option.startswith(("-p", "-t", "--pid", "--tid")) for option in options) else "tree"


def _start(read: _Read) -> Start:
    features = read.container.features
    clock = features.real_minus_clock
    real = read.begin + clock if clock is not None else read.container.changed_ns - (read.end - read.begin)
    command = features.command
    return Start(
        command=command[command.index("--") + 1 :] if "--" in command else command,
        environment_names=(),
        sampling=Sampling(rate_hz=read.timed.rate_hz, clock="cpu", source=TRACED_SAMPLES),
        work_unit="run",
        skip_ns=0,
        host=Host(features.host, features.kernel, features.machine or "x86_64", features.cpus),
        start_monotonic=read.begin,
        start_real=real,
    )


def _said(read: _Read) -> list[dict[str, Any]]:
    """What a recorder of our own would have put into its log."""
    return [
        {"type": "totals", "at": "stop", "totals": to_plain(_totals(read))},
        {"type": "losses", "notes": _notes(read)},
        {"type": "stop", "time": read.end, "stopped_by": "imported"},
    ]


def _totals(read: _Read) -> Totals:
    """As far as samples tell."""
    in_kernel = (read.samples["misc"][read.timed.rows] & Misc.CPU_MODE) == MODE_KERNEL
    kinds = read.events.records["kind"]
    switches = read.events.records[kinds == EventKind.SWITCH]
    preempted = int(np.count_nonzero(switches["result"] == 0))
    return Totals(
        wall_s=(read.end - read.begin) / 1e9,
        cpu_user_s=float(read.timed.weight[~in_kernel].sum()) / 1e9,
        cpu_system_s=float(read.timed.weight[in_kernel].sum()) / 1e9,
        max_rss_bytes=0,
        read_bytes=0,
        written_bytes=0,
        voluntary_switches=len(switches) - preempted,
        involuntary_switches=preempted,
        major_faults=0,
    )


def _notes(read: _Read) -> list[str]:
    notes = list(read.container.notes)
    if not len(read.samples):
        notes.append("perf took no samples: what was recorded ended too soon, or slept all the time.")
    if read.decoded.foreign or read.decoded.damaged:
        odd = read.decoded.foreign + read.decoded.damaged
        notes.append(f"{odd:,} samples make no sense and were passed over.")
    if read.nameless:
        notes.append(f"{read.nameless:,} samples of threads that had all but ended were passed over.")
    if read.books.throttled:
        notes.append(f"The kernel throttled sampling {read.books.throttled:,} times, since it took too much time.")
    notes += [f"{count:,} records {what} were passed over." for what, count in read.books.skipped.items()]
    if read.events.passed_over:
        total = sum(read.events.passed_over.values())
        notes.append(f"{total:,} events that say nothing of time or waits were passed over: "
                     f"{_listed(read.events.passed_over)}.")  # fmt: skip
    if read.binaries.replaced:
        files = ", ".join(shlex.quote(Path(path).name) for path in sorted(read.binaries.replaced)[:_KINDS_NAMED])
        notes.append(f"Changed since they were recorded, so that their functions have no names: {files}.")
    if read.kernel.note:
        notes.append(read.kernel.note)
    if not any(one.sample_type & (1 << 5) or one.copies_stacks for one in read.container.events):
        notes.append("Recorded without call graphs: callers are unknown (perf record -g, or --call-graph dwarf).")
    return notes
