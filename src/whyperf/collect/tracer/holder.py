"""Only one tracer at a time: two would record each other, and each would cost what it costs."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shlex
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from whyperf.errors import WhyperfError
from whyperf.recording.safe_files.dataclass_json import MisfitError, from_plain
from whyperf.recording.safe_files.private_folders import check_private, private_folder

_FOLDER = "WHYPERF_TRACE_FOLDER"  # for tests, which must not disturb each other
_LOCK = "tracer"
_BPFFS = Path("/sys/fs/bpf")


@dataclass(frozen=True)
class TracerHolder:
    name: str
    pid: int
    flight: bool  # it is the flight recorder's daemon


def state_folder() -> Path:
    """Where running tracers say who they are; gone after a boot, as they are."""
    given = os.environ.get(_FOLDER)
    if given:
        folder = Path(given)
    elif os.geteuid() == 0:
        folder = Path("/run/whyperf")
    else:
        folder = Path(os.environ.get("XDG_RUNTIME_DIR") or f"/tmp/whyperf-{os.geteuid()}") / "whyperf"
    try:
        return private_folder(folder)
    except OSError as error:
        raise WhyperfError(f"{folder} cannot be created: {error.strerror}.", f"ls -ld {folder.parent}") from None


def pins_folder() -> Path:
    """Where the flight recorder's programs and rings stay without a process; WhyperfError where others can put them."""
    folder = _pins()
    check_private(folder)
    return folder


def rings_are_pinned() -> bool:
    """Whether they are in the kernel now; whoever may not look there could not have put them there."""
    try:
        return _pins().is_dir() and pins_folder().is_dir()
    except PermissionError:
        return False


def _pins() -> Path:
    given = os.environ.get(_FOLDER)
    return _BPFFS / (f"whyperf-{Path(given).name}" if given else "whyperf")


def holder() -> TracerHolder | None:
    """Who is tracing now, as far as a living process does."""
    try:
        descriptor = os.open(state_folder() / _LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read(descriptor)
    finally:
        os.close(descriptor)
    return None


@contextlib.contextmanager
def alone(name: str, *, flight: bool = False) -> Iterator[int]:
    """Keeps other tracers out as long as the descriptor is open, which a forked daemon inherits."""
    lock = state_folder() / _LOCK
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        why = "is a link" if lock.is_symlink() else f"cannot be opened: {error.strerror}"
        raise WhyperfError(f"{lock}, which keeps a second tracer out, {why}.", f"rm {lock}") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _refused(_read(descriptor)) from None
        if not flight and rings_are_pinned():
            raise WhyperfError(
                "The flight recorder's rings are still in the kernel, though its daemon is gone: only one tracer can "
                "run at a time.",
                "whyperf trace dump -o before; whyperf trace stop",
            )
        say(descriptor, TracerHolder(name, os.getpid(), flight))
        yield descriptor
    finally:
        os.close(descriptor)


def say(descriptor: int, who: TracerHolder) -> None:
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(asdict(who)).encode(), 0)


def _read(descriptor: int) -> TracerHolder:
    try:
        return from_plain(TracerHolder, json.loads(os.pread(descriptor, 4096, 0)))
    except (MisfitError, ValueError):
        return TracerHolder("another whyperf", 0, False)


def _refused(who: TracerHolder) -> WhyperfError:
    """Named, and left alone: it may be somebody else's."""
    known = f"{who.name} (process {who.pid})" if who.pid else who.name
    wait = f"tail --pid={who.pid} -f /dev/null" if who.pid else "ps -C whyperf"
    return WhyperfError(
        f"{known} is tracing already, and only one tracer can run at a time"
        + (": keep what it has before you stop it." if who.flight else ": wait until it ends."),
        "whyperf trace dump -o before && whyperf trace stop" if who.flight else wait,
    )


def command_name(*words: str) -> str:
    return shlex.join(("whyperf", *words))
