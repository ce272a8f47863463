"""Which function of a context answers for the time in it.

Code of libc and the kernel is how others run and wait: the innermost function outside of them answers. A function of
libc that opens connections of its own (name service, system log) does work of its own, and answers for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from whyperf.engines.contexts.indexing import Contexts
from whyperf.engines.contexts.inference import Calls
from whyperf.engines.contexts.layers import Layer
from whyperf.engines.contexts.records import Flags, Ints
from whyperf.recording.names.system_calls import NUMBERS

_OPENS_CONNECTIONS = np.array([NUMBERS[name] for name in ("socket", "connect")])


def mechanism_nodes(contexts: Contexts, layers: Sequence[Layer]) -> Flags:
    flags = np.array([layer.mechanism for layer in layers] + [False])  # the last is the root's
    return flags[contexts.function]


def user_nodes(contexts: Contexts, layers: Sequence[Layer]) -> Ints:
    """For every node the innermost one on its path that is not the kernel's; itself where all are."""
    return _innermost(contexts, np.array([layer is Layer.KERNEL for layer in layers] + [False])[contexts.function])


def answering(contexts: Contexts, mechanism: Flags, calls: Iterable[Calls]) -> Ints:
    """For every node the one on its path that answers for its time."""
    innermost = _innermost(contexts, mechanism)
    entry = _libc_entries(contexts, mechanism)
    serving = _serving_functions(contexts, entry, calls)
    serves = np.isin(contexts.function, list(serving)) & (entry == np.arange(len(contexts)))
    return np.where(serves[entry], entry, innermost)


def _innermost(contexts: Contexts, passed_over: Flags) -> Ints:
    """For every node the innermost one on its path that is not passed over; itself where there is none."""
    found = np.arange(len(contexts))
    parents = contexts.tree.parent
    for node in np.flatnonzero(passed_over).tolist():
        above = found[parents[node]]
        if above != 0 and not passed_over[above]:
            found[node] = above
    return found


def _libc_entries(contexts: Contexts, mechanism: Flags) -> Ints:
    """For nodes of libc and the kernel below other code: by which function that code called in; else 0."""
    entry = np.zeros(len(contexts), np.int64)
    parents = contexts.tree.parent
    has_caller = np.zeros(len(contexts), np.bool_)
    for node in range(1, len(contexts)):
        parent = int(parents[node])
        has_caller[node] = has_caller[parent] or (parent != 0 and not mechanism[parent])
        if mechanism[node] and has_caller[node]:
            entry[node] = entry[parent] if mechanism[parent] and entry[parent] else node
    return entry


def _serving_functions(contexts: Contexts, entry: Ints, calls: Iterable[Calls]) -> set[int]:
    found: set[int] = set()
    for made in calls:
        opening = made.node[np.isin(made.number, _OPENS_CONNECTIONS)]
        at = entry[opening]
        # A plain socket() or connect() is its caller's: the entry is the very function that makes the call.
        found.update(contexts.function[at[(at > 0) & (at != opening)]].tolist())
    return found
