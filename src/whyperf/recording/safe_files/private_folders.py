"""Folders that nobody else can plant, read or change, also in places that all users share such as /tmp."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from whyperf.errors import WhyperfError

_OTHERS_WRITE = stat.S_IWOTH
_GROUP_WRITE = stat.S_IWGRP


def cache_root() -> Path:
    """Where this user's caches are: unwind tables, code maps, source roles, the demo's program."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(given) if given.startswith("/") else Path(os.path.expanduser("~/.cache"))  # noqa: PTH111 (never raises)
    return base / "whyperf"


def private_folder(path: Path) -> Path:
    """Make the folder if it is absent; WhyperfError where another user owns or can replace any part of its path.

    OSError where it cannot be made.
    """
    check_private(path)
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    check_private(path)
    return path


def check_private(path: Path) -> None:
    """WhyperfError where another user owns or can replace any part of the path, as far as it exists. Make nothing."""
    present = next(parent for parent in (path, *path.parents) if os.path.lexists(parent))
    _check(present)
    if present == path and path.stat().st_uid != os.geteuid():
        raise _shared(path, path)


def _check(path: Path) -> None:
    # As it is written, so that links have a trustworthy owner, and where it leads to.
    for way in (path.absolute(), path.resolve()):
        above: os.stat_result | None = None
        for part in (*reversed(way.parents), way):
            status = os.lstat(part)
            if not _is_trustworthy(status, above):
                raise _shared(path, part)
            above = status


def _is_trustworthy(status: os.stat_result, above: os.stat_result | None) -> bool:
    owners = {0, os.geteuid()}
    if above is None or not above.st_mode & _OTHERS_WRITE:
        owners.add(os.lstat("/").st_uid)  # in a user namespace root may have no number
    if status.st_uid not in owners:
        return False
    if stat.S_ISLNK(status.st_mode) or status.st_mode & stat.S_ISVTX:
        return True
    by_group = status.st_mode & _GROUP_WRITE and status.st_gid not in (0, os.getegid())
    return not status.st_mode & _OTHERS_WRITE and not by_group


def _shared(path: Path, part: Path) -> WhyperfError:
    return WhyperfError(
        f"{path} cannot be trusted: {part} belongs to another user or can be changed by others.",
        "export XDG_CACHE_HOME=$HOME/.cache" if "cache" in str(path) else f"ls -ld {part}",
    )
