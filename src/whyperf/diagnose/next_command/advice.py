"""The next command to type, made from what the recordings know of how they were made."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from whyperf.collect.target.shell import needs_only_redirections, typed
from whyperf.engines.run import Run, texts
from whyperf.recording.sealed.manifest import RunOptions

_DEEP = "--deep"
_NO_UNITS = frozenset({_DEEP, "--counts"})  # with which calls cannot be counted as units of work


def compare_again(good: Sequence[Run], bad: Sequence[Run], *options: str) -> str:
    """The whole comparison anew with other options."""
    runs = (*good, *bad)
    if not all(_is_started(run) for run in runs):
        return _watch_again(runs)
    kept = [] if _DEEP in options else _kept(runs, options)
    no_units = not _NO_UNITS.isdisjoint(options)
    window = lifecycle_words(good[0].manifest.options, bad[0].manifest.options, without_units=no_units)
    words = ["whyperf", "compare", *kept, *options, *window]
    words += ["--good", typed(good[0].manifest.command), "--bad", typed(bad[0].manifest.command)]
    return shlex.join(words)


def can_go_deep(runs: Sequence[Run]) -> bool:
    """Pipes and lists of a shell, and what ran already, cannot be run under Valgrind by the same words."""
    return all(_is_started(run) and needs_only_redirections(run.manifest.command) for run in runs)


def can_run_again(runs: Sequence[Run]) -> bool:
    """Whether the recordings say how their program was started."""
    return all(_is_started(run) and run.manifest.options is not None for run in runs)


def _is_started(run: Run) -> bool:
    """Whether a command was recorded, rather than the whole machine or what ran already."""
    trace, command = run.manifest.trace, run.manifest.command
    if not command or (trace is not None and trace.scope == "all"):
        return False
    processes = run.recording.table("processes")
    commands, origins = processes.column("command").to_pylist(), texts(processes, "origin")
    own = [origin for words, origin in zip(commands, origins, strict=True) if tuple(words or ()) == command]
    return not own or any(origin != "attached" for origin in own)


def _is_of_perf(run: Run) -> bool:
    return run.manifest.trace is not None and run.manifest.trace.source == "perf.data"


def _kept(runs: Sequence[Run], options: Sequence[str]) -> list[str]:
    """What the runs were recorded with, and what must not be lost."""
    traced = all(run.manifest.trace is not None for run in runs)
    waits = all(run.manifest.sampling.clock == "wall" for run in runs)
    return [
        *(["--trace"] if traced and "--trace" not in options else []),
        *(["--clock", "wall"] if waits and "--clock" not in options else []),
        *(["--redact"] if any(run.manifest.redaction for run in runs) else []),
        *values_words(runs[0].manifest.options),
    ]


def values_words(options: RunOptions | None) -> list[str]:
    """Which variables were to be read."""
    asked = options or RunOptions()
    return [
        *(["--no-values"] if asked.no_values else []),
        *(word for one in asked.components for word in ("--component", one)),
        *(word for one in asked.excluded_variables for word in ("--exclude-variable", one)),
    ]


def lifecycle_words(other: RunOptions | None, options: RunOptions | None, *, without_units: bool) -> list[str]:
    """When the windows of a good and a bad run begin and end, and what counts their work, as it was typed."""
    if options is None or other is None:
        return []
    drives = ["--drive", options.drive] if options.drive else []
    if options.drive != other.drive:
        drives = ["--good-drive", other.drive, "--bad-drive", options.drive]
    given = {
        "--ready": options.ready,
        "--ready-timeout": _seconds(options.ready_timeout_s),
        "--for": _seconds(options.for_s),
        "--skip": _seconds(options.skip_s or None),
        "--stop": "" if options.stop_signal is None else str(options.stop_signal),
        "--stop-timeout": _seconds(options.stop_timeout_s),
        "--work-count": "" if without_units else options.work_count,
        "--latency": "" if without_units else options.latency,
        "--unit": options.unit,
    }
    return [*(word for option, value in given.items() if value for word in (option, value)), *drives]


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:g}s"


def _watch_again(runs: Sequence[Run]) -> str:
    """One more recording of a machine, or of processes that run by themselves, for as long as before."""
    first = runs[0].manifest
    if first.stopped_by == "dump":
        return "whyperf trace dump -o NAME"
    lasted = max(1, round((first.window.end - first.window.start) / 1e9))
    whom = "--all" if first.trace is not None and first.trace.scope == "all" else "--pid PID"
    traced = ["--trace"] if first.trace is not None else []
    return " ".join(["whyperf", "record", *traced, whom, "--for", f"{lasted}s", "-o", "NAME"])


def diagnose_swapped(good: Sequence[Run], bad: Sequence[Run]) -> str:
    words = ["whyperf", "diagnose", "--good", *(str(run.recording.path) for run in bad)]
    return shlex.join([*words, "--bad", *(str(run.recording.path) for run in good)])


def lifecycle_reminder(runs: Sequence[Run]) -> list[str]:
    """A server's options and redirections are not in its command line, and recordings of other tools do not know
    them."""
    unknown = [run for run in runs if run.manifest.options is None]
    if any(run.manifest.stopped_by in ("driver", "for") and _is_started(run) for run in unknown):
        return ["The next command needs the same --ready, --drive, --for and --stop options as before."]
    if any(_is_of_perf(run) and _is_started(run) for run in unknown):
        return ["perf.data does not say what a shell redirected: add `< FILE` to the next command if it was there."]
    return []
