"""Which module of one run is which of another: by file name, without versions, the main programs by their part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

import numpy as np

from whyperf.engines.run import Run, column, ints, texts
from whyperf.recording.names.identity import without_version

# Code whose time is its caller's doing stays with the caller; these are the program's own.
OWN_ORIGINS = frozenset({"program", "library", "jit"})


def canonical_names(good: Sequence[Run], bad: Sequence[Run]) -> dict[Run, list[str]]:
    """For every run its modules' names as all runs would call them: as the bad runs do, where builds differ."""
    renamed = _renamed_programs(_program_seconds(good), _program_seconds(bad))
    names: dict[Run, list[str]] = {}
    for run in (*good, *bad):
        mapping: Mapping[str, str] = renamed if run in good else {}
        plain = (without_version(name) for name in texts(run.recording.table("modules"), "name"))
        names[run] = [mapping.get(name, name) for name in plain]
    return names


def _renamed_programs(good: Mapping[str, float], bad: Mapping[str, float]) -> dict[str, str]:
    """Programs that only one side has are two builds of one program: the busiest with the busiest, and so on."""
    only_good = sorted((name for name in good if name not in bad), key=lambda name: (-good[name], name))
    only_bad = sorted((name for name in bad if name not in good), key=lambda name: (-bad[name], name))
    return dict(zip(only_good, only_bad, strict=False))


def _program_seconds(runs: Sequence[Run]) -> dict[str, float]:
    """Seconds sampled in processes of each program."""
    seconds: dict[str, float] = {}
    for run in runs:
        modules = run.recording.table("modules")
        for name, origin in zip(texts(modules, "name"), texts(modules, "origin"), strict=True):
            if origin == "program":
                seconds.setdefault(without_version(name), 0.0)
        samples, processes = run.recording.table("samples"), run.recording.table("processes")
        used = np.bincount(
            np.maximum(column(samples, "process"), 0), weights=column(samples, "weight"), minlength=processes.num_rows
        )
        executables = texts(processes, "executable")
        for process, executable in zip(ints(processes, "process"), executables, strict=True):
            name = without_version(PurePosixPath(executable).name)
            if name in seconds:
                seconds[name] += float(used[process]) / 1e9
    return seconds
