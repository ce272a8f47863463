"""From a perf.data file to a sealed recording."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from whyperf.collect.setup import folder as folders
from whyperf.collect.setup.start import Start
from whyperf.collect.tracer.system_call_numbers import number_calls
from whyperf.collect.tracer.traced import TRACED_SAMPLES, Records, Traced
from whyperf.importers.perf_data.bookkeeping import Exited, Happening, Renamed
from whyperf.importers.perf_data.layout import MODE_KERNEL, Misc, SampleType
from whyperf.importers.perf_data.participants import participants
from whyperf.importers.perf_data.reading import PerfData, listed, read_perf_data
from whyperf.importers.perf_data.system_calls import fill_system_calls
from whyperf.recording.safe_files.dataclass_json import to_plain
from whyperf.recording.schemas.events import EventKind
from whyperf.recording.sealed.manifest import Host, Manifest, Sampling, Totals, TraceSummary
from whyperf.recording.sealed.reader import Recording
from whyperf.recording.sealed.writer import Content, write_recording
from whyperf.seal.evidence import RawEvidence, without_samples
from whyperf.seal.progress import Progress, silently
from whyperf.seal.sealing import sealed_tables
from whyperf.seal.symbols import DebugInfo

_RUNNABLE = 0
_NAME_CHARACTERS = 15  # that the kernel keeps of a thread's name
_FILES_NAMED = 5


def import_perf_data(path: Path, output: Path, *, force: bool = False, progress: Progress | None = None) -> Recording:
    """Makes the recording `output` of a perf.data file. An earlier one is replaced once all of the file was read."""
    report = progress or silently
    folders.check_creatable(output, force=force)
    report(f"reading {path.name}", 0.0)
    read = read_perf_data(path)
    trace = trace_of(read, "perf.data", _scope(read.container.features.command))
    traced, whole = traced_of(read, trace), whole_program(read.books.happenings, trace.scope)
    evidence = without_samples(_start(read, whole), traced, _said(read, traced, whole))
    manifest, tables = sealed_perf_data(read, evidence, report)
    kept = folders.create(output, force=force)
    try:
        report("writing tables", 0.9)
        write_recording(output, manifest, tables)
        return Recording(output)
    except BaseException:
        shutil.rmtree(output, ignore_errors=True)
        raise
    finally:
        kept.release()


def sealed_perf_data(
    read: PerfData, evidence: RawEvidence, progress: Progress = silently, *, notes: Sequence[str] = ()
) -> tuple[Manifest, Mapping[str, Content]]:
    """What `write_recording` takes."""
    manifest, tables = sealed_tables(evidence, progress, DebugInfo())
    told = (*manifest.losses.notes, *notes, *notes_of(read))
    # Where there were other events too, nobody knows what was lost: the trace says how many.
    lost = 0 if any(one.is_tracepoint for one in read.container.events) else read.books.lost
    losses = replace(manifest.losses, samples_dropped=lost, stacks_cut=read.cut, notes=told)
    return replace(manifest, losses=losses), tables


def trace_of(read: PerfData, source: str, scope: str) -> TraceSummary:
    return TraceSummary(
        source=source,
        scope=scope,
        sample_hz=read.timed.rate_hz,
        events_lost=read.books.lost if any(one.is_tracepoint for one in read.container.events) else 0,
        clock="monotonic" if all(one.monotonic for one in read.container.events) else "unaligned",
        passed_over=read.events.passed_over,
    )


def traced_of(read: PerfData, trace: TraceSummary, without: frozenset[int] = frozenset()) -> Traced:
    known = read.events.records
    switched = bool((known["kind"] == EventKind.SWITCH).any())
    people = participants(read.books.happenings, read.binaries, read.begin, switches=not switched)
    coming = people.records[np.argsort(people.records["time"], kind="stable")]
    records = np.insert(known, np.searchsorted(known["time"], coming["time"]), coming)
    if without:
        records = records[~np.isin(records["pid"], list(without))]
    number_calls(records, read.container.machine)
    fill_system_calls(records)
    return Traced(
        records=records,
        stacks=read.stacks,
        trace=trace,
        processes=tuple(one for one in people.processes if one.pid not in without),
        threads=tuple(one for one in people.threads if one.pid not in without),
        mappings=tuple(one for one in people.mappings if one.pid not in without),
        kernel_symbols=read.kernel.symbols,
        kernel_base=read.kernel.base,
        kernel_build_id=read.kernel.build_id,
        damaged_bytes=read.container.damaged_bytes,
    )


def _scope(command: Sequence[str]) -> str:
    """From perf's own options, which end where the recorded command begins."""
    options = list(command[: command.index("--")] if "--" in command else command)
    if any(option in ("-a", "--all-cpus") for option in options):
        return "all"
    return "process" if any(option.startswith(("-p", "-t", "--pid", "--tid")) for option in options) else "tree"


def _start(read: PerfData, whole: WholeProgram | None) -> Start:
    features = read.container.features
    clock = features.real_minus_clock
    real = read.begin + clock if clock is not None else read.container.changed_ns - (read.end - read.begin)
    return Start(
        command=command_of(features.command, whole),
        environment_names=(),
        sampling=Sampling(rate_hz=read.timed.rate_hz, clock="cpu", source=TRACED_SAMPLES),
        work_unit="run",
        skip_ns=0,
        host=Host(features.host, features.kernel, read.container.machine, features.cpus),
        start_monotonic=read.begin,
        start_real=real,
    )


