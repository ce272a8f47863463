"""The manifest of a sealed recording: how it ended, what it used, what watching it cost, what was lost."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from whyperf.collect.setup.rate import CLOCK_EVENT, CPU_TIMER
from whyperf.recording.raw_log.ringrecords import CUT_REASONS, OUT_OF_REACH, UNFOLLOWED_REASONS, RingRecordKind
from whyperf.recording.safe_files.dataclass_json import MisfitError, from_plain
from whyperf.recording.schemas.tables import Clock
from whyperf.recording.sealed.manifest import Losses, Manifest, Overhead, Sampling, Totals, Unfollowed, Window
from whyperf.recording.version import FORMAT_VERSION
from whyperf.seal.checked_numbers import number, whole, words
from whyperf.seal.evidence import Int64, RawEvidence
from whyperf.seal.participants.processes import text
from whyperf.seal.unsampled import CpuTime, unsampled_cpu_s, why_unsampled

_SAMPLED_INSIDE = (CPU_TIMER, CLOCK_EVENT)


def summary(evidence: RawEvidence, weight_ns: Int64, notes: tuple[str, ...]) -> Manifest:
    start, stop = evidence.start, evidence.last_said("stop")
    end = int(number(stop.get("time"))) or _last_moment(evidence)
    window = window_of(evidence, end)
    started = max((owner.sequence for owner in evidence.owners), default=0)
    totals = replace(_totals(evidence, window, weight_ns), threads_started=started)
    return Manifest(
        format=FORMAT_VERSION,
        whyperf=start.whyperf,
        command=start.command,
        environment_names=start.environment_names,
        host=start.host,
        start_monotonic=start.start_monotonic,
        start_real=start.start_real,
        end_monotonic=end,
        window=window,
        sampling=_sampling(evidence),
        totals=totals,
        overhead=_overhead(evidence, stop, max(totals.cpu_s, _sampled_cpu_s(evidence, weight_ns))),
        losses=_with_unsampled(_losses(evidence, notes), evidence, window, totals, weight_ns),
        exit_status=whole(stop.get("exit_status")),
        exit_signal=whole(stop.get("exit_signal")),
        stopped_by=words(stop.get("stopped_by", "recorder-killed")),
        options=start.options,
        work_unit=words(evidence.last_said("work").get("unit", "run")),  # nobody counted: a run is one
    )


def _sampling(evidence: RawEvidence) -> Sampling:
    """As it was asked for, but threads that wait as often as they could be looked at."""
    period_ns = number(evidence.last_said("looks").get("period_ns"))
    return replace(evidence.start.sampling, blocked_rate_hz=1e9 / period_ns) if period_ns else evidence.start.sampling


def window_of(evidence: RawEvidence, end: int) -> Window:
    ready = int(number(evidence.last_said("ready").get("time"))) or evidence.start.start_monotonic
    return Window(min(ready + evidence.start.skip_ns, end), end)


def _last_moment(evidence: RawEvidence) -> int:
    """When a killed recorder was last alive."""
    times = [int(number(said.get("time"))) for said in evidence.said]
    times += [note.time for note in evidence.notes[-1:]]
    times += [int(time) for time in evidence.samples.time[-1:]]
    times += [] if evidence.traced is None else [int(time) for time in evidence.traced.records["time"][-1:]]
    return max([evidence.start.start_monotonic, *times])


def _totals(evidence: RawEvidence, window: Window, weight_ns: Int64) -> Totals:
    said = [value for value in evidence.said if value.get("type") == "totals"]
    for stage in ("stop", "running"):
        for value in reversed(said):
            if value.get("at") == stage:
                try:
                    return from_plain(Totals, value.get("totals"))
                except MisfitError:
                    continue
    # Nobody was left to ask the system: what the samples stand for.
    on_cpu = (evidence.samples.clock == Clock.CPU) & (evidence.samples.time >= window.start)
    return Totals(
        wall_s=(window.end - window.start) / 1e9,
        cpu_user_s=float(weight_ns[on_cpu].sum()) / 1e9,
        cpu_system_s=0.0,
        max_rss_bytes=0,
        read_bytes=0,
        written_bytes=0,
        voluntary_switches=0,
        involuntary_switches=0,
        major_faults=0,
    )


def _sampled_cpu_s(evidence: RawEvidence, weight_ns: Int64) -> float:
    """Of all processes and all the time: totals know the window, and children that somebody waited for."""
    return float(weight_ns[evidence.samples.clock == Clock.CPU].sum()) / 1e9


def _overhead(evidence: RawEvidence, stop: dict[str, Any], cpu_s: float) -> Overhead:
    """In sandboxes, handlers are timed by the wall clock, preempted or not: they used no more than all CPU time."""
    counters = evidence.counters
    handler_s = min(number(counters.get("handler_ns")) / 1e9, cpu_s)
    return Overhead(
        handler_s=handler_s,
        handler_mean_us=handler_s * 1e6 / max(1.0, number(counters.get("samples"))),
        handler_max_us=number(counters.get("handler_ns_max")) / 1e3,
        recorder_cpu_s=number(stop.get("recorder_cpu_s")),
        handler_median_us=number(counters.get("handler_ns_median")) / 1e3,
    )


def _losses(evidence: RawEvidence, notes: tuple[str, ...]) -> Losses:
    counters = evidence.counters

    def count(name: str) -> int:
        return int(number(counters.get(name)))

    return Losses(
        samples_dropped=count("dropped"),
        records_lost=count("records_lost"),
        signals_missed=count("busy"),
        overwritten_s=number(evidence.last_said("overwritten").get("seconds")),
        stacks_cut=_cut(evidence),
        threads_unsampled=count("threads_without_slot"),
        unfollowed=_unfollowed(evidence),
        damaged_bytes=evidence.damaged_bytes + count("bytes_damaged") + _damaged_trace(evidence),
        values_dropped=count("values_dropped"),
        values_unreadable=count("values_unreadable"),
        values_forbidden=count("values_forbidden"),
        values_not_followed=max(0, count("values") - count("values_others")),
        allocations_lost=count("allocations_lost"),
        frees_lost=count("frees_lost"),
        threads_without_faults=count("threads_without_faults"),
        modules_not_patched=count("modules_not_patched"),
        threads_limited=count("threads_limited"),
        notes=(*_said_notes(evidence), *notes, *_own_notes(evidence)),
    )


def _with_unsampled(losses: Losses, evidence: RawEvidence, window: Window, totals: Totals, weight_ns: Int64) -> Losses:
    sampling, samples = evidence.start.sampling, evidence.samples
    whole_run = evidence.last_said("stop") and not (losses.overwritten_s or losses.samples_dropped)
    if sampling.source not in _SAMPLED_INSIDE or not whole_run:
        return losses
    within = (samples.clock == Clock.CPU) & (samples.time >= window.start)
    time = CpuTime(
        user_s=totals.cpu_user_s,
        system_s=totals.cpu_system_s,
        sampled_s=float(weight_ns[within].sum()) / 1e9,
        rate_hz=sampling.rate_hz,
        threads=len(evidence.owners),
        processes=sum(note.kind == RingRecordKind.PROCESS for note in evidence.notes),
        started=totals.threads_started,
        peak_bytes=totals.max_rss_bytes,
        user_only=sampling.source == CLOCK_EVENT,
        whole=window.start <= evidence.start.start_monotonic,
    )
    missing = unsampled_cpu_s(time)
    if not missing:
        return losses
    limited_s = losses.threads_limited * totals.wall_s  # none of them computes longer than the run lasts
    why = why_unsampled(time, unfollowed=bool(losses.unfollowed), limited_s=limited_s)
    return replace(losses, unsampled_cpu_s=missing, notes=(*losses.notes, *filter(None, (why,))))


def _damaged_trace(evidence: RawEvidence) -> int:
    return 0 if evidence.traced is None else evidence.traced.damaged_bytes


def _cut(evidence: RawEvidence) -> dict[str, int]:
    counts = np.bincount(evidence.samples.cut, minlength=len(CUT_REASONS))
    return {CUT_REASONS[i]: int(counts[i]) for i in range(1, len(CUT_REASONS)) if counts[i]}


def _unfollowed(evidence: RawEvidence) -> tuple[Unfollowed, ...]:
    seen = Counter(
        (text(note.payload.split(b"\0", 1)[0]), UNFOLLOWED_REASONS.get(note.detail, f"reason {note.detail}"))
        for note in evidence.notes
        if note.kind == RingRecordKind.UNFOLLOWED
    )
    return tuple(Unfollowed(path, reason, count) for (path, reason), count in seen.most_common())


def _said_notes(evidence: RawEvidence) -> list[str]:
    notes = evidence.last_said("losses").get("notes", [])
    return [words(note) for note in notes] if isinstance(notes, list) else []


def _own_notes(evidence: RawEvidence) -> list[str]:
    notes = []
    if not evidence.last_said("stop"):
        notes.append("The recorder was killed: what follows its last moment was not recorded.")
    if evidence.stacks_missing:
        notes.append(f"{evidence.stacks_missing} samples lost their stack to damage in the raw log.")
    if int(number(evidence.counters.get("rings_damaged"))):
        notes.append("Some of the target's threads wrote nonsense into their rings; that was passed over.")
    hidden = [one for one in evidence.notes if one.kind == RingRecordKind.UNFOLLOWED and one.detail == OUT_OF_REACH]
    programs = sorted({Path(text(one.payload.split(b"\0", 1)[0])).name for one in hidden})
    if programs:
        notes.append(
            f"{', '.join(programs)}: no samples, because another user (or a chroot) cannot reach the recording. Record"
            " with --trace, or as that user: setpriv --reuid=USER --regid=GROUP --init-groups whyperf record -o X ..."
        )
    return notes
