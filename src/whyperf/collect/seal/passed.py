"""Which calls certainly happened although no sample shows them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whyperf.collect.seal.code import Code
from whyperf.collect.seal.evidence import Int32
from whyperf.collect.seal.symbols import Symbols
from whyperf.collect.seal.tables import table_of
from whyperf.recording.tables import PASSED

Floats = npt.NDArray[np.float64]

_CPU_SECONDS = 1.0  # for each file


def passed_table(symbols: Symbols, code: Code, parents: Int32, node_frames: Int32, node_weight: Floats) -> pa.Table:
    """As far as the program's own code tells.

    `node_weight`: what was spent in each context itself. Code in which most was spent, with what it calls, is read
    first.
    """
    weight = _inclusive_by_frame(code.frames.num_rows, parents, node_frames, node_weight)
    module, offset = (code.frames.column(name).to_numpy() for name in ("module", "offset"))
    seen = np.flatnonzero(weight > 0)
    seen = seen[np.argsort(-weight[seen], kind="stable")]
    found: set[tuple[int, int]] = set()
    for number, rows in code.function_rows.items():
        row = int(code.module_row[number])
        told = code.modules.slice(row, 1).to_pylist()[0]
        if told["origin"] not in ("program", "library") or told["debug"] != "full":
            continue
        addresses = offset[seen[module[seen] == row]].astype(np.uint64)
        calls = symbols.passed_calls(told["path"], told["build_id"], addresses, _CPU_SECONDS)
        found |= {(int(rows[caller]), int(rows[callee])) for caller, callee in calls}
    known = sorted((caller, callee) for caller, callee in found if caller >= 0 and callee >= 0)
    return table_of(PASSED, caller=[caller for caller, _ in known], callee=[callee for _, callee in known])


def _inclusive_by_frame(frames: int, parents: Int32, node_frames: Int32, own: Floats) -> Floats:
    total = own.tolist()
    for node in range(len(parents) - 1, -1, -1):
        parent = int(parents[node])
        if parent >= 0:
            total[parent] += total[node]
    return np.bincount(node_frames, total, minlength=frames).astype(np.float64)
