"""The table `sites`: instructions with their names, lines and place in the flow of control."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whyperf.collect.dependences.stream import SiteFlag
from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.control_flow.function_flow import Flow
from whyperf.errors import WhyperfError
from whyperf.recording.schemas.deep_tables import SITES, SiteKind
from whyperf.seal.code_tables.code import DROPPED, Code, CodeBuilder
from whyperf.seal.participants.address_spaces import Module
from whyperf.seal.participants.places import CodePlaces
from whyperf.seal.symbols import DebugInfo

Ints = npt.NDArray[np.int64]

_MODULE_SHIFT = 48  # above every address
_ADDRESS = (1 << _MODULE_SHIFT) - 1


def keys_of(module: npt.ArrayLike, address: npt.ArrayLike) -> Ints:
    """One number for a place in a module; modules are numbered from 0, -1 is none."""
    return ((np.asarray(module, np.int64) + 1) << _MODULE_SHIFT) | (np.asarray(address).astype(np.int64) & _ADDRESS)


def module_of(keys: Ints) -> Ints:
    return (keys >> _MODULE_SHIFT) - 1


@dataclass(frozen=True, eq=False)
class PlacedFlow:
    module: int
    flow: Flow

    def keys(self, rows: npt.NDArray[np.int32]) -> Ints:
        return keys_of(self.module, self.flow.address[rows])


@dataclass(frozen=True, eq=False)
class StreamSites:
    """Sorted by key: a site's row is where its key is."""

    keys: Ints

    def rows(self, keys: npt.ArrayLike) -> Ints:
        """Rows of keys, -1 for those that are none."""
        wanted = np.asarray(keys, np.int64)
        if not len(self.keys):
            return np.full(len(wanted), -1, np.int64)
        row = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[row] == wanted, row, -1)

    @property
    def module(self) -> npt.NDArray[np.int32]:
        return module_of(self.keys).astype(np.int32)

    @property
    def address(self) -> npt.NDArray[np.uint64]:
        return (self.keys & _ADDRESS).astype(np.uint64)


@dataclass(frozen=True, eq=False)
class SeenSites:
    """What the tool says of the instructions that it met."""

    row: Ints
    flags: Ints


def resolved(
    sites: StreamSites,
    modules: tuple[Module, ...],
    programs: set[str],
    symbols: DebugInfo,
    on_module: Callable[[str, float], None],
) -> Code:
    count = len(sites.keys)
    places = CodePlaces(
        np.zeros(count, np.int32),
        sites.address,
        sites.module,
        sites.address,
        np.zeros(count, bool),
        np.ones(count, bool),
    )
    return CodeBuilder(symbols, programs, "").build(places, modules, lambda _space: 0, on_module)


def sites_table(
    sites: StreamSites,
    code: Code,
    entries: Ints,
    seen: SeenSites,
    *,
    flows: tuple[PlacedFlow, ...] = (),
    binaries: Mapping[int, Binary] | None = None,
) -> pa.Table:
    """`entries`: keys of the functions' entries. `binaries` by module, to say whom calls call."""
    count = len(sites.keys)
    frame = code.place_frame
    if (frame == DROPPED).any():
        raise WhyperfError(
            "The recording is damaged: its stream names instructions of whyperf's own library.",
            "whyperf record --deep -o NAME -- COMMAND",
        )
    inner = code.frames.column("function").to_numpy()[frame]
    columns: dict[str, Any] = {
        "site": np.arange(count, dtype=np.int32),
        "module": np.append(code.module_row, np.int32(-1))[sites.module],
        "offset": sites.address.astype(np.int64),
        "function": code.frames.column("function").to_numpy()[_outermost(code, frame)],
        "inlined": inner,
        "file": code.frames.column("file").take(frame).combine_chunks(),
        "line": code.frames.column("line").to_numpy()[frame],
        "frame": frame,
        "block": np.full(count, -1, np.int32),
        "kind": np.full(count, SiteKind.PLAIN, np.int8),
        "entry": np.isin(sites.keys, entries),
        "copy": np.zeros(count, np.bool_),
        "memory": np.zeros(count, np.int8),
        "loop": np.full(count, -1, np.int32),
        "join": np.full(count, -1, np.int32),
        "callee": np.full(count, -1, np.int32),
    }
    _add_seen(columns, seen)
    for placed in flows:
        _add_flow(columns, sites, placed, code, None if binaries is None else binaries.get(placed.module))
    return pa.table([pa.array(columns[field.name], field.type) for field in SITES.schema], schema=SITES.schema)


def _outermost(code: Code, frame: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    around = code.frames.column("inlined_in").to_numpy()
    outer = frame
    while len(outer) and (inside := around[outer] >= 0).any():
        outer = np.where(inside, around[outer], outer)
    return outer


def _add_seen(columns: dict[str, npt.NDArray[Any]], seen: SeenSites) -> None:
    known = seen.row >= 0
    row, flags = seen.row[known], seen.flags[known]
    columns["copy"][row] = flags & SiteFlag.COPY != 0
    columns["kind"][row] = np.select(
        [flags & SiteFlag.CALL != 0, flags & SiteFlag.RETURN != 0], [SiteKind.CALL, SiteKind.RETURN], SiteKind.PLAIN
    )


def _add_flow(
    columns: dict[str, npt.NDArray[Any]], sites: StreamSites, placed: PlacedFlow, code: Code, binary: Binary | None
) -> None:
    flow = placed.flow
    rows = sites.rows(keys_of(placed.module, flow.address))
    first = rows[flow.first]
    columns["block"][rows] = flow.block
    columns["kind"][rows] = flow.kind
    columns["memory"][rows] = flow.memory
    loop = flow.loop[flow.block]
    inside = loop >= 0
    if inside.any():
        columns["loop"][rows[inside]] = first[flow.header[loop[inside]]]
    branch = np.flatnonzero(flow.kind == SiteKind.BRANCH)
    join = flow.join[flow.block[branch]]
    columns["join"][rows[branch]] = np.where(join >= 0, first[np.maximum(join, 0)], -1)
    if binary is not None:
        _add_callees(columns, rows, placed, code, binary)


def _add_callees(
    columns: dict[str, npt.NDArray[Any]], rows: Ints, placed: PlacedFlow, code: Code, binary: Binary
) -> None:
    target = placed.flow.target
    for called in np.unique(target[target >= 0]).tolist():
        scope = binary.scope_entered_at(called)
        if scope >= 0:
            function = code.function_row(placed.module, binary.code.scope_function[scope : scope + 1])
            columns["callee"][rows[target == called]] = function[0]
