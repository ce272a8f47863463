"""The inferred latencies of one recording: every function instance, with both of the paper's estimates and our own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whyperf.engines.contexts.indexing import Contexts, index_contexts
from whyperf.engines.contexts.inference import follow
from whyperf.engines.contexts.records import INSTANCE, Int32s, Ints, Records
from whyperf.engines.contexts.settings import Sources
from whyperf.engines.functions import FunctionIndex
from whyperf.engines.recording_protocol import Recorded
from whyperf.engines.run import Floats, Run


@dataclass(frozen=True, eq=False)
class Instances:
    """One row a function instance: from its thread's first event in the context to the last without interruption."""

    contexts: Contexts
    thread: Int32s  # row of `threads`
    node: Int32s  # of `contexts`
    before: Ints  # the thread's last event before `first`: it was not in the context yet
    first: Ints
    last: Ints
    after: Ints  # the thread's next event: it was in the context no more

    @property
    def conservative(self) -> Ints:
        """Never more than the truth, unless the function returned and was called again between two events."""
        return self.last - self.first

    @property
    def aggressive(self) -> Ints:
        return self.after - self.first

    @property
    def longest(self) -> Ints:
        """Never less than the truth."""
        return self.after - self.before

    @property
    def expected(self) -> Floats:
        """Begin and end in the middle of what is possible."""
        middle: Floats = (self.conservative + self.longest) / 2
        return middle

    def path(self, node: int) -> list[tuple[str, str]]:
        """Module and function of a context, outermost first."""
        functions = self.contexts.index.functions
        keys = (functions[int(self.contexts.function[one])].key for one in self.contexts.path(node))
        return [(key.module, key.name) for key in keys]


def infer(recorded: Recorded, sources: Sources = Sources.ALL) -> Instances:
    run = Run(recorded)
    contexts = index_contexts(FunctionIndex([], [run]))
    kept: list[Records] = [np.zeros(0, INSTANCE)]
    nodes = contexts.node_of_stack[run]
    follow(run, contexts.tree, nodes, sources=sources, take=lambda rows: kept.append(rows.copy()))
    rows = np.concatenate(kept)
    columns = ("thread", "node", "before", "first", "last", "after")
    return Instances(contexts, *(np.ascontiguousarray(rows[name]) for name in columns))
