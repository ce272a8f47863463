"""Opening a recording in whatever state it is, by one process at a time."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from whyperf.errors import WhyperfError
from whyperf.recording.layout import LOCK, MANIFEST, RAW, is_open
from whyperf.recording.removal import remove_raw
from whyperf.recording.safe_files.limits import MOST_ROWS
from whyperf.recording.safe_files.regular_files import open_regular
from whyperf.recording.sealed.reader import Recording, not_a_recording, still_being_written
from whyperf.seal.progress import Progress, silently

if TYPE_CHECKING:
    from whyperf.seal.symbols import Symbols

_SEALING = b"sealing"


def seal(
    path: str | Path,
    *,
    progress: Progress | None = None,
    symbols: Symbols | None = None,
    max_rows: int = MOST_ROWS,
) -> Recording:
    """Seals an open recording; a sealed one is just opened. Refuses while its recorder lives."""
    folder = Path(path)
    if (folder / MANIFEST).exists():
        recording = Recording(folder, max_rows=max_rows)  # whose manifest proves that what lies in raw/ is ours
        remove_raw(folder)  # a sealer was killed after its last step but one
        return recording
    if not is_open(folder):
        raise not_a_recording(folder)
    with _locked(folder):
        if is_open(folder):
            # It loads all that reads programs, which nobody needs for a recording that is sealed.
            from whyperf.seal.sealing import seal_open

            seal_open(folder, progress or silently, symbols)
        return Recording(folder, max_rows=max_rows)


def open_recording(path: str | Path, *, max_rows: int = MOST_ROWS) -> Recording:
    """A recording to read, whatever state it is in; tables of more than `max_rows` rows are refused."""
    return seal(path, max_rows=max_rows)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keeps recorders and other sealers out. Another sealer is waited for, a recorder is not."""
    try:
        lock = open_regular(folder / RAW / LOCK, flags=os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise WhyperfError(
            f"{folder} cannot be sealed: {error.strerror}.", f"ls -ld {folder} {folder / RAW}"
        ) from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if os.pread(lock, len(_SEALING), 0) != _SEALING:
                raise still_being_written(folder) from None
            fcntl.flock(lock, fcntl.LOCK_EX)
        with contextlib.suppress(OSError):  # a full disk must not keep anyone from reading
            os.pwrite(lock, _SEALING, 0)
        yield
    finally:
        os.close(lock)
