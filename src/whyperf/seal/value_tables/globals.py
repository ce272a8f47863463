"""Global variables: written when they change, read back as what each look at them saw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whyperf.debuginfo.variable_tables.making import VariablesTable
from whyperf.debuginfo.variable_tables.table import Flag
from whyperf.recording.raw_log.ringrecords import RingRecordKind
from whyperf.seal.evidence import Int32, Int64, RawEvidence, UInt64
from whyperf.seal.participants.address_spaces import Spaces
from whyperf.seal.participants.processes import Participants

_CHANGE = np.dtype([("index", "<u4"), ("padding", "<u4"), ("value", "<u8")])


@dataclass(frozen=True)
class GlobalRows:
    """A row for every global at every look."""

    module: Int32
    variable: Int32
    sample: Int32
    value: Int64


def global_rows(
    evidence: RawEvidence, participants: Participants, spaces: Spaces, tables: Mapping[int, VariablesTable]
) -> GlobalRows:
    """`tables` by module number. A look belongs to the sample of the same moment, the last one before it."""
    module_at = {(row.process, row.mapping.start): row.mapping.module for row in spaces.rows}
    latest: dict[tuple[int, int], dict[int, int]] = {}
    modules: list[Int32] = []
    variables: list[Int32] = []
    samples: list[Int32] = []
    values: list[Int64] = []
    for note, process in zip(evidence.notes, participants.note_process, strict=True):
        if note.kind != RingRecordKind.GLOBALS:
            continue
        start = int.from_bytes(note.payload[:8], "little")
        module = module_at.get((process, start), -1)
        table = tables.get(module)
        sample = int(np.searchsorted(evidence.samples.time, note.time, side="right")) - 1
        if table is None or sample < 0:
            continue
        known = latest.setdefault((process, start), {})
        changes = np.frombuffer(note.payload, _CHANGE, min(note.detail, (len(note.payload) - 8) // 16), 8)
        known.update(zip(changes["index"].tolist(), changes["value"].tolist(), strict=True))
        index = np.array([i for i in known if i < len(table.globals)], np.int64)
        raw = np.array([known[int(i)] for i in index], np.uint64)
        locations = table.locations[table.globals[index]]
        modules.append(np.full(len(index), module, np.int32))
        variables.append(locations["variable"].astype(np.int32))
        samples.append(np.full(len(index), sample, np.int32))
        values.append(_widened(raw, locations["size"].astype(np.int64), locations["flags"]))
    if not values:
        none = np.zeros(0, np.int32)
        return GlobalRows(none, none, none, np.zeros(0, np.int64))
    return GlobalRows(
        np.concatenate(modules), np.concatenate(variables), np.concatenate(samples), np.concatenate(values)
    )


def _widened(raw: UInt64, size: Int64, flags: npt.NDArray[np.uint8]) -> Int64:
    """As `values_widen` in native/values/unpack.c."""
    value = raw.view(np.int64).copy()
    shift = 64 - 8 * size
    signed = (flags & Flag.SIGNED != 0) & (size < 8)
    value[signed] = (value[signed] << shift[signed]) >> shift[signed]
    narrow = (flags & Flag.FLOAT != 0) & (size == 4)
    value[narrow] = raw[narrow].astype(np.uint32).view(np.float32).astype(np.float64).view(np.int64)
    return value
