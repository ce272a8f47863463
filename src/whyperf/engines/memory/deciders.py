"""Who decides about memory: the nearest caller that does not merely hand it on.

A function hands memory on if its name says that it allocates, if one of its parameters is the size, or if other callers
of it need no more memory than before: then those who call it differ, and not what it does.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Set
from functools import cached_property

import numpy as np

from whyperf.engines.context_tree import ROOT
from whyperf.engines.memory.contexts import MemoryContexts
from whyperf.engines.memory.settings import MemorySettings
from whyperf.engines.run import Floats

# malloc, xcalloc, zrealloc, g_malloc0, my_strdup, PyMem_Malloc, sqlite3MallocRaw, xpalloc, ...: what such a function is
# asked for, its callers decide. And xfree, zfree, g_free, PyObject_Free.
_ALLOCATES = re.compile(
    r"(^|[_:.])\w{0,8}?((m|c|re|p)?alloc(ate)?|mem(align|dup)|strn?dup|new_size)\w{0,12}$", re.IGNORECASE
)
_FREES = re.compile(r"(^|[_:.])\w{0,8}?(m|c)?free(_?(mem|ptr|and_null|sized?))?$", re.IGNORECASE)


class Deciders:
    """`excess`: by node, what it holds more; `seen`: by node, in how many samples of bad runs it was."""

    def __init__(
        self, contexts: MemoryContexts, excess: Floats, seen: Floats, wrappers: Set[int], settings: MemorySettings
    ) -> None:
        self._contexts, self._settings, self._wrappers = contexts, settings, wrappers
        self._functions: list[int] = contexts.tree.function.tolist()
        self._parents: list[int] = contexts.tree.parent.tolist()
        self._excess = contexts.tree.inclusive(excess)
        self._seen = contexts.tree.inclusive(seen)

    def decider(self, node: int) -> int:
        """The node itself, or a caller."""
        at = node
        while (caller := self._parents[at]) != ROOT and at != ROOT:
            if not (self._functions[at] in self._wrappers or self._is_shared(at)):
                break
            at = caller
        return at

    def _is_shared(self, node: int) -> bool:
        """Whether somebody else calls the function as well, without more memory."""
        settings, groups = self._settings, self._by_caller[self._functions[node]]
        own = self._functions[self._parents[node]]
        grown = groups[own][0]
        return any(
            seen >= settings.enough_samples and gain < settings.grew_not * grown
            for caller, (gain, seen) in groups.items()
            if caller != own
        )

    @cached_property
    def _by_caller(self) -> dict[int, dict[int, tuple[float, float]]]:
        """Of each function, by calling function: excess and samples."""
        found: dict[int, dict[int, tuple[float, float]]] = defaultdict(dict)
        for node in range(ROOT + 1, len(self._functions)):
            caller = self._functions[self._parents[node]]
            gain, seen = found[self._functions[node]].get(caller, (0.0, 0.0))
            found[self._functions[node]][caller] = (gain + self._excess[node], seen + self._seen[node])
        return found


def named_wrappers(contexts: MemoryContexts) -> set[int]:
    """Functions whose names say that they allocate or free for others."""
    names = [function.key.name for function in contexts.index.functions]
    return {number for number, name in enumerate(names) if _ALLOCATES.search(name) or _FREES.search(name)}


def mean(rows: Floats) -> Floats:
    found: Floats = rows.mean(axis=0) if len(rows) else np.zeros(rows.shape[1:])
    return found
