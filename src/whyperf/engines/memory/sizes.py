"""Functions that are told the size: whoever calls them decides about it."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from whyperf.engines.memory.contexts import MemoryContexts, PlacedHoldings
from whyperf.engines.run import column, texts

_FEWEST = 5  # samples: by chance a parameter does not equal the size so often
_MOST = 2000  # samples of a run that are looked at
_HEADER_BYTES = 64  # what an allocator adds for itself
_ALMOST_ALL = 0.9


def passes_size_on(contexts: MemoryContexts) -> set[int]:
    """Functions one of whose parameters is what they ask for, save for a constant number of bytes."""
    seen: defaultdict[tuple[int, int], list[float]] = defaultdict(list)
    for one in (*contexts.good, *contexts.bad):
        for (function, name), differences in _differences(contexts, one).items():
            seen[function, name] += differences
    return {function for (function, _), found in seen.items() if len(found) >= _FEWEST and _is_constant(found)}


def _is_constant(differences: list[float]) -> bool:
    values, counts = np.unique(differences, return_counts=True)
    most = int(np.argmax(counts))
    return bool(0 <= values[most] <= _HEADER_BYTES and counts[most] >= _ALMOST_ALL * len(differences))


def _differences(contexts: MemoryContexts, one: PlacedHoldings) -> dict[tuple[int, int], list[float]]:
    """By function and parameter, what the size is beyond the parameter's value."""
    recording = one.run.recording
    variables = recording.table("variables")
    parameters = {
        row: (int(function), hash(name))
        for row, (scope, kind, function, name) in enumerate(
            zip(
                texts(variables, "scope"),
                texts(variables, "kind"),
                column(variables, "function").tolist(),
                texts(variables, "name"),
                strict=True,
            )
        )
        if scope == "parameter" and kind in ("signed", "unsigned") and function >= 0
    }
    values = recording.table("values")
    of_variable, of_sample, value = (column(values, name) for name in ("variable", "sample", "value"))
    size = dict(zip(one.held.sample[:_MOST].tolist(), one.held.size[:_MOST].tolist(), strict=True))
    known = np.isin(of_variable, np.array(list(parameters), np.int64)) & np.isin(of_sample, one.held.sample[:_MOST])
    found: defaultdict[tuple[int, int], list[float]] = defaultdict(list)
    number = contexts.index.of_row[one.run]
    for row in np.flatnonzero(known).tolist():
        function, name = parameters[int(of_variable[row])]
        if function in number:
            found[number[function], name].append(size[int(of_sample[row])] - float(value[row]))
    return found
