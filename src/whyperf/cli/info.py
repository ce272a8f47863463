"""`whyperf info`: what is in a recording, and what was lost."""

from __future__ import annotations

import argparse
import datetime
import json
import shlex
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyperf.cli.info_counts import counting_lines
from whyperf.cli.info_latency import latency_lines
from whyperf.cli.info_trace import trace_facts, trace_lines, trace_losses
from whyperf.cli.opened_recordings import add_max_rows, opened
from whyperf.report.endings import ending

if TYPE_CHECKING:
    from whyperf.recording.sealed.manifest import Deep, Losses, Manifest
    from whyperf.recording.sealed.reader import Recording

NAME = "info"
SUMMARY = "what is in a recording, and what was lost"
EXAMPLES = """\
examples:
  whyperf info good
  whyperf info good --json | jq .losses
"""

_MODULES_SHOWN = 12
_PROGRAMS_SHOWN = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recording", metavar="RECORDING", help="the folder that `whyperf record` made")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    add_max_rows(parser)


def run(args: argparse.Namespace) -> int:
    recording = opened(Path(args.recording), args)
    if args.json:
        sys.stdout.write(json.dumps(facts(recording), indent=1) + "\n")
    else:
        _print(recording)
    return 0


def facts(recording: Recording) -> dict[str, Any]:
    """The manifest, and what the tables add up to."""
    from whyperf.recording.safe_files.dataclass_json import to_plain

    return {
        **to_plain(recording.manifest),
        "path": str(recording.path),
        "modules": modules(recording),
        "processes": recording.table("processes").num_rows,
        "threads": recording.table("threads").num_rows,
        "samples": recording.table("samples").num_rows,
        "work": recording.table("work").to_pylist(),
        **trace_facts(recording),
    }


def modules(recording: Recording) -> list[dict[str, Any]]:
    """Modules with the share of CPU time that was spent in each itself, the largest first."""
    import numpy as np

    samples, rows = recording.table("samples"), recording.table("modules").to_pylist()
    stack = samples.column("stack").to_numpy()
    on_cpu = (stack >= 0) & (samples.column("clock").to_numpy() == 0)
    weight = samples.column("weight").to_numpy()[on_cpu]
    frame = recording.table("stacks").column("frame").to_numpy()[stack[on_cpu]]
    module = recording.table("frames").column("module").to_numpy()[frame]
    spent = np.bincount(module[module >= 0], weight[module >= 0], minlength=len(rows))
    total = max(1.0, float(weight.sum()))
    shares = [{**row, "share": round(float(s) / total, 4)} for row, s in zip(rows, spent, strict=True)]
    return sorted(shares, key=lambda row: -row["share"])


def _print(recording: Recording) -> None:
    from rich.text import Text

    from whyperf.report.console import ReportConsole
    from whyperf.report.printable import printable

    console = ReportConsole(highlight=False)
    for label, value in _lines(recording):
        text = Text(f"{label:<12}", style="bold")
        text.append(printable(value), style="not bold")
        console.print(text, soft_wrap=True)


