"""`manifest.json`: what was recorded, how, and everything that was lost."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from whyperf.errors import WhyperfError
from whyperf.recording.safe_files.dataclass_json import Amount, Count, MisfitError, Moment, from_plain, to_plain
from whyperf.recording.sealed.latency import Latency
from whyperf.recording.version import FORMAT_VERSION


@dataclass(frozen=True)
class Host:
    name: str
    kernel: str
    machine: str
    cpus: Count


@dataclass(frozen=True)
class Sampling:
    rate_hz: Amount
    clock: str  # "cpu" or "wall"
    source: str  # "cpu-timer", "cpu-clock-event", "outside", "perf-event" or "trace"
    blocked_rate_hz: Amount = 0.0
    max_bytes: Count = 0
    memory_interval: Count = 0  # allocated bytes for each sample of allocations, on average; 0: none were taken
    allocators: tuple[str, ...] = ()  # functions of the program's own that allocate, whose calls are sampled too


@dataclass(frozen=True)
class Window:
    """What is compared: from ready (plus skipped warm-up) to stop. CLOCK_MONOTONIC, nanoseconds."""

    start: Moment
    end: Moment


@dataclass(frozen=True)
class ThreadTimes:
    """What a thread's time within the window went into; of threads that ended, until they were last looked at."""

    name: str
    main: bool  # of the program that was started
    lived_s: Amount
    run_s: Amount
    runnable_s: Amount  # ready to run without getting a CPU
    turns: Count  # how often it got a CPU
    blocked_s: dict[str, float] = field(default_factory=dict)  # system call -> how long; read and write with their file


@dataclass(frozen=True)
class Totals:
    """What the target and the descendants it waited for used, within the window where the system tells."""

    wall_s: Amount
    cpu_user_s: Amount
    cpu_system_s: Amount
    max_rss_bytes: Count  # 0: unknown
    read_bytes: Count
    written_bytes: Count
    voluntary_switches: Count
    involuntary_switches: Count
    major_faults: Count
    # How long the thread that waited longest was ready to run without getting a CPU: wall time that says something of
    # the machine and nothing of the program. Of threads that ended, until they were last looked at.
    cpu_wait_s: Amount = 0.0
    # The same of main threads alone. A run that ends with its program lasts as long as a main thread does, so this much
    # of its wall time was spent in the run queue for certain. None: unknown.
    main_cpu_wait_s: Amount | None = None
    threads: tuple[ThreadTimes, ...] = ()  # the busiest first; empty: unknown
    throttled_s: Amount = 0.0  # for which a CPU quota stopped the target's control group
    quota_cpus: Amount = 0.0  # that this quota allows; 0: there is none, or it stopped nobody
    latency: Latency | None = None  # of requests; None: nobody reported any
    swap_bytes: Count = 0  # most that was seen of one process in swap
    threads_started: Count = 0  # also those of which nothing was recorded; 0: unknown

    @property
    def cpu_s(self) -> float:
        return self.cpu_user_s + self.cpu_system_s


@dataclass(frozen=True)
class Overhead:
    handler_s: float  # at most so much CPU time in signal handlers inside the target
    handler_mean_us: float
    handler_max_us: float
    recorder_cpu_s: float
    handler_median_us: float = 0.0


@dataclass(frozen=True)
class Unfollowed:
    path: str
    reason: str
    count: int


@dataclass(frozen=True)
class Losses:
    samples_dropped: int = 0
    records_lost: int = 0
    signals_missed: int = 0
    overwritten_s: float = 0.0
    stacks_cut: dict[str, int] = field(default_factory=dict)  # reason -> samples
    threads_unsampled: int = 0
    unfollowed: tuple[Unfollowed, ...] = ()
    damaged_bytes: int = 0
    values_dropped: int = 0  # samples whose variables found no room
    values_unreadable: int = 0  # pieces of memory that a pointer promised and that were not there
    values_forbidden: int = 0  # pieces of memory behind a seccomp filter, which forbids the system call for it
    values_not_followed: int = 0  # samples whose pointers were not followed, so that they cost little
    unsampled_cpu_s: float = 0.0  # CPU time that no sample stands for, beyond what chance explains
    allocations_lost: int = 0  # sampled, and not recorded
    frees_lost: int = 0  # of recorded allocations: they seem to live on
    threads_without_faults: int = 0  # with --memory: their page faults could not be sampled
    modules_not_patched: int = 0  # the program's own allocator in them was not sampled, though it was asked for
    threads_limited: int = 0  # sampled only until the program limited queued signals
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Deep:
    """What a deep recording is of."""

    phase: str  # "sketch" or "zoom"
    valgrind: str  # its version
    symptom: str  # what a zoom was planned for, as `--symptom` takes it; empty in sketches
    instructions: Count  # executed in all
    executions: Count  # of planned instructions
    planned: Count  # functions
    left_out: tuple[str, ...] = ()  # functions that the plan of a zoom passed over, as they are executed too much
    inexact: dict[str, int] = field(default_factory=dict)  # what could not be followed exactly -> how often


@dataclass(frozen=True)
class UncountedModule:
    path: str
    reason: str


