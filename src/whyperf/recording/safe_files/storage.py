"""Files that only their owner can read, and that are either whole or not there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyarrow import Buffer

FILE_MODE = 0o600
FOLDER_MODE = 0o700


def make_folder(path: Path) -> None:
    path.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)


def write_new(path: Path, content: bytes | Buffer) -> None:
    """Write and sync a new file of that name, never through a link; on failure nothing is left of it."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
    try:
        write_whole(descriptor, content)
        os.fsync(descriptor)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


def write_whole(descriptor: int, content: bytes | Buffer) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]


def write_atomically(path: Path, content: bytes | Buffer) -> None:
    """Replaces a file: after a crash it is the old one or the new one."""
    new = path.with_name(path.name + ".new")
    write_new(new, content)
    new.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