def _lines(recording: Recording) -> Iterator[tuple[str, str]]:
    manifest = recording.manifest
    totals, window = manifest.totals, manifest.window
    yield "recording", f"{recording.path} (format {manifest.format}, whyperf {manifest.whyperf})"
    yield "command", shlex.join(manifest.command)
    yield "recorded", f"{_moment(manifest.start_real)} on {manifest.host.name} ({manifest.host.cpus} CPUs)"
    yield "ended", ending(manifest)
    warm_up = (window.start - manifest.start_monotonic) / 1e9
    cut = f", after {warm_up:.2f} s of start and warm-up" if warm_up >= 0.1 else ""
    yield "window", f"{(window.end - window.start) / 1e9:.2f} s{cut}"
    memory = f"{totals.max_rss_bytes / 1e6:.1f} MB memory, " if totals.max_rss_bytes else ""
    yield (
        "used",
        f"{totals.wall_s:.2f} s elapsed, {totals.cpu_s:.2f} s CPU ({totals.cpu_user_s:.2f} user, "
        f"{totals.cpu_system_s:.2f} system), {memory}"
        f"{totals.read_bytes / 1e6:.1f} MB read, {totals.written_bytes / 1e6:.1f} MB written",
    )
    yield "work", _work(recording)
    if totals.latency is not None:
        yield from latency_lines(totals.latency)
    if manifest.deep is not None:
        yield from _counted_deeply(recording, manifest.deep)
    elif manifest.counting is not None:
        yield from counting_lines(recording, manifest.counting)
    else:
        yield from _sampled(recording)
        yield from _modules(recording)
        if manifest.sampling.memory_interval:
            from whyperf.cli.info_memory import memory_lines

            yield from memory_lines(recording)
        if manifest.trace is not None:
            yield from trace_lines(recording, manifest.trace)
        yield "overhead", _overhead(manifest)
    lost = [*_lost(manifest.losses), *(trace_losses(manifest.trace) if manifest.trace else ())]
    yield "lost", lost[0] if lost else "nothing"
    for line in lost[1:]:
        yield "", line
    for note in manifest.losses.notes:
        yield "note", note


def _moment(real_ns: int) -> str:
    try:
        return f"{datetime.datetime.fromtimestamp(real_ns / 1e9).astimezone():%Y-%m-%d %H:%M:%S %z}"
    except (ValueError, OverflowError, OSError):
        return "at an unknown time"


def _work(recording: Recording) -> str:
    rows = recording.table("work").to_pylist()
    return f"{rows[-1]['count']:g} (unit: {rows[-1]['unit']})" if rows else "unknown"


def _sampled(recording: Recording) -> Iterator[tuple[str, str]]:
    samples, sampling = recording.table("samples"), recording.manifest.sampling
    clock = samples.column("clock").to_numpy()
    weight = samples.column("weight").to_numpy()
    blocked = int((clock == 1).sum())
    extra = f", {blocked} of blocked threads ({sampling.blocked_rate_hz:g} Hz)" if blocked else ""
    yield (
        "samples",
        f"{int((clock == 0).sum())} of running threads ({sampling.rate_hz:g} Hz, {sampling.source}), standing for "
        f"{weight[clock == 0].sum() / 1e9:.2f} s CPU{extra}",
    )
    if recording.manifest.redaction:
        yield "values", f"redacted: numbers in secret units (key {recording.manifest.redaction})"
    yield "programs", _programs(recording)


def _programs(recording: Recording) -> str:
    """Those that ran most come first, the kernel's own threads last."""
    processes = recording.table("processes")
    origins: list[Any] = processes.column("origin").to_pylist()
    commands: list[Any] = processes.column("command").to_pylist()
    own = [row for row, origin in enumerate(origins) if origin not in ("met", "beside")]
    # What it was called as: an executable can have many names.
    called = [str(command[0]) if command else "?" for command in commands]
    names = {row: called[row] for row in own}
    ran = Counter(recording.table("samples").column("process").to_pylist())
    order = sorted(own, key=lambda row: (names[row].startswith("["), -ran[row]))
    shown = list(dict.fromkeys(_base_name(names[row]) for row in order))
    more = f" and {len(shown) - _PROGRAMS_SHOWN} more" if len(shown) > _PROGRAMS_SHOWN else ""
    met = origins.count("met")
    talked_to = f"; {_counted(met, 'process', 'processes')} that they talked to" if met else ""
    threads = _counted(recording.table("threads").num_rows, "thread", "threads")
    named = f"{', '.join(shown[:_PROGRAMS_SHOWN])}{more}{talked_to}"
    return f"{_counted(len(own), 'process', 'processes')}, {threads}: {named}"


def _base_name(command: str) -> str:
    return command if command.startswith("[") else Path(command).name or "?"


