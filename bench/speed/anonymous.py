"""Memory that only swapping could take from a process: what it holds apart from files, as often as can be looked."""

from __future__ import annotations

import threading
from types import TracebackType

from bench.speed.memory import anonymous_bytes
from bench.speed.watch import tree_below

_LOOK_EVERY_S = 0.01


class AnonymousMemory:
    """The most that a process and its descendants held together meanwhile, in bytes.

    The kernel keeps a peak of all memory of a process, the files that it has mapped included, and none of this.
    """

    def __init__(self, root: int) -> None:
        self.peak_bytes = 0
        self._root = root
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> AnonymousMemory:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _follow(self) -> None:
        while True:
            self.peak_bytes = max(self.peak_bytes, sum(map(anonymous_bytes, tree_below(self._root))))
            if self._ended.wait(_LOOK_EVERY_S):
                return
