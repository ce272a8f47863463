"""The tables of a sketch: calling contexts with exact counts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from whyperf.collect.dependences.heap import heap_changes
from whyperf.collect.dependences.instruments import HeapUse
from whyperf.recording.schemas.deep_tables import CALLS, FANOUTS, RegionKind
from whyperf.seal.dependences.contexts import CallContexts, calling_contexts, fanouts
from whyperf.seal.dependences.sites import StreamSites, resolved, sites_table
from whyperf.seal.dependences.streamed import Sealed, Streamed
from whyperf.seal.tables import table_of

Ints = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]


def sketch_tables(streamed: Streamed, progress: Callable[[str, float], None]) -> Sealed:
    decoded = streamed.decoded()
    regions = decoded.regions
    rows = np.flatnonzero(regions["kind"] == RegionKind.ACTIVATION)
    number = np.full(len(regions), -1, np.int64)
    number[rows] = np.arange(len(rows))
    # What starts a thread or handles a signal is nobody's call.
    parent = number[regions["parent"][rows]]
    function = regions["place"][rows].astype(np.int64)
    contexts = calling_contexts(parent, function)

    updating = streamed.site_keys[np.unique(streamed.stream.watches["site"])]
    sites = StreamSites(np.unique(np.concatenate([streamed.entry[np.unique(function)], updating])))
    code = resolved(sites, streamed.modules, {streamed.program}, streamed.symbols, progress)
    table = sites_table(sites, code, streamed.entry, streamed.seen(sites))
    site = sites.rows(streamed.entry[contexts.function])
    count = len(contexts.parent)
    instructions = _own(regions["instructions"][rows].astype(np.int64), parent)
    allocated, live = _memory(streamed, decoded.heap, contexts, number, parent)
    spread = fanouts(parent, contexts)
    own = _sums(contexts.of_activation, instructions, count)
    tables = {
        "sites": table,
        "calls": table_of(
            CALLS,
            call=np.arange(count),
            parent=contexts.parent,
            site=site,
            caller=np.full(count, -1),
            calls=np.bincount(contexts.of_activation, minlength=count),
            instructions=own,
            allocated=allocated,
            live=live,
        ),
        "fanouts": table_of(FANOUTS, call=spread.context, times=spread.times, activations=spread.activations),
    }
    weight = _sums(code.place_frame[site], own, code.frames.num_rows)
    return Sealed(tables, code, weight, len(rows), streamed.stream.inexact)


def _own(whole: Ints, parent: Ints) -> Ints:
    """What activations executed themselves, from what they executed with all that they called."""
    called = parent >= 0
    below = np.bincount(parent[called], whole[called], minlength=len(whole)).astype(np.int64)
    own: Ints = np.maximum(whole - below, 0)
    return own


def _sums(group: Ints | Int32s, amounts: Ints, groups: int) -> Ints:
    return np.bincount(group, amounts, minlength=groups).astype(np.int64)


def _memory(
    streamed: Streamed, calls: npt.NDArray[np.void], contexts: CallContexts, number: Ints, parent: Ints
) -> tuple[Ints, Ints]:
    """Bytes that each context asked for, and those in use when most is."""
    count = len(contexts.parent)
    heap_functions = np.array(
        [function.heap is not HeapUse.NONE for function in streamed.instruments.functions], np.bool_
    )
    caller = parent[number[calls["region"]]]
    inner = (caller >= 0) & heap_functions[contexts.function[contexts.of_activation[caller]]]
    changes = heap_changes(calls, streamed.heap_names(calls["function"]), inner)
    asking = parent[number[changes.region]]
    known = (asking >= 0) & (changes.amount > 0)
    until_peak = changes.until_peak()
    kept = known.copy()
    kept[len(until_peak.amount) :] = False
    kept[until_peak.allocated_by[until_peak.allocated_by >= 0]] = False
    context = contexts.of_activation[asking]
    return (
        _sums(context[known], changes.amount[known], count),
        _sums(context[kept], changes.amount[kept], count),
    )
