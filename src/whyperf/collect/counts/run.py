"""One counting run: plans for what the program is made of, then the run itself."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from whyperf.collect.architecture import Architecture, this_architecture
from whyperf.collect.counts.recorder import LIBRARY, CountsRecorder
from whyperf.collect.runs.runner import run_to_the_end
from whyperf.collect.runs.work import DriverWork, OneRun
from whyperf.collect.sampling.sampler import cache_folder, preloadable
from whyperf.collect.setup import folder as folders
from whyperf.collect.setup.lifecycle import Lifecycle, RunOutcome
from whyperf.collect.setup.start import run_options, start_of
from whyperf.collect.target.loaded_files import LoadedFile, files_of
from whyperf.collect.target.program import Program, check_followable, executed_file
from whyperf.collect.target.sanitizers import first_libraries
from whyperf.collect.target.shell import command_line, without_shell
from whyperf.debuginfo.probes.plan_cache import SUFFIX, ensure_plan
from whyperf.errors import WhyperfError
from whyperf.recording.sealed.manifest import Sampling

# What throws exceptions and starts threads runs while counters change hands, and is nobody's regression.
_RUNTIME = re.compile(r"lib(gcc_s|stdc\+\+|c\+\+|c\+\+abi|unwind|asan|tsan|ubsan|lsan|whyperf_\w+)\.so.*")
_PAGE_BYTES = 4096
_UNPLANNED_ORIGINS = frozenset({"libc", "vdso", "sampler"})


def check_counts_here() -> None:
    """Refuses systems on which counters cannot be mapped."""
    this_architecture()
    page = os.sysconf("SC_PAGE_SIZE")
    if page != _PAGE_BYTES:
        raise WhyperfError(
            f"--counts needs memory pages of {_PAGE_BYTES // 1024} KiB; this system's have {page // 1024} KiB.",
            "whyperf record -- COMMAND",
        )


def _check_sanitizers(program: Program) -> None:
    """AddressSanitizer ends a program into which another library was loaded before its own."""
    if first := [name for name in first_libraries(executed_file(program)) if "tsan" not in name]:
        raise WhyperfError(
            f"{program.path} needs {first[0]} before every other library, so the one that counts cannot be loaded.",
            f"whyperf record -- {shlex.join(program.command)}",
        )


def record_counts(
    program: Program,
    path: Path,
    *,
    lifecycle: Lifecycle,
    environment: Mapping[str, str],
    unit: str | None = None,
    capture_output: bool = False,
    force: bool = False,
    on_tick: Callable[[], None] = lambda: None,
    library: Path = LIBRARY,
    architecture: Architecture | None = None,
) -> RunOutcome:
    """Runs `program` and counts its calls. The folder `path` stays open: seal it next.

    Both program and library are of `architecture`, this machine's if none is given.
    """
    plain = without_shell(program, environment) or program
    check_followable(plain, architecture)
    _check_sanitizers(plain)
    preloadable(library)
    if lifecycle.skip_s:
        raise WhyperfError(
            "--counts and --skip exclude each other: counts have no time. Use --ready.",
            "whyperf record --counts --ready tcp:PORT -- COMMAND",
            status=2,
        )
    if lifecycle.drive is not None:
        command_line(lifecycle.drive, environment)
    plans = list(plans_for(files_of(plain, environment), cache_folder("plans-2")))
    named = unit or ("unit" if lifecycle.drive else "run")
    with contextlib.ExitStack() as held:
        folder = folders.create(path, force=force)
        held.callback(folder.release)
        sampling = Sampling(0.0, "calls", "counts")
        start = start_of(
            program.command, environment, sampling, named, 0, options=run_options(program, lifecycle, unit=unit)
        )
        with folder.removed_unless_begun():
            recorder = CountsRecorder(folder, start, library, plans)
        return run_to_the_end(
            plain,
            path,
            recorder,
            DriverWork(recorder, named) if lifecycle.drive is not None else OneRun(),
            lifecycle=lifecycle,
            environment=environment,
            capture_output=capture_output,
            on_tick=on_tick,
        )


def plans_for(files: list[LoadedFile], folder: Path) -> Iterator[Path]:
    """Of everything but the C library and the languages' run-time libraries."""
    for file in files:
        binary = file.binary
        if file.origin in _UNPLANNED_ORIGINS or _RUNTIME.fullmatch(Path(binary.path).name):
            continue
        try:
            planned = ensure_plan(folder, binary)
        except OSError as error:
            raise WhyperfError(f"{folder} cannot be written: {error.strerror}.", f"df -h {folder}") from None
        if planned is not None:
            yield folder / f"{planned.build_id}{SUFFIX}"
