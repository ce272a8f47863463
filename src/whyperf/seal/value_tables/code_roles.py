"""What variables are for, from the machine code of the functions in which they were read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from whyperf.debuginfo.describe import describe
from whyperf.debuginfo.variable_tables.code_uses import uses_at
from whyperf.seal.value_tables.values import TableRows


def uses_by_code(
    origins: Sequence[TableRows], frames: pa.Table, functions: Sequence[int], budget_s: float
) -> dict[int, set[str]]:
    """By row of the variables. `functions`: rows of those whose code is to be read, most important first."""
    rank = {function: at for at, function in enumerate(functions)}
    module, function, offset = (frames.column(name).to_numpy() for name in ("module", "function", "offset"))
    chosen = np.flatnonzero(np.isin(function, list(functions)))
    order = sorted(chosen.tolist(), key=lambda row: rank[int(function[row])])
    found: dict[int, set[str]] = {}
    for origin in origins:
        addresses = [int(offset[row]) for row in order if module[row] == origin.module]
        if not addresses:
            continue
        # A whole function is read for any of its addresses: the first one of each tells its rank.
        uses = uses_at(describe(origin.path, origin.build_id), origin.table, addresses, budget_s).uses
        for row, number in zip(origin.rows.tolist(), origin.numbers.tolist(), strict=True):
            if number in uses:
                found[row] = set(uses[number])
    return found
