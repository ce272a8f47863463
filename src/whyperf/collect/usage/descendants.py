"""Tell the target's processes from strangers that happen to have their numbers.

A process in a PID namespace of its own (`unshare -pf`, a container) knows itself by another number than the recorder
does. Here that number is free or belongs to a stranger, which mostly ran before the target was started.
"""

from __future__ import annotations

from collections.abc import Iterable

from whyperf.collect.usage.totals import Identity, Thread, identify


class Descendants:
    def __init__(self, target: Identity | None) -> None:
        self._target = target
        self._known: dict[int, bool] = {}

    def among(self, threads: Iterable[Thread]) -> list[Thread]:
        """Those of processes that started no earlier than the target, or have ended."""
        return [(pid, tid) for pid, tid in threads if self._descends(pid)]

    def _descends(self, pid: int) -> bool:
        if pid not in self._known:
            process = identify(pid)
            if process is None or self._target is None:
                return True
            self._known[pid] = process.start >= self._target.start
        return self._known[pid]
