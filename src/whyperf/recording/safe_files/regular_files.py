"""Open files that others may have made: regular ones only, and never more of them than expected.

A pipe in the place of a file would be waited for, a device would be read without end, and a symbolic link leads out of
the recording. Loads nothing, because recorders start in an instant.
"""

from __future__ import annotations

import errno
import mmap
import os
import shlex
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from whyperf.errors import WhyperfError

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
}


def open_regular(path: Path, *, flags: int = 0, follow: bool = False) -> int:
    """A descriptor of a file of a recording. `follow`: a path that the user typed may be a symbolic link.

    OSError where there is none, WhyperfError where it is anything but a regular file.
    """
    try:
        descriptor = os.open(path, _FLAGS | flags | (0 if follow else os.O_NOFOLLOW), 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP and not follow:
            raise _not_regular(path, "a symbolic link") from None
        if error.errno in (errno.ENXIO, errno.EISDIR):  # sockets cannot be opened, folders not for writing
            raise _not_regular(path, "a folder" if error.errno == errno.EISDIR else "a socket or a device") from None
        raise
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise _not_regular(path, _KINDS.get(stat.S_IFMT(mode), "something else"))
    return descriptor


@contextmanager
def opened_regular(path: Path, *, follow: bool = False) -> Iterator[int]:
    descriptor = open_regular(path, follow=follow)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def opened_by_name(path: Path) -> Iterator[str]:
    """Another name of a file of a recording, for code that opens files itself: what it opens is the file checked."""
    with opened_regular(path) as descriptor:
        yield f"/proc/self/fd/{descriptor}"


def read_regular(path: Path, most: int, *, follow: bool = False) -> bytes:
    """All of a file that has no more than `most` bytes."""
    with opened_regular(path, follow=follow) as descriptor:
        _check_size(path, descriptor, most)
        with open(descriptor, "rb", closefd=False) as file:
            content = file.read(most + 1)
    if len(content) > most:  # it has grown since
        raise _too_large(path, len(content), most)
    return content


def map_regular(path: Path, most: int, *, follow: bool = False) -> memoryview:
    """All of a file that has no more than `most` bytes, read when it is used."""
    with opened_regular(path, follow=follow) as descriptor:
        size = _check_size(path, descriptor, most)
        return memoryview(mmap.mmap(descriptor, size, prot=mmap.PROT_READ) if size else b"")


def _check_size(path: Path, descriptor: int, most: int) -> int:
    size = os.fstat(descriptor).st_size
    if size > most:
        raise _too_large(path, size, most)
    return size


def _not_regular(path: Path, kind: str) -> WhyperfError:
    return WhyperfError(f"{path} is {kind}; whyperf reads regular files only.", f"ls -l {shlex.quote(str(path))}")


def _too_large(path: Path, size: int, most: int) -> WhyperfError:
    return WhyperfError(
        f"{path} has {size:,} bytes; whyperf reads at most {most:,} of such a file.", f"ls -l {shlex.quote(str(path))}"
    )
