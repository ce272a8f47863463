"""The work of a comparison shared with copies of this process, where it is worth starting them.

Processes, not threads: most of the work is many small steps, during which Python lets one thread run at a time.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from whyperf.engines.execution import HERE, Item, Result, Shared
from whyperf.errors import WhyperfError

# What takes less CPU time than this is done before copies could have started.
_ALONE_S = 0.5
_PR_SET_PDEATHSIG = 1

_task: tuple[Callable[[Any, Any], Any], Any] | None = None  # in a copy: what it was made for


class Processes:
    """For programs with one thread: a copy has only the thread that made it, and all locks as they were."""

    def __init__(self, count: int) -> None:
        self._count = count

    def map(
        self, doing: str, function: Callable[[Shared, Item], Result], shared: Shared, items: Sequence[Item]
    ) -> Iterator[Result]:
        begun = time.process_time()
        done = 0
        for result in HERE.map(doing, function, shared, items):
            done += 1
            yield result
            if time.process_time() - begun > _ALONE_S:
                break
        left = items[done:]
        if min(len(left), self._count) < 2:
            yield from HERE.map(doing, function, shared, left)
        else:
            yield from self._among_copies(doing, function, shared, left)

    def _among_copies(
        self, doing: str, function: Callable[[Shared, Item], Result], shared: Shared, items: Sequence[Item]
    ) -> Iterator[Result]:
        """Copies have `shared` from the beginning; items and results travel."""
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor
        from concurrent.futures.process import BrokenProcessPool

        pool = ProcessPoolExecutor(
            min(self._count, len(items)), multiprocessing.get_context("fork"), _begin, (function, shared)
        )
        try:
            yield from pool.map(_work, items)
        except BrokenProcessPool:
            raise WhyperfError(
                f"A process was killed while {doing}: perhaps the memory did not suffice for {self._count} at a time.",
                "whyperf diagnose --jobs 1 ...",
            ) from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _begin(function: Callable[[Any, Any], Any], shared: Any) -> None:
    """Ctrl-C is for who started the copies, and so is their end."""
    import ctypes

    global _task  # noqa: PLW0603
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    _task = function, shared


def _work(item: Any) -> Any:
    assert _task is not None
    function, shared = _task
    return function(shared, item)
