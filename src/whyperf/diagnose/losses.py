"""What was lost while recording, in plain words: a report never hides it."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

import pyarrow.compute as pc

from whyperf.diagnose.settings import DiagnoseSettings
from whyperf.engines.holdings import holds_memory
from whyperf.engines.modules import canonical_names
from whyperf.engines.quantities import count, percent, seconds
from whyperf.engines.run import Run, column, ints, texts
from whyperf.recording.names.identity import NAMED_BY_ADDRESS
from whyperf.recording.schemas.tables import Clock
from whyperf.recording.sealed.manifest import Losses, Manifest

# Signals by which a program dies of its own fault.
_CRASHES = frozenset({signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSYS})


def loss_notes(
    good: Sequence[Run], bad: Sequence[Run], concerned: Collection[str], settings: DiagnoseSettings
) -> list[str]:
    """Same losses of several runs are one note. `concerned`: modules whose symbols matter to this verdict."""
    told: dict[str, list[str]] = {}
    for kind, side in (("good", good), ("bad", bad)):
        for number, run in enumerate(side, 1):
            for note in (*lost_in(run.manifest), *_of_samples(run, settings)):
                told.setdefault(note, []).append(f"{kind} run {number}" if len(side) > 1 else f"{kind} run")
    everybody = len(good) + len(bad)
    notes = [
        f"{'All runs' if len(runs) == everybody else ', '.join(runs).capitalize()}: {note}"
        for note, runs in told.items()
    ]
    return notes + _nowhere_notes(bad, settings) + _redaction_notes(good, bad) + _debug_notes(good, bad, concerned)


def _nowhere_notes(bad: Sequence[Run], settings: DiagnoseSettings) -> list[str]:
    """Code in no file has no names, unless the runtime that compiled it gives it some."""
    known = [run for run in bad if run.recording.table("modules").num_rows]
    total = sum(run.time(Clock.CPU).total_s for run in known)
    share = sum(_nowhere_s(run) for run in known) / total if total else 0.0
    if share < settings.module_part:
        return []
    return [
        f"{percent(share)} of the bad runs' CPU time is in code that no file holds: probably compiled while the "
        "program runs, and nameless unless the runtime writes /tmp/perf-PID.map (node --perf-basic-prof, java "
        "-XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit -XX:+PreserveFramePointer)."
    ]


def _nowhere_s(run: Run) -> float:
    time = run.time(Clock.CPU)
    seen = time.stack >= 0
    innermost = column(run.recording.table("stacks"), "frame")[time.stack[seen]]
    return float(time.seconds[seen][column(run.frames, "module")[innermost] < 0].sum())


def _redaction_notes(good: Sequence[Run], bad: Sequence[Run]) -> list[str]:
    keys = {run.manifest.redaction for run in (*good, *bad)}
    if len(keys) > 1:
        return [
            "Some recordings are redacted and others are not, or by another key: their numbers could not be compared. "
            "Record all of them with --redact, as one user."
        ]
    if keys <= {""}:
        return []
    return [
        "Redacted: numbers are multiples (x) of what the good runs typically held, or the bad ones where that is 0."
    ]


def lost_in(manifest: Manifest) -> Iterator[str]:
    """What one recording lost, a sentence each."""
    if manifest.exit_signal in _CRASHES:
        yield f"the program crashed by itself ({signal.Signals(manifest.exit_signal).name}); compared up to there."
    if manifest.stopped_by == "recorder-killed":
        yield "the recorder was killed; the last seconds may be missing."
    if manifest.stopped_by == "disk-full":
        yield "the disk was full; recording ended early."
    yield from _of_losses(manifest.losses)


def _of_losses(losses: Losses) -> Iterator[str]:
    if losses.samples_dropped:
        yield f"{count(losses.samples_dropped)} samples were dropped, the recorder could not keep up."
    if losses.records_lost:
        yield f"{count(losses.records_lost)} records about processes and modules were lost; some names may be missing."
    if losses.overwritten_s > 0:
        yield f"the first {seconds(losses.overwritten_s)} were overwritten to stay within the size limit."
    if losses.threads_unsampled:
        yield f"{_threads(losses.threads_unsampled)} could not be sampled."
    yield from (f"{sentence}." for sentence in limited_threads(losses))
    if losses.allocations_lost:
        yield f"{count(losses.allocations_lost)} sampled allocations were not recorded: memory is undercounted."
    if losses.frees_lost:
        yield f"{count(losses.frees_lost)} frees of sampled allocations were not recorded: these seem to be kept."
    if losses.threads_without_faults:
        threads = _threads(losses.threads_without_faults)
        yield f"page faults of {threads} could not be sampled: memory that malloc does not see is missing."
    if losses.modules_not_patched:
        yield "the program's own allocator could not be sampled: what it handed out is missing."
    if losses.damaged_bytes:
        yield f"{count(losses.damaged_bytes)} damaged bytes were passed over."
    for program in losses.unfollowed:
        times = f", {count(program.count)} times" if program.count > 1 else ""
        yield f"{program.path} was not followed ({program.reason}{times})."
    yield from losses.notes


def limited_threads(losses: Losses) -> Iterator[str]:
    """Threads that were sampled in part, if there are any: a sentence without its full stop."""
    if losses.threads_limited:
        was = "was" if losses.threads_limited == 1 else "were"
        yield f"{_threads(losses.threads_limited)} {was} sampled only until the program limited queued signals"


def _threads(many: int) -> str:
    return "1 thread" if many == 1 else f"{count(many)} threads"


def _of_samples(run: Run, settings: DiagnoseSettings) -> Iterator[str]:
    cut = cut_share(run)
    if cut >= settings.cut_stacks_note:
        reasons = sorted(run.manifest.losses.stacks_cut.items(), key=lambda item: -item[1])
        yield f"{percent(cut)} of the stacks are incomplete ({reasons[0][0]}); their outermost callers are unknown."


def cut_share(run: Run) -> float:
    cut = sum(run.manifest.losses.stacks_cut.values())
    samples = sum(run.time(clock).total_samples for clock in (Clock.CPU, Clock.BLOCKED))
    if holds_memory(run.recording):
        samples += run.recording.table("allocations").num_rows
    return min(1.0, cut / samples) if samples else 0.0


def _debug_notes(good: Sequence[Run], bad: Sequence[Run], concerned: Collection[str]) -> list[str]:
    """Programs and own libraries about which the debug information says too little."""
    poor: dict[str, str] = {}
    names = canonical_names(good, bad)
    for run in (*bad, *good):
        modules = run.recording.table("modules")
        columns = (ints(modules, "module"), texts(modules, "name"), texts(modules, "origin"), texts(modules, "debug"))
        nameless = _mostly_nameless(run)
        for module, name, origin, debug in zip(*columns, strict=True):
            if names[run][module] in concerned and origin in ("program", "library") and debug in ("none", "symbols"):
                poor.setdefault(name, "none" if module in nameless else debug)
    notes = []
    for name, debug in sorted(poor.items()):
        missing = "no symbols for its functions, they are shown as offsets" if debug == "none" else "no line numbers"
        notes.append(f"{name} has {missing}: install its debug symbols (-dbgsym, -debuginfo) or compile with -g.")
    return notes


def _mostly_nameless(run: Run) -> set[int]:
    """Modules with symbols for what they export at most: their own functions are called by address."""
    functions = run.recording.table("functions")
    sampled = functions.filter(functions.column("sampled"))
    seen = Counter(ints(sampled, "module"))
    named = pc.invert(pc.match_substring_regex(sampled.column("name"), NAMED_BY_ADDRESS))
    known = Counter(ints(sampled.filter(named), "module"))
    return {module for module, functions_seen in seen.items() if 2 * known[module] < functions_seen}
