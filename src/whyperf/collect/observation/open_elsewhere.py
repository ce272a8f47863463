"""Files that a run has open to write to and that are open in processes outside of it, too: a value forced into the run
could damage what those processes work with.

`/proc` is looked at, more and more rarely, so a file that is open for a moment only may be missed, as may processes
that only another user may look into.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from whyperf.collect.usage.totals import Identity, identify, process_tree

_FIRST_S, _GROWTH = 0.005, 1.5  # between two looks
_MOST_FILES, _MOST_PROCESSES = 1024, 64  # of a process, of a run
_FLAGS = re.compile(r"^flags:\s*([0-7]+)$", re.MULTILINE)
_SHARED = re.compile(r"^\S+ (?:rw|-w).s \S+ ([0-9a-f]+):([0-9a-f]+) (\d+) +(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class _File:
    """As one of the two ways names it: some file systems have another device number in a mapping."""

    device: int
    inode: int
    is_mapped: bool


class OpenElsewhere:
    def __init__(self) -> None:
        self._target: int | None = None
        self._began = self._next = 0.0
        self._written: dict[_File, str] = {}  # and the name of each
        self._known: set[Identity] = set()  # processes of the run

    def started(self, target: int) -> None:
        self._target, self._began = target, time.monotonic()
        self._next = self._began + _FIRST_S

    def look(self) -> None:
        """If it is time again."""
        now = time.monotonic()
        if self._target is None or now < self._next:
            return
        self._next = self._began + _GROWTH * (now - self._began)
        for process in process_tree(self._target)[:_MOST_PROCESSES]:
            self._known.add(process)
            self._written.update(_files_of(process.pid, only_written=True))

    def named(self) -> str:
        """One of them, and where it is open; empty: none was seen. Once the run has ended."""
        own = dict(_files_of(os.getpid(), only_written=False))  # a log into which all of this is written
        written = {file: name for file, name in self._written.items() if file not in own}
        if not written:
            return ""
        ours = {one.pid for one in (*process_tree(os.getpid()), *self._known) if identify(one.pid) == one}
        with_mapped = any(file.is_mapped for file in written)
        others = {int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdecimal()} - ours
        for pid in sorted(others):
            for file, _ in _files_of(pid, only_written=False, with_mapped=with_mapped):
                if file in written:
                    return f"{written[file]} is also open in {_name(pid)} ({pid})"
        return ""


def _files_of(pid: int, *, only_written: bool, with_mapped: bool = True) -> Iterator[tuple[_File, str]]:
    """Regular files; as far as this process may know."""
    folder = Path(f"/proc/{pid}")
    with contextlib.suppress(OSError):
        for opened in islice((folder / "fd").iterdir(), _MOST_FILES):
            with contextlib.suppress(OSError):
                found = opened.stat()
                if stat.S_ISREG(found.st_mode) and (not only_written or _is_written(folder / "fdinfo" / opened.name)):
                    yield _File(found.st_dev, found.st_ino, False), str(opened.readlink())
    if with_mapped:
        with contextlib.suppress(OSError):
            maps = (folder / "maps").read_text(errors="replace")
            for major, minor, inode, name in _SHARED.findall(maps):
                yield _File(os.makedev(int(major, 16), int(minor, 16)), int(inode), True), name


def _is_written(information: Path) -> bool:
    flags = _FLAGS.search(information.read_text())
    return flags is not None and int(flags[1], 8) & os.O_ACCMODE != os.O_RDONLY


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "a process"
