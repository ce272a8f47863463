"""Notices the end of a process that is not a child."""

from __future__ import annotations

import os
import select


class ProcessEnd:
    """Of one process, which must be there; of none in particular (None) it never comes."""

    def __init__(self, pid: int | None) -> None:
        self._descriptor = -1 if pid is None else os.pidfd_open(pid)

    def has_come(self, timeout_s: float = 0.0) -> bool:
        if self._descriptor < 0:
            return False
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        return bool(poll.poll(timeout_s * 1000))

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
