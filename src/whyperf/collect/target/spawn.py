"""Starting programs exactly as a shell would: same process group, terminal, descriptors, limits and signal mask."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import shlex
import signal
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from whyperf.collect.target.program import Program, Redirection
from whyperf.errors import WhyperfError

# Python ignores these when it starts; a program started by a shell would not find them ignored.
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
_ENDS = (os.CLD_EXITED, os.CLD_KILLED, os.CLD_DUMPED)


@dataclass(frozen=True)
class Streams:
    """Descriptors for the child's standard streams; None leaves the recorder's own."""

    stdin: int | None = None
    stdout: int | None = None
    stderr: int | None = None


class Child:
    """A started program that is reaped exactly once."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.started = time.monotonic_ns()
        self.status: int | None = None  # as `os.waitstatus_to_exitcode` gives it: negative for a signal
        self.ended: int | None = None
        self.rusage: resource.struct_rusage | None = None

    def poll(self) -> bool:
        """Whether it has ended; reaps it if so."""
        if self.status is None:
            pid, status, self.rusage = os.wait4(self.pid, os.WNOHANG)
            if pid and not os.WIFSTOPPED(status):  # one that asked to be traced by its parent stops for us
                self.ended = time.monotonic_ns()
                self.status = os.waitstatus_to_exitcode(status)
        return self.status is not None

    def has_ended(self) -> bool:
        """Whether it has ended, leaving it unreaped: what it used can still be read from /proc."""
        if self.status is not None:
            return True
        found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return found is not None and found.si_code in _ENDS

    def send(self, number: int) -> None:
        # Safe from reuse of the pid: an unreaped child keeps its number.
        if self.status is None:
            os.kill(self.pid, number)


class Spawn(Protocol):
    def __call__(
        self, program: Program, environment: Mapping[str, str], *, mask: Iterable[int], streams: Streams | None = None
    ) -> Child: ...


def spawn(
    program: Program, environment: Mapping[str, str], *, mask: Iterable[int], streams: Streams | None = None
) -> Child:
    """Starts `program`. Descriptors that the user handed down (`<(...)`, `3>file`) reach it; the recorder's do not."""
    streams = streams or Streams()
    actions: list[tuple[object, ...]] = [
        (os.POSIX_SPAWN_DUP2, descriptor, number)
        for number, descriptor in enumerate((streams.stdin, streams.stdout, streams.stderr))
        if descriptor is not None
    ]
    actions += [_action(redirection) for redirection in program.redirections]
    try:
        with _folder(program.folder):
            pid = os.posix_spawn(
                program.path,
                list(program.command),
                dict(environment) if program.folder is None else {**environment, "PWD": str(program.folder)},
                file_actions=actions,
                setsigmask=mask,
                setsigdef=_IGNORED_BY_PYTHON,
            )
    except OSError as error:
        raise _not_started(program, error) from None
    return Child(pid)


def _action(redirection: Redirection) -> tuple[object, ...]:
    if isinstance(redirection.target, int):
        return os.POSIX_SPAWN_DUP2, redirection.target, redirection.descriptor
    return os.POSIX_SPAWN_OPEN, redirection.descriptor, redirection.target, redirection.flags, 0o666


@contextlib.contextmanager
def _folder(folder: Path | None) -> Iterator[None]:
    """Python's posix_spawn cannot change the child's folder, so this process goes there for a moment."""
    if folder is None:
        yield
        return
    here = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.chdir(folder)
        yield
    finally:
        os.fchdir(here)
        os.close(here)


def _not_started(program: Program, error: OSError) -> WhyperfError:
    path = shlex.quote(program.path)
    for one in program.redirections:
        if isinstance(one.target, str) and not (program.folder or Path()).joinpath(one.target).exists():
            return WhyperfError(
                f"{one.target} could not be opened: {os.strerror(error.errno or 0)}.",
                f"ls -l {shlex.quote(one.target)}",
            )
    if error.errno == errno.ENOEXEC:
        return WhyperfError(f"{program.path} is not a program that this machine can execute.", f"file {path}")
    if error.errno == errno.E2BIG:
        return WhyperfError("The command line and environment are too long for this machine.", "getconf ARG_MAX")
    return WhyperfError(f"{program.path} could not be started: {os.strerror(error.errno or 0)}.", f"ls -l {path}")
