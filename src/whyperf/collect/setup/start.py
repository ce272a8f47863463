"""`raw/start.json`: what is known before the target starts, written first, so that nothing can be lost without it."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from whyperf.collect.setup.lifecycle import Lifecycle, Measuring
from whyperf.collect.target.program import Program
from whyperf.recording.layout import START
from whyperf.recording.safe_files.dataclass_json import Count, Moment
from whyperf.recording.safe_files.storage import write_new
from whyperf.recording.sealed.manifest import Host, RunOptions, Sampling
from whyperf.recording.version import FORMAT_VERSION
from whyperf.version import __version__


def this_host() -> Host:
    system = os.uname()
    return Host(name=system.nodename, kernel=system.release, machine=platform.machine(), cpus=os.cpu_count() or 1)


@dataclass(frozen=True)
class ValuesWanted:
    """What of the user's wishes matters when the recording is sealed, perhaps by another process."""

    components: tuple[str, ...] = ()
    compile_commands: str = ""  # absolute path; empty: to be looked for
    excluded: tuple[str, ...] = ()  # variables that shall not be kept
    redact: bool = False  # keep numbers in a secret unit only


@dataclass(frozen=True)
class Start:
    command: tuple[str, ...]
    environment_names: tuple[str, ...]
    sampling: Sampling
    work_unit: str
    skip_ns: Count
    values: ValuesWanted = field(default_factory=ValuesWanted)
    options: RunOptions | None = None
    host: Host = field(default_factory=this_host)
    start_monotonic: Moment = field(default_factory=time.monotonic_ns)
    start_real: int = field(default_factory=time.time_ns)
    whyperf: str = __version__
    format: int = FORMAT_VERSION


def start_of(
    command: tuple[str, ...],
    environment: Mapping[str, str],
    sampling: Sampling,
    work_unit: str,
    skip_ns: int,
    *,
    values: ValuesWanted = ValuesWanted(),  # noqa: B008 (frozen)
    options: RunOptions | None = None,
) -> Start:
    # Names only: values hold passwords.
    return Start(command, tuple(sorted(environment)), sampling, work_unit, skip_ns, values, options)


def run_options(
    program: Program, lifecycle: Lifecycle, *, unit: str | None = None, measuring: Measuring | None = None
) -> RunOptions:
    """What differs from the usual; `unit` where nothing else is told of how it is measured."""
    usual, asked = Lifecycle(), measuring or Measuring(unit=unit)
    return RunOptions(
        folder=str((program.folder or Path()).absolute()),
        ready=lifecycle.ready or "",
        ready_timeout_s=_unusual(lifecycle.ready_timeout_s, usual.ready_timeout_s),
        drive=lifecycle.drive or "",
        for_s=lifecycle.for_s,
        skip_s=lifecycle.skip_s,
        stop_signal=None if lifecycle.stop_signal == usual.stop_signal else int(lifecycle.stop_signal),
        stop_timeout_s=_unusual(lifecycle.stop_timeout_s, usual.stop_timeout_s),
        work_count=asked.work_count or "",
        latency=asked.latency or "",
        unit=asked.unit or "",
        no_values=not asked.values_depth,
        components=asked.components,
        excluded_variables=asked.excluded_variables,
    )


def _unusual(value: float, usual: float) -> float | None:
    return None if value == usual else value


def write_start(raw: Path, start: Start) -> None:
    write_new(raw / START, json.dumps(asdict(start), indent=1).encode())