def _overhead(manifest: Manifest) -> str:
    overhead, trace = manifest.overhead, manifest.trace
    in_kernel = f", about {trace.kernel_s:.3f} s in the kernel" if trace is not None and trace.kernel_s else ""
    if manifest.sampling.source == "trace":
        return f"nothing inside the programs, {overhead.recorder_cpu_s:.3f} s CPU beside them{in_kernel}"
    return (
        f"at most {overhead.handler_s:.3f} s inside the program (mostly "
        f"{overhead.handler_median_us:.1f} us a sample, {overhead.handler_mean_us:.1f} us on average, "
        f"{overhead.handler_max_us:.0f} us at most), "
        f"{overhead.recorder_cpu_s:.3f} s CPU beside it{in_kernel}"
    )


def _counted_deeply(recording: Recording, deep: Deep) -> Iterator[tuple[str, str]]:
    """Of a deep recording: times mean little under Valgrind, counts are exact."""
    tables = recording.manifest.tables
    if deep.phase == "sketch":
        what = f"{deep.executions:,} calls of {deep.planned:,} functions in {tables['calls'].rows:,} contexts"
    else:
        what = (
            f"{deep.executions:,} executions in {deep.planned:,} functions, {tables['dependences'].rows:,} dependences "
            f"for {deep.symptom}"
        )
    yield deep.phase, f"{what} (Valgrind {deep.valgrind})"
    yield "executed", f"{deep.instructions:,} instructions in all"
    if deep.left_out:
        from whyperf.recording.zoom import some_of

        yield "left out", f"{some_of(deep.left_out)}, which execute too much"
    for name, count in deep.inexact.items():
        yield "inexact", f"{count:,} ({name})"


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _modules(recording: Recording) -> Iterator[tuple[str, str]]:
    rows = modules(recording)
    known = {"full": "full debug information", "symbols": "symbols only", "none": "no symbols"}
    for i, row in enumerate(rows[:_MODULES_SHOWN]):
        label = "modules" if i == 0 else ""
        debug = known.get(row["debug"], row["debug"])
        yield label, f"{row['share']:>6.1%}  {row['name']} ({row['origin']}, {debug})"
    if len(rows) > _MODULES_SHOWN:
        yield "", f"        and {len(rows) - _MODULES_SHOWN} more"


def _lost(losses: Losses) -> Iterator[str]:
    counts = (
        (losses.samples_dropped, "samples dropped because a ring was full"),
        (losses.signals_missed, "sampling signals missed because the handler was still running"),
        (losses.records_lost, "records of processes and modules"),
        (losses.damaged_bytes, "damaged bytes passed over"),
        (losses.values_dropped, "samples' variables because a ring was full"),
        (losses.values_unreadable, "pieces of memory behind pointers that were not there"),
        (losses.values_forbidden, "pieces of memory behind pointers that a seccomp filter kept out of reach"),
        (losses.values_not_followed, "samples' pointers not followed, to keep the overhead low"),
        (losses.allocations_lost, "sampled allocations because a ring was full"),
        (losses.frees_lost, "frees of sampled allocations because a ring was full"),
        (losses.modules_not_patched, "program files whose own allocator could not be sampled"),
    )
    yield from (f"{count} {what}" for count, what in counts if count)
    if losses.threads_unsampled:
        threads = _counted(losses.threads_unsampled, "thread", "threads")
        yield f"{threads}: no ring was free, or no signal may be queued"
    if losses.threads_limited:
        from whyperf.diagnose.losses import limited_threads

        yield from limited_threads(losses)
    if losses.unsampled_cpu_s:
        yield f"samples of {losses.unsampled_cpu_s:.2f} s CPU time"
    if losses.threads_without_faults:
        yield f"the page faults of {_counted(losses.threads_without_faults, 'thread', 'threads')}"
    if losses.overwritten_s:
        yield f"the first {losses.overwritten_s:.1f} s, dropped to stay below the size limit"
    for reason, count in losses.stacks_cut.items():
        yield f"the outer end of {_counted(count, 'stack', 'stacks')}: {reason}"
    for unfollowed in losses.unfollowed:
        times = "once" if unfollowed.count == 1 else f"{unfollowed.count} times"
        yield f"not followed {times}: {unfollowed.path} ({unfollowed.reason})"
