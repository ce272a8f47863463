"""Keep device files: with a forced value a program may remove the file that it writes to, and as root that may be
`/dev/null`."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_DEVICES, _SHARED_MEMORY = Path("/dev"), Path("/dev/shm")
_NEW_MOUNTS = 0x00020000  # CLONE_NEWNS
_READ_ONLY, _REMOUNT, _BIND, _RECURSIVE, _PRIVATE = 1, 1 << 5, 1 << 12, 1 << 14, 1 << 18  # MS_*
_KEPT = os.ST_NOSUID | os.ST_NODEV | os.ST_NOEXEC  # a remount drops them unless asked not to; numbered as MS_*


def make_devices_read_only() -> None:
    """For this thread and what it starts from now on, in a mount namespace of its own. Device files can be opened, read
    and written as before, but not removed, replaced or created. `/dev/shm` and mounts below `/dev` stay writable.

    Does nothing if this process may not remove device files anyway. OSError where the system forbids it.
    """
    if not os.access(_DEVICES, os.W_OK, effective_ids=True):
        return
    libc = ctypes.CDLL(None, use_errno=True)
    _check(libc.unshare(_NEW_MOUNTS))
    try:
        _mount(libc, _DEVICES, _PRIVATE)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        # It is a folder of the root's mount, as in some containers. The mount made here must not appear outside.
        _mount(libc, Path("/"), _PRIVATE)
        _mount(libc, _DEVICES, _BIND | _RECURSIVE)
    if _is_plain_folder(_SHARED_MEMORY):
        _mount(libc, _SHARED_MEMORY, _BIND)
    _mount(libc, _DEVICES, _REMOUNT | _BIND | _READ_ONLY | (os.statvfs(_DEVICES).f_flag & _KEPT))


def why_not_read_only() -> str:
    """Why observed runs can remove device files. Empty: they cannot."""
    with ThreadPoolExecutor(1) as thread:
        try:
            thread.submit(make_devices_read_only).result()
        except OSError as error:
            return os.strerror(error.errno or 0)
    return ""


def _is_plain_folder(path: Path) -> bool:
    """No mount of its own, so it would become read-only too."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_dev == _DEVICES.stat().st_dev


def _mount(libc: ctypes.CDLL, path: Path, flags: int) -> None:
    """On itself, or with other flags."""
    where = os.fsencode(path)
    _check(libc.mount(where, where, None, ctypes.c_ulong(flags), None))


def _check(failed: int) -> None:
    if failed:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
