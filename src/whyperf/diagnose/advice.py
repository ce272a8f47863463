"""The next command to type, made from what the recordings know of how they were made."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from whyperf.engines.run import Run


def compare_again(good: Sequence[Run], bad: Sequence[Run], *options: str) -> str:
    """The whole comparison anew with other options."""
    traced = all(run.manifest.trace is not None for run in (*good, *bad))
    words = ["whyperf", "compare", *(["--trace"] if traced else []), *options]
    words += ["--good", shlex.join(good[0].manifest.command), "--bad", shlex.join(bad[0].manifest.command)]
    return shlex.join(words)


def diagnose_swapped(good: Sequence[Run], bad: Sequence[Run]) -> str:
    words = ["whyperf", "diagnose", "--good", *(str(run.recording.path) for run in bad)]
    return shlex.join([*words, "--bad", *(str(run.recording.path) for run in good)])


def explain_next(good: Sequence[Run], bad: Sequence[Run], function: str) -> str:
    words = ["whyperf", "diagnose", "--good", *(str(run.recording.path) for run in good)]
    return shlex.join([*words, "--bad", *(str(run.recording.path) for run in bad), "--explain", function])


def lifecycle_reminder(runs: Sequence[Run]) -> list[str]:
    """A server's options are not in its command line."""
    if any(run.manifest.stopped_by in ("driver", "for") for run in runs):
        return ["The next command needs the same --ready, --drive, --for and --stop options as before."]
    return []
