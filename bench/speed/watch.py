"""What a tool's own processes hold while they run: told from /proc a few times a second."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from bench.speed.memory import peak_bytes, sampler_memory
from bench.subjects import own

_LOOK_EVERY_S = 0.1
_INSIDE_AFTER = 4  # looks at the running program until the sampler's memory is told: once, since it is not free


class Watch:
    """Follows one process tree. What is below `cpu_of` is the program, all else is the tool."""

    def __init__(self, *, looks_inside: bool) -> None:
        self.tool_bytes = 0
        self.sampler_bytes = 0
        self._looks_inside = looks_inside
        self._counter_program = str(own("cpu_of"))
        self._root = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> Watch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._root:
            self._thread.join()

    def begin(self, root: int) -> None:
        self._root = root
        self._thread.start()

    def counter(self) -> int:
        """The process that counts what the program uses, and passes signals on to it. LookupError: there is none."""
        found = next((pid for pid in tree_below(self._root) if self._is_counter(pid)), None)
        if found is None:
            raise LookupError("The program is gone.")
        return found

    def _is_counter(self, pid: int) -> bool:
        return _command(pid).startswith(self._counter_program)

    def _follow(self) -> None:
        seen = 0
        while not self._ended.wait(_LOOK_EVERY_S):
            peaks = [peak_bytes(pid) for pid in tree_below(self._root, stop_at=self._is_counter)]
            self.tool_bytes = max(self.tool_bytes, sum(peaks))
            if self._looks_inside and not self.sampler_bytes and (program := self._program()):
                seen += 1
                if seen > _INSIDE_AFTER:
                    self.sampler_bytes = max(_sampler_bytes(pid) for pid in program)

    def _program(self) -> list[int]:
        try:
            return [pid for pid in tree_below(self.counter()) if not self._is_counter(pid)]
        except LookupError:
            return []


def tree_below(pid: int, stop_at: Callable[[int], bool] | None = None) -> list[int]:
    """A process and all that descend from it; without those that `stop_at` is true of, and what is below them."""
    if stop_at is not None and stop_at(pid):
        return []
    found = [pid]
    for child in _children(pid):
        found += tree_below(child, stop_at)
    return found


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in _listed(Path(f"/proc/{pid}/task")):
        try:
            found += [int(word) for word in (task / "children").read_text().split()]
        except OSError:
            continue
    return found


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except OSError:
        return ""


def _sampler_bytes(pid: int) -> int:
    try:
        return sampler_memory(pid)
    except OSError:
        return 0
