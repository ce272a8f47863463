"""Variables that a polling thread may be looking at: what to watch the next time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whyperf.engines.causes.causal_graph.graph import Graph
from whyperf.engines.causes.path import CulpritEnding, Stall
from whyperf.engines.run import texts

_WATCHABLE = 4  # a CPU's breakpoints
_KINDS = ("signed", "unsigned", "boolean", "bool", "enumeration", "enum")
_SHARED_ON_PURPOSE = ("volatile", "atomic", "_Atomic")


def polled_at(stall: Stall) -> int:
    """The wait in which a thread polled for nobody knows what; -1: there was none."""
    path = stall.path
    if path.culprit.ending is CulpritEnding.POLLED:
        return path.culprit.wait
    return path.rungs[0].wait if path.guessed and path.rungs else -1


def suggested_flags(graph: Graph, wait: int) -> tuple[str, ...]:
    """Global numbers of the polling program that decide about something there: those in the polling function's own
    source file first, those made to be shared before others."""
    frame = graph.trace.stacks.own(graph.wait(wait).node)
    if frame is None:
        return ()
    modules = texts(graph.trace.recording.table("modules"), "name")
    rows = [
        row
        for row in graph.trace.recording.table("variables").to_pylist()
        if row["scope"] == "global"
        and row["kind"] in _KINDS
        and "condition" in row["roles"].split("|")
        and modules[row["module"]] == frame.module
    ]

    def order(row: Mapping[str, Any]) -> tuple[bool, bool]:
        return row["file"] != frame.file, not any(word in row["type"] for word in _SHARED_ON_PURPOSE)

    return tuple(dict.fromkeys(str(row["name"]) for row in sorted(rows, key=order)))[:_WATCHABLE]
