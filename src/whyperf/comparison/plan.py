"""What is recorded in a comparison, how, and where it goes."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shlex
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from whyperf.adapters.adapted_benchmark import Adapted
from whyperf.collect.setup.lifecycle import Lifecycle, Measuring
from whyperf.collect.target.program import Program
from whyperf.collect.target.shell import program_name
from whyperf.comparison.alternation import Side
from whyperf.errors import WhyperfError, not_created


@dataclass(frozen=True)
class ComparisonPlan:
    programs: Mapping[Side, Program]
    lifecycles: Mapping[Side, Lifecycle]
    measuring: Measuring
    folder: Path
    runs: int | None  # pairs; None: as many as are worth waiting for
    show_output: bool
    force: bool
    counts: bool = False  # a run of each side is made once more, to count its calls
    perf_hz: int = 0  # kernel events are recorded by perf, not by us; 0: they are not
    adapted: Mapping[Side, Adapted] | None = None  # one benchmark of a framework, whose iterations are compared
    deadline: float | None = None  # by the monotonic clock: no pair begins that would not end before it


def default_folder(program: Program) -> Path:
    return Path(f"{program_name(program.command)}-{time.strftime('%Y%m%d-%H%M%S')}.compare")


def check_folder(folder: Path, force: bool) -> None:
    """Whether recordings can be put there."""
    if not folder.exists():
        return
    quoted = shlex.quote(str(folder))
    if not folder.is_dir():
        raise WhyperfError(f"{folder} exists and is not a folder.", f"ls -l {quoted}")
    with alone_in(folder):
        pass
    if not force and any(folder.iterdir()):
        raise WhyperfError(
            f"{folder} is not empty; --force replaces the recordings in it.", f"whyperf compare --force -o {quoted} ..."
        )


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Refused while another comparison puts its recordings there. Meanwhile others are."""
    try:
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise not_created(folder, error) from None
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(opened)
        name = shlex.quote(f"{folder}-2")
        raise WhyperfError(
            f"Another whyperf puts its recordings into {folder} right now.", f"whyperf compare -o {name} ..."
        ) from None
    except OSError:  # a file system without locks
        pass
    try:
        yield
    finally:
        os.close(opened)


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise not_created(folder, error) from None