@dataclass(frozen=True)
class Counting:
    """What a counting run counted, and what it did not."""

    sites: int  # call sites and entries of the modules that were counted
    counted: int  # of them those with a counter
    reasons: dict[str, int] = field(default_factory=dict)  # why others have none -> how many
    uncounted_modules: tuple[UncountedModule, ...] = ()
    uncounted_threads: int = 0


@dataclass(frozen=True)
class Shed:
    """Something that was not recorded for a while, because events came faster than the machine can bear."""

    what: str
    start: Moment  # CLOCK_MONOTONIC, nanoseconds
    end: Moment


@dataclass(frozen=True)
class TaskQueue:
    """A queue within programs whose tasks were recorded; events name it by its place."""

    name: str
    strength: str = "strong"  # "weak": that a task was run need not be because it was put


@dataclass(frozen=True)
class TraceSummary:
    """How kernel events were recorded, and what was not."""

    source: str  # "bpf", "perf" or "perf.data"
    scope: str  # "tree", "process" or "all"
    sample_hz: Amount
    absent: dict[str, str] = field(default_factory=dict)  # kind of event -> why this kernel gives none
    shed: tuple[Shed, ...] = ()
    events_lost: int = 0  # overwritten before they were read
    runs_missed: int = 0  # the kernel skipped a program because another was running
    stacks_lost: int = 0  # no room to keep them
    stacks_cut: dict[str, int] = field(default_factory=dict)  # reason -> stacks
    kernel_s: float = 0.0  # CPU time that recording took within the kernel, by the tracer's own estimate; 0: unknown
    quick_calls: int = 0  # system calls that neither waited nor woke anybody, counted only while those were shed
    queues: tuple[TaskQueue, ...] = ()  # that were looked for; empty: none were
    clock: str = "monotonic"  # "unaligned": another one, whose times mean something within this recording only
    passed_over: dict[str, int] = field(
        default_factory=dict
    )  # imported: events that whyperf makes no use of -> how many


@dataclass(frozen=True)
class TableFile:
    """What a table's file must be, so that damage is noticed."""

    rows: Count
    bytes: Count
    crc32: int


@dataclass(frozen=True)
class RunOptions:
    """What was asked of the run beyond its command, so that it can be made again. Empty and None: nothing."""

    folder: str = ""  # where the program was started
    ready: str = ""
    ready_timeout_s: Amount | None = None
    drive: str = ""
    for_s: Amount | None = None
    skip_s: Amount = 0.0
    stop_signal: Count | None = None
    stop_timeout_s: Amount | None = None
    work_count: str = ""
    latency: str = ""
    unit: str = ""
    no_values: bool = False
    components: tuple[str, ...] = ()
    excluded_variables: tuple[str, ...] = ()


@dataclass(frozen=True)
class Manifest:
    format: int
    whyperf: str
    command: tuple[str, ...]
    environment_names: tuple[str, ...]
    host: Host
    start_monotonic: Moment
    start_real: int
    end_monotonic: Moment
    window: Window
    sampling: Sampling
    totals: Totals
    overhead: Overhead
    losses: Losses
    exit_status: int | None  # None: killed recorder or still running when recording stopped
    exit_signal: int | None
    # "exit", "signal", "for", "driver", "interrupt", "recorder-killed", "attached-end", "disk-full" or "dump"
    stopped_by: str
    work_unit: str
    state: str = "sealed"  # "open" while the raw log is being written
    tables: dict[str, TableFile] = field(default_factory=dict)
    deep: Deep | None = None
    trace: TraceSummary | None = None
    counting: Counting | None = None
    options: RunOptions | None = None  # None: unknown, or nothing was started
    redaction: str = ""  # which key gave numbers their secret unit; empty: they are as they were


def _checksum(plain: dict[str, Any]) -> str:
    canonical = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


def dump(manifest: Manifest) -> str:
    """`manifest.json`'s text; its last field is a checksum of all the others."""
    plain = to_plain(manifest)
    return json.dumps({**plain, "checksum": _checksum(plain)}, indent=1) + "\n"


def load(text: str | bytes, name: str) -> Manifest:
    """The manifest of the recording `name`, or a WhyperfError that says why it cannot be used."""
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError):
        raise _damaged(name, "it is not JSON") from None
    if not isinstance(plain, dict) or not isinstance(plain.get("format"), int):
        raise _damaged(name, "it names no format")
    if plain["format"] > FORMAT_VERSION:
        raise WhyperfError(
            f"{name} was written by a newer whyperf (recording format {plain['format']}, this one reads up to "
            f"{FORMAT_VERSION}).",
            "pip install --upgrade whyperf",
        )
    if plain.pop("checksum", None) != _checksum(plain):
        raise _damaged(name, "its checksum does not hold")
    try:
        return from_plain(Manifest, plain)
    except MisfitError as misfit:
        raise _damaged(name, str(misfit)) from None


def _damaged(name: str, why: str) -> WhyperfError:
    return WhyperfError(f"The recording {name} is damaged: manifest.json cannot be used, {why}.", "whyperf record")
