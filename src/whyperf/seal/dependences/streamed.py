"""The tool's stream with what its numbers mean, and what sealing makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whyperf.collect.dependences.heap import heap_entries
from whyperf.collect.dependences.instruments import Instruments
from whyperf.collect.dependences.stream import DecodedStream, Stream, StreamFlow
from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.describe import describe
from whyperf.seal.code_tables.code import Code
from whyperf.seal.dependences.sites import SeenSites, StreamSites, module_of
from whyperf.seal.dependences.stream_checks import check_decoded
from whyperf.seal.participants.address_spaces import Module
from whyperf.seal.symbols import DebugInfo

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Streamed:
    """The stream with what its numbers mean."""

    stream: Stream
    instruments: Instruments
    modules: tuple[Module, ...]
    """The stream's, without its first, which is code of no file."""
    entry: Ints
    """Key of each watched function's entry; -1 where its module was not loaded."""
    site_keys: Ints
    symbols: DebugInfo
    program: str
    """Path of the program itself."""
    _binaries: dict[int, Binary] = field(default_factory=dict)

    @property
    def module_of_function(self) -> Ints:
        return np.where(self.entry >= 0, module_of(self.entry), -1)

    def decoded(self, flow: StreamFlow | None = None) -> DecodedStream:
        """The stream's events and regions, whose numbers can be relied on."""
        decoded = self.stream.decode(flow)
        check_decoded(self.stream, self.entry >= 0, decoded)
        return decoded

    def binary(self, module: int) -> Binary:
        if module not in self._binaries:
            self._binaries[module] = describe(self.modules[module].path, self.modules[module].build_id)
        return self._binaries[module]

    def heap_names(self, functions: npt.NDArray[np.int32]) -> dict[int, str]:
        """What watched functions do with the heap, by number."""
        names: dict[int, str] = {}
        for number in np.unique(functions).tolist():
            module = int(self.module_of_function[number])
            if module >= 0:
                names[number] = heap_entries(self.binary(module)).get(self.instruments.functions[number].entry, "")
        return names

    def seen(self, sites: StreamSites) -> SeenSites:
        return SeenSites(sites.rows(self.site_keys), self.stream.sites["flags"].astype(np.int64))


@dataclass(frozen=True, eq=False)
class Sealed:
    tables: dict[str, pa.Table]
    code: Code
    frame_weight: Ints
    executions: int
    inexact: Mapping[str, int]