def _said(read: PerfData, traced: Traced, whole: WholeProgram | None) -> list[dict[str, Any]]:
    """What a recorder of our own would have put into its log."""
    totals = _totals(read, traced.records)
    if whole is not None and not read.without_times:
        totals = replace(totals, wall_s=(whole.end - whole.begin) / 1e9)
    return [
        {"type": "totals", "at": "stop", "totals": to_plain(totals)},
        {"type": "stop", "time": read.end, "stopped_by": "imported" if whole is None else "exit"},
    ]


def _totals(read: PerfData, records: Records) -> Totals:
    """As far as samples tell."""
    in_kernel = (read.samples["misc"][read.timed.rows] & Misc.CPU_MODE) == MODE_KERNEL
    switches = records[records["kind"] == EventKind.SWITCH]
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
        cpu_wait_s=longest_wait_for_a_cpu_s(records),
    )


def longest_wait_for_a_cpu_s(records: Records) -> float:
    """While other programs had the CPUs, of the thread that waited the longest in all; `records` are in time order.

    A thread that was preempted waits until something is seen of it again: perf shows who leaves a CPU, but not always
    who comes.
    """
    order = np.argsort(records["tid"], kind="stable")
    tid, time = records["tid"][order], records["time"][order].astype(np.int64)
    preempted = (records["kind"][order] == EventKind.SWITCH) & (records["result"][order] == _RUNNABLE) & (tid != 0)
    seen_again = np.flatnonzero(preempted[:-1] & (tid[1:] == tid[:-1]))
    if not len(seen_again):
        return 0.0
    threads, number = np.unique(tid[seen_again], return_inverse=True)
    waited = np.bincount(number, time[seen_again + 1] - time[seen_again], minlength=len(threads))
    return float(waited.max()) / 1e9


@dataclass(frozen=True)
class WholeProgram:
    """The process that perf started."""

    name: str  # of the thread, as the kernel has it
    begin: int
    end: int


def whole_program(happenings: Sequence[Happening], scope: str) -> WholeProgram | None:
    """Whether perf recorded a program from its start to its end: then the file is a run of it. None where others were
    watched too, or its end was not seen.
    """
    started = next((one for one in happenings if isinstance(one, Renamed) and one.by_exec and one.time), None)
    if scope != "tree" or started is None:
        return None
    pid = started.pid
    ended = [one.time for one in happenings if isinstance(one, Exited) and one.pid == one.tid == pid]
    return WholeProgram(started.name, started.time, ended[-1]) if ended else None


def command_of(words: Sequence[str], program: WholeProgram | None) -> tuple[str, ...]:
    """The recorded command, without perf's own words before it."""
    if "--" in words:
        return tuple(words[words.index("--") + 1 :])
    if program is not None:
        for at, word in enumerate(words[1:], 1):
            if PurePosixPath(word).name[:_NAME_CHARACTERS] == program.name:
                return tuple(words[at:])
    return tuple(words)


def notes_of(read: PerfData) -> list[str]:
    notes = list(read.container.notes)
    if not len(read.samples):
        notes.append("perf took no samples: what was recorded ended too soon, or slept all the time.")
    if read.decoded.foreign or read.decoded.damaged:
        odd = read.decoded.foreign + read.decoded.damaged
        notes.append(f"{odd:,} samples make no sense and were passed over.")
    if read.without_times and len(read.samples):
        notes.append("Recorded without times (perf record -T): how long it took is not known, only its CPU time.")
    if read.nameless:
        notes.append(f"{read.nameless:,} samples of threads that had all but ended were passed over.")
    if read.books.throttled:
        notes.append(f"The kernel throttled sampling {read.books.throttled:,} times, since it took too much time.")
    notes += [f"{count:,} records {what} were passed over." for what, count in read.books.skipped.items()]
    sampled = [one.name for one in read.container.events if one.is_tracepoint and (one.frequency or one.period > 1)]
    if sampled:
        notes.append(f"Not every one was recorded of: {', '.join(sampled[:_FILES_NAMED])} (perf record -F or -c).")
    if read.events.passed_over:
        total = sum(read.events.passed_over.values())
        notes.append(f"{total:,} events that say nothing of time or waits were passed over: "
                     f"{listed(read.events.passed_over)}.")  # fmt: skip
    if read.binaries.replaced:
        files = ", ".join(shlex.quote(Path(path).name) for path in sorted(read.binaries.replaced)[:_FILES_NAMED])
        notes.append(f"Changed since they were recorded, so that their functions have no names: {files}.")
    if read.kernel.note:
        notes.append(read.kernel.note)
    if not read.container.is_of_this_machine and any(one.copies_stacks for one in read.container.events):
        notes.append(
            f"Callers are unknown: stacks that perf copied on {read.container.machine} are unwound by whyperf on such "
            "a machine only."
        )
    if not any(one.sample_type & SampleType.CALLCHAIN or one.copies_stacks for one in read.container.events):
        notes.append("Recorded without call graphs: callers are unknown (perf record -g, or --call-graph dwarf).")
    elif _mostly_one_frame(read):
        notes.append(
            "Most call chains are one frame deep, so callers are unknown: the program was compiled without frame "
            "pointers. Record with perf record --call-graph dwarf."
        )
    return notes


def _mostly_one_frame(read: PerfData) -> bool:
    """Of the samples in programs' own code, by the chains that perf took. No program begins where it computes."""
    numbers = read.samples["user_stack"][read.timed.rows]
    numbers = numbers[numbers > 0]
    if not len(numbers):
        return False
    deep = np.diff(read.stacks.ends, prepend=np.int64(0))[numbers - 1]
    return 2 * int(np.count_nonzero(deep <= 1)) > len(deep)
