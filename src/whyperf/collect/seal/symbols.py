"""What sealing asks of debug information; `whyperf.debuginfo` answers, tests answer with less."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from whyperf import debuginfo


class Functions(Protocol):
    """Parallel columns, a function each."""

    @property
    def names(self) -> Sequence[str]: ...
    @property
    def files(self) -> Sequence[str]: ...
    @property
    def lines(self) -> npt.NDArray[np.int32]: ...
    @property
    def order(self) -> npt.NDArray[np.int32]: ...
    @property
    def inlined(self) -> npt.NDArray[np.bool_]: ...


class Places(Protocol):
    """Chains of functions at addresses: entries start[i]:start[i + 1], innermost inlined first, physical last."""

    @property
    def start(self) -> npt.NDArray[np.int32]: ...
    @property
    def function(self) -> npt.NDArray[np.int32]: ...
    @property
    def file(self) -> npt.NDArray[np.int32]: ...
    @property
    def files(self) -> Sequence[str]: ...
    @property
    def line(self) -> npt.NDArray[np.int32]: ...


class Decision(Protocol):
    @property
    def line(self) -> int: ...
    @property
    def of_loop(self) -> bool: ...


class Binary(Protocol):
    @property
    def debug(self) -> str: ...
    @property
    def functions(self) -> Functions: ...
    def resolve(self, addresses: npt.NDArray[np.uint64]) -> Places: ...
    def block_of(self, addresses: npt.NDArray[np.uint64]) -> npt.NDArray[np.int32]: ...

    def in_loop(self, addresses: npt.NDArray[np.uint64]) -> Sequence[int]: ...
    def decisions(self, addresses: npt.NDArray[np.uint64]) -> Sequence[Decision]: ...


class PerfMap(Protocol):
    def resolve(self, addresses: npt.NDArray[np.uint64]) -> Sequence[str | None]: ...


class Symbols(Protocol):
    def describe(self, path: str, build_id: str) -> Binary: ...

    def passed_calls(
        self, path: str, build_id: str, addresses: npt.NDArray[np.uint64], budget_s: float
    ) -> set[tuple[int, int]]: ...

    def perf_map(self, pid: int) -> PerfMap | None: ...


class DebugInfo:
    """Asks `whyperf.debuginfo`, each binary once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], debuginfo.Binary] = {}

    def describe(self, path: str, build_id: str) -> debuginfo.Binary:
        from whyperf import debuginfo

        if (path, build_id) not in self._known:
            self._known[path, build_id] = debuginfo.describe(path, build_id)
        return self._known[path, build_id]

    def passed_calls(
        self, path: str, build_id: str, addresses: npt.NDArray[np.uint64], budget_s: float
    ) -> set[tuple[int, int]]:
        from whyperf.debuginfo.passed import passed_calls

        return passed_calls(self.describe(path, build_id), addresses, budget_s)

    def perf_map(self, pid: int) -> PerfMap | None:
        from whyperf import debuginfo

        return debuginfo.read_perf_map(pid)
