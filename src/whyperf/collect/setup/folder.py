"""The recording's folder: made for its owner alone, never over something else."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from whyperf.errors import WhyperfError, not_created
from whyperf.recording.layout import LOCK, RAW, is_being_written


@dataclass(frozen=True)
class RecordingFolder:
    path: Path
    lock: int  # held as long as the recorder lives

    @property
    def raw(self) -> Path:
        return self.path / RAW

    @contextlib.contextmanager
    def removed_unless_begun(self) -> Iterator[None]:
        """Remove the folder if what begins the recording fails, on a full disk for example: it holds nothing then."""
        try:
            yield
        except BaseException:
            shutil.rmtree(self.path, ignore_errors=True)
            raise

    def release(self) -> None:
        # A child that is still reading debug information has inherited the descriptor: closing ours is not enough.
        fcntl.flock(self.lock, fcntl.LOCK_UN)
        os.close(self.lock)


def check_creatable(path: Path, *, force: bool) -> None:
    """Refuse what `create` would refuse, before time is spent on what shall lie there. Nothing is replaced yet."""
    if path.exists() or path.is_symlink():
        _check_replaceable(path, force)
        return
    try:
        path.mkdir(mode=0o700)
        path.rmdir()
    except OSError as error:
        raise not_created(path, error) from None


def create(path: Path, *, force: bool) -> RecordingFolder:
    """Makes exactly `path`; replaces a recording only when forced, and anything else never."""
    if path.exists() or path.is_symlink():
        _make_room(path, force)
    made = False
    try:
        path.mkdir(mode=0o700)
        made = True
        raw = path / RAW
        raw.mkdir(mode=0o700)
        lock = os.open(raw / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if made:
            shutil.rmtree(path, ignore_errors=True)
        raise not_created(path, error) from None
    return RecordingFolder(path, lock)


def _make_room(path: Path, force: bool) -> None:
    from whyperf.recording.removal import ForeignFileError, remove_recording  # loads pyarrow

    _check_replaceable(path, force)
    try:
        remove_recording(path)
    except ForeignFileError as foreign:
        raise WhyperfError(
            f"{path} is not replaced: {foreign.path.relative_to(path)} in it was not written by whyperf.",
            f"mv {shlex.quote(str(foreign.path))} ELSEWHERE",
        ) from None
    except OSError as error:
        quoted = shlex.quote(str(path))
        raise WhyperfError(f"{path} cannot be replaced: {error.strerror}.", f"ls -la {quoted}") from None


def _check_replaceable(path: Path, force: bool) -> None:
    from whyperf.recording.removal import is_provably_ours  # loads pyarrow

    quoted = shlex.quote(str(path))
    if not is_provably_ours(path):
        raise WhyperfError(
            f"{path} exists and is not a recording, so it is left alone.", f"whyperf record -o {quoted}.whyperf ..."
        )
    if is_being_written(path):
        raise WhyperfError(f"{path} is still being written by another whyperf.", f"whyperf info {quoted}")
    if not force:
        raise WhyperfError(
            f"{path} already holds a recording; --force replaces it.", f"whyperf record --force -o {quoted} ..."
        )
