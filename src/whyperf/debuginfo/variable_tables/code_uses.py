"""What the functions at some addresses do with their variables, for as long as there is time."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.code_maps.places import out_of_line_scopes, scopes_at
from whyperf.debuginfo.variable_tables.locations import Located
from whyperf.debuginfo.variable_tables.machine_uses import Use, uses_in
from whyperf.debuginfo.variable_tables.table import VariablesTable


@dataclass(frozen=True)
class CodeUses:
    uses: dict[int, set[Use]]
    """By number of the table's variables."""
    unread: int
    """Functions for which there was no time."""


def uses_at(binary: Binary, table: VariablesTable, addresses: npt.ArrayLike, budget_s: float) -> CodeUses:
    """Of the out-of-line functions at ELF virtual addresses, and of what is inlined in them, in the order given."""
    scopes = out_of_line_scopes(binary.code, np.asarray(addresses, np.uint64))
    wanted = list(dict.fromkeys(scopes[scopes >= 0].tolist()))

    def function_at(address: int) -> int:
        scope = int(scopes_at(binary.code, np.array([address], np.uint64))[0])
        return int(binary.code.scope_function[scope]) if scope >= 0 else -1

    if binary.machine is None:
        return CodeUses({}, len(wanted))
    deadline = time.process_time() + budget_s
    located = Located(table)
    uses: defaultdict[int, set[Use]] = defaultdict(set)
    for done, scope in enumerate(wanted):
        if time.process_time() >= deadline:
            return CodeUses(dict(uses), len(wanted) - done)
        for variable, found in uses_in(binary.machine, located, _parts(binary, scope), function_at).items():
            uses[variable] |= found
    return CodeUses(dict(uses), 0)


def _parts(binary: Binary, scope: int) -> list[tuple[int, bytes]]:
    code = binary.code
    first, last = np.searchsorted(code.body_scope, [scope, scope + 1])
    entry = int(code.scope_entry[scope])
    ranges = list(zip(code.body_low[first:last].tolist(), code.body_high[first:last].tolist(), strict=True))
    ranges.sort(key=lambda part: not part[0] <= entry < part[1])
    return [(low, binary.elf.code(low, high)) for low, high in ranges] if binary.elf else []
