"""Functions on the stacks of every segment: what a piece of a thread's run was about."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from whyperf.engines.arrays import Int32s, Ints
from whyperf.engines.causes.causal_graph.segments import Segments
from whyperf.engines.causes.causal_graph.trace import EventTrace
from whyperf.engines.compiled import njit


class CausesSymbols:
    """Functions on the stacks of every segment, numbered, dispatchers left out."""

    def __init__(self, trace: EventTrace, segments: Segments) -> None:
        self._trace, self._segments = trace, segments

    @cached_property
    def names(self) -> list[str]:
        return list(self._interned[0])

    @cached_property
    def _interned(self) -> tuple[dict[str, int], Ints, Int32s]:
        """Numbers of names; by node its names, as rows of a list: node n's are list[start[n]:start[n + 1]]."""
        trace = self._trace
        seen = np.zeros(len(trace.stacks.parent) + 1, np.bool_)  # the last one is for -1
        seen[trace.events.site] = True
        used = np.flatnonzero(seen[:-1])
        numbers: dict[str, int] = {}
        start, flat = np.zeros(len(trace.stacks.parent) + 1, np.int64), []
        lengths = np.zeros(len(trace.stacks.parent), np.int64)
        for node in used.tolist():
            names = {one for one in trace.stacks.functions(node) if one not in trace.rules.dispatchers}
            lengths[node] = len(names)
            flat += [numbers.setdefault(name, len(numbers)) for name in sorted(names)]
        start[1:] = np.cumsum(lengths)
        return numbers, start, np.array(flat, np.int32)

    @cached_property
    def of_segments(self) -> tuple[Ints, Int32s]:
        """Segment s has symbols symbols[start[s]:start[s + 1]], each once."""
        numbers, node_start, node_symbols = self._interned
        segments = self._segments
        start = np.zeros(len(segments) + 1, np.int64)
        room = max(1024, 8 * len(segments))
        while True:
            found = np.empty(room, np.int32)
            needed = _segment_symbols(
                segments.event_start,
                segments.events,
                self._trace.events.site,
                node_start,
                node_symbols,
                len(numbers),
                start,
                found,
            )
            if needed <= room:
                return start, found[:needed]
            room = needed

    def of(self, segment: int) -> set[str]:
        start, symbols = self.of_segments
        names = self.names
        return {names[one] for one in symbols[start[segment] : start[segment + 1]].tolist()}


@njit(cache=True, nogil=True)
def _segment_symbols(  # noqa: PLR0917 -- columns
    event_start: Ints,
    rows: Int32s,
    site: Int32s,
    node_start: Ints,
    node_symbols: Int32s,
    symbols: int,
    start: Ints,
    found: Int32s,
) -> int:
    """Fills `start` and, as far as there is room, `found`; tells how much is needed."""
    segments = len(event_start) - 1
    seen = np.full(symbols, -1, np.int32)
    last_node = np.full(len(node_start), -1, np.int32)
    filled = 0
    for segment in range(segments):
        for at in range(event_start[segment], event_start[segment + 1]):
            node = site[rows[at]]
            if node < 0 or last_node[node] == segment:
                continue
            last_node[node] = segment
            for which in range(node_start[node], node_start[node + 1]):
                symbol = node_symbols[which]
                if seen[symbol] != segment:
                    seen[symbol] = segment
                    if filled < len(found):
                        found[filled] = symbol
                    filled += 1
        start[segment + 1] = filled
    return filled
