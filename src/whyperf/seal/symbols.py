"""What sealing asks of debug information; `whyperf.debuginfo` answers, tests answer with less."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from whyperf.debuginfo import binary
    from whyperf.debuginfo.control_flow.decisions import DecidingLine
    from whyperf.debuginfo.control_flow.function_flow import TimedFlows
    from whyperf.debuginfo.control_flow.tail_jumps import Calls, Jumps

_FLOW_CPU_SECONDS = 1.0  # for reading the code of each file
_JUMPS_CPU_SECONDS = 10.0  # few functions jump; without some of them, contexts would differ from run to run


class NamedFunctions(Protocol):
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


class ResolvedPlaces(Protocol):
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


class DescribedBinary(Protocol):
    @property
    def debug(self) -> str: ...
    @property
    def functions(self) -> NamedFunctions: ...
    def resolve(self, addresses: npt.NDArray[np.uint64]) -> ResolvedPlaces: ...
    def block_of(self, addresses: npt.NDArray[np.uint64]) -> npt.NDArray[np.int32]: ...

    def in_loop(self, addresses: npt.NDArray[np.uint64]) -> Sequence[int]: ...


class CodeFingerprints(Protocol):
    """Parallel columns, a copy of a function each."""

    @property
    def function(self) -> npt.NDArray[np.int32]: ...
    @property
    def code(self) -> npt.NDArray[np.uint64]: ...


class NamedAddresses(Protocol):
    def resolve(self, addresses: npt.NDArray[np.uint64]) -> Sequence[str | None]: ...


class Symbols(Protocol):
    def describe(self, path: str, build_id: str) -> DescribedBinary: ...

    def passed_calls(self, path: str, build_id: str, addresses: npt.NDArray[np.uint64]) -> set[tuple[int, int]]: ...

    def tail_jumps(
        self, files: Sequence[tuple[str, str]], calls: Calls, reached_by_name: Collection[int]
    ) -> list[Jumps]: ...

    def deciding_lines(
        self, path: str, build_id: str, addresses: npt.NDArray[np.uint64]
    ) -> list[list[DecidingLine]]: ...

    def fingerprints(self, path: str, build_id: str, functions: npt.NDArray[np.int32]) -> CodeFingerprints: ...

    def perf_map(self, pid: int) -> NamedAddresses | None: ...


class DebugInfo:
    """Asks `whyperf.debuginfo`, each binary once, also for several recordings of the same programs."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], binary.Binary] = {}
        self._flows: dict[tuple[str, str], TimedFlows] = {}

    def describe(self, path: str, build_id: str) -> binary.Binary:
        from whyperf.debuginfo.describe import describe

        if (path, build_id) not in self._known:
            self._known[path, build_id] = describe(path, build_id)
        return self._known[path, build_id]

    def passed_calls(self, path: str, build_id: str, addresses: npt.NDArray[np.uint64]) -> set[tuple[int, int]]:
        from whyperf.debuginfo.control_flow.certain_calls import passed_calls

        flows = self._flows_of(path, build_id)
        flows.renew(_FLOW_CPU_SECONDS)  # what one recording took is not taken off another's
        return passed_calls(flows, addresses)

    def tail_jumps(
        self, files: Sequence[tuple[str, str]], calls: Calls, reached_by_name: Collection[int]
    ) -> list[Jumps]:
        from whyperf.debuginfo.control_flow.tail_jumps import TailJumps

        used = {*calls.file.tolist(), *calls.inner_file.tolist()} - {-1}
        flows = {number: self._flows_of(*files[number]) for number in sorted(used)}
        for one in flows.values():
            one.renew(_JUMPS_CPU_SECONDS)
        return TailJumps(flows, reached_by_name).of(calls)

    def deciding_lines(self, path: str, build_id: str, addresses: npt.NDArray[np.uint64]) -> list[list[DecidingLine]]:
        from whyperf.debuginfo.control_flow.decisions import deciding_lines

        return deciding_lines(self._flows_of(path, build_id), addresses)

    def fingerprints(self, path: str, build_id: str, functions: npt.NDArray[np.int32]) -> CodeFingerprints:
        from whyperf.debuginfo.fingerprints import fingerprints

        return fingerprints(self.describe(path, build_id), functions)

    def _flows_of(self, path: str, build_id: str) -> TimedFlows:
        from whyperf.debuginfo.control_flow.function_flow import TimedFlows

        if (path, build_id) not in self._flows:
            self._flows[path, build_id] = TimedFlows(self.describe(path, build_id), _FLOW_CPU_SECONDS)
        return self._flows[path, build_id]

    def perf_map(self, pid: int) -> NamedAddresses | None:
        from whyperf.debuginfo.code_maps.perf_map import read_perf_map

        return read_perf_map(pid)
