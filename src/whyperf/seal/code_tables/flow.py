"""What the flow of control in the program's own code tells beyond the samples: which calls certainly happened, and
which lines decide that sampled places are reached."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whyperf.recording.schemas.tables import DECISIONS, PASSED
from whyperf.seal.code_tables.code import Code
from whyperf.seal.evidence import Int32, UInt64
from whyperf.seal.symbols import Symbols
from whyperf.seal.tables import table_of

if TYPE_CHECKING:
    from whyperf.debuginfo.control_flow.decisions import DecidingLine

Floats = npt.NDArray[np.float64]


def flow_tables(
    symbols: Symbols, code: Code, parents: Int32, node_frames: Int32, node_weight: Floats
) -> dict[str, pa.Table]:
    """`node_weight`: what was spent in each context itself. Code in which most was spent, with what it calls, is read
    first."""
    weight = _inclusive_by_frame(code.frames.num_rows, parents, node_frames, node_weight)
    passed: set[tuple[int, int]] = set()
    decisions: list[tuple[int, DecidingLine]] = []
    for number, path, build_id, addresses, first_frame in _own_places(code, weight):
        rows = code.function_rows[number]
        calls = symbols.passed_calls(path, build_id, addresses)
        passed |= {(int(rows[caller]), int(rows[callee])) for caller, callee in calls}
        for first, decided in zip(first_frame, symbols.deciding_lines(path, build_id, addresses), strict=True):
            decisions += ((first + at, one) for at, one in enumerate(decided) if one.line > 0 or one.every_call)
    known = sorted((caller, callee) for caller, callee in passed if caller >= 0 and callee >= 0)
    decisions.sort()
    return {
        "passed": table_of(PASSED, caller=[one for one, _ in known], callee=[other for _, other in known]),
        "decisions": table_of(
            DECISIONS,
            frame=[frame for frame, _ in decisions],
            line=[one.line for _, one in decisions],
            every_round=[one.every_round for _, one in decisions],
            every_call=[one.every_call for _, one in decisions],
        ),
    }


def _own_places(code: Code, weight: Floats) -> Iterator[tuple[int, str, str, UInt64, list[int]]]:
    """By module of the program's own: its number, file and build, sampled addresses, the innermost frame of each."""
    module, offset = (code.frames.column(name).to_numpy() for name in ("module", "offset"))
    seen = np.flatnonzero(weight > 0)
    seen = seen[np.argsort(-weight[seen], kind="stable")]
    for number, told in code.own_modules():
        row = told["module"]
        if told["debug"] == "full":
            mine = np.flatnonzero(module == row)
            known, first = np.unique(offset[mine], return_index=True)
            addresses = np.array(list(dict.fromkeys(offset[seen[module[seen] == row]].tolist())), np.int64)
            frames: list[int] = mine[first[np.searchsorted(known, addresses)]].tolist()
            yield number, told["path"], told["build_id"], addresses.astype(np.uint64), frames


def _inclusive_by_frame(frames: int, parents: Int32, node_frames: Int32, own: Floats) -> Floats:
    total = own.tolist()
    for node in range(len(parents) - 1, -1, -1):
        parent = int(parents[node])
        if parent >= 0:
            total[parent] += total[node]
    return np.bincount(node_frames, total, minlength=frames).astype(np.float64)
