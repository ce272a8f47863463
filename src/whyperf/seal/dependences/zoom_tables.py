"""The tables of a zoom: every execution of the planned instructions, what it was part of, what it depended on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whyperf.collect.dependences.heap import heap_changes
from whyperf.collect.dependences.instruments import HeapUse, Mode
from whyperf.collect.dependences.stream import DecodedStream
from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.control_flow.function_flow import Flows
from whyperf.recording.schemas.deep_tables import DEPENDENCES, EXECUTIONS, REGIONS, UPDATES, RegionKind
from whyperf.seal.dependences.flows import JoinedFlows, join_flows
from whyperf.seal.dependences.sites import PlacedFlow, StreamSites, resolved, sites_table
from whyperf.seal.dependences.streamed import Sealed, Streamed
from whyperf.seal.tables import table_of


def zoom_tables(streamed: Streamed, progress: Callable[[str, float], None]) -> Sealed:
    progress("reading the planned functions' code", 0.0)
    binaries, flows, unresolved = _flows(streamed)
    joined = join_flows(flows, streamed.site_keys)
    progress("reading the stream", 0.2)
    decoded = streamed.decoded(joined.flow)
    regions = decoded.regions

    used = np.unique(decoded.site[1:])
    entered = streamed.entry[np.unique(regions["place"][regions["kind"] == RegionKind.ACTIVATION])]
    instructions = [placed.keys(np.arange(len(placed.flow.address), dtype=np.int32)) for placed in flows]
    sites = StreamSites(np.unique(np.concatenate([*instructions, streamed.site_keys[used], entered[entered >= 0]])))
    code = resolved(
        sites,
        streamed.modules,
        {streamed.program},
        streamed.symbols,
        lambda what, done: progress(what, 0.4 + 0.5 * done),
    )
    table = sites_table(sites, code, streamed.entry, streamed.seen(sites), flows=flows, binaries=binaries)
    row_of_site = sites.rows(streamed.site_keys).astype(np.int32)
    site = row_of_site[decoded.site[1:]]
    tables = {
        "sites": table,
        "executions": table_of(
            EXECUTIONS,
            site=site,
            region=_rows(decoded.region[1:]),
            joined=decoded.join[1:] != 0,
            dependences=decoded.first[1:-1].view(np.int64),
        ),
        "dependences": table_of(DEPENDENCES, producer=_rows(decoded.producers), kind=decoded.kinds.view(np.int8)),
        "regions": _regions(regions, joined, sites, streamed),
    }
    updates = _updates(streamed, decoded)
    if updates.num_rows:
        tables["updates"] = updates
    weight = np.bincount(code.place_frame[site], minlength=code.frames.num_rows).astype(np.int64)
    inexact = {**streamed.stream.inexact, "jump_tables": unresolved}
    return Sealed(tables, code, weight, len(site), inexact)


def _rows(numbers: npt.NDArray[np.uint32]) -> npt.NDArray[np.int32]:
    """Rows counted from 0, -1 for none, from numbers counted from 1, 0 for none."""
    return (numbers - np.uint32(1)).view(np.int32)


def _flows(streamed: Streamed) -> tuple[dict[int, Binary], tuple[PlacedFlow, ...], int]:
    binaries: dict[int, Binary] = {}
    flows_of: dict[int, Flows] = {}
    found: list[PlacedFlow] = []
    for function, module in zip(streamed.instruments.functions, streamed.module_of_function.tolist(), strict=True):
        if function.mode is not Mode.ZOOM or module < 0:
            continue
        if module not in binaries:
            binaries[module] = streamed.binary(module)
            flows_of[module] = Flows(binaries[module])
        scope = binaries[module].scope_entered_at(function.entry)
        flow = flows_of[module].of(scope) if scope >= 0 else None
        if flow is not None:
            found.append(PlacedFlow(module, flow))
    return binaries, tuple(found), sum(placed.flow.unresolved for placed in found)


def _regions(regions: npt.NDArray[np.void], joined: JoinedFlows, sites: StreamSites, streamed: Streamed) -> pa.Table:
    kind = np.ascontiguousarray(regions["kind"])
    site, arm, number = (np.full(len(kind), -1, np.int32) for _ in range(3))
    place, detail = np.ascontiguousarray(regions["place"]), np.ascontiguousarray(regions["arm"])
    first, last = (sites.rows(keys).astype(np.int32) for keys in (joined.block_first, joined.block_last))
    activation, around = kind == RegionKind.ACTIVATION, (kind == RegionKind.LOOP) | (kind == RegionKind.ITERATION)
    branch, signal = kind == RegionKind.ARM, kind == RegionKind.SIGNAL
    site[activation] = sites.rows(streamed.entry[place[activation]])
    site[around] = first[joined.flow.loop_header[place[around]]]
    site[branch] = last[place[branch]]
    arm[branch] = first[detail[branch]]
    iteration = kind == RegionKind.ITERATION
    number[iteration] = detail[iteration]
    number[signal] = place[signal]
    rows = slice(1, None)
    return table_of(
        REGIONS,
        region=np.arange(len(kind) - 1, dtype=np.int32),
        parent=_rows(regions["parent"][rows]),
        kind=kind[rows],
        site=site[rows],
        arm=arm[rows],
        number=number[rows],
        opener=_rows(regions["event"][rows]),
        thread=_rows(regions["thread"][rows]),
        first=regions["first"][rows].astype(np.int64) - 1,
        instructions=regions["instructions"][rows].astype(np.int64),
    )


def _updates(streamed: Streamed, decoded: DecodedStream) -> pa.Table:
    """Changes of watched variables and of the heap, those by planned code."""
    watches = streamed.stream.watches
    sizes = np.array([variable.size for variable in streamed.instruments.variables], np.int64)
    shift = 64 - 8 * sizes[watches["watch"]] if len(watches) else np.zeros(0, np.int64)
    # The difference of two numbers of so many bytes, as a number with a sign.
    amount = ((watches["new"] - watches["old"]).view(np.int64) << shift) >> shift
    execution = watches["event"].astype(np.int64) - 1
    calls, regions = decoded.heap, decoded.regions
    heap_functions = np.array(
        [function.heap is not HeapUse.NONE for function in streamed.instruments.functions], np.bool_
    )
    above = regions["parent"][calls["region"]]
    called = regions["kind"][above] == RegionKind.ACTIVATION
    inner = called & heap_functions[np.where(called, regions["place"][above], 0)]
    changes = heap_changes(calls, streamed.heap_names(calls["function"]), inner).until_peak()
    opener = regions["event"][changes.region].astype(np.int64) - 1
    execution = np.concatenate([execution, opener])
    amount = np.concatenate([amount, changes.amount])
    planned = np.flatnonzero(execution >= 0)
    order = planned[np.argsort(execution[planned], kind="stable")]
    return table_of(UPDATES, execution=execution[order], amount=amount[order])
