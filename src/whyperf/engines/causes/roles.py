"""Who is who in another recording: numbers of processes and threads mean nothing there."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whyperf.engines.causes.arrays import Int32s, Ints
from whyperf.engines.causes.graph import Graph
from whyperf.engines.causes.grouping import groups

_DIGITS = re.compile(r"[\d:/#-]+")


@dataclass(frozen=True)
class Role:
    """What a thread is for: its program, its name without numbers, and where it waits for work."""

    program: str
    name: str
    loop: tuple[str, ...]

    @property
    def broad(self) -> tuple[str, str]:
        """Of a thread that never came to its loop no more is known."""
        return self.program, self.name


@dataclass(frozen=True)
class Signature:
    """What makes two waits comparable."""

    program: str
    thread: str  # its name without numbers, empty for main threads: an interpreter's stacks look all alike
    call: int
    functions: tuple[str, ...]


class Roles:
    """Roles of a graph's threads, and signatures of its waits."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    @cached_property
    def of_thread(self) -> list[Role]:
        frames = self.graph.settings.signature_frames
        found = []
        for number, thread in enumerate(self.graph.trace.threads):
            site = self.graph.loops.get(number)
            loop = self.graph.trace.stacks.functions(site[1])[:frames] if site else ()
            name = "" if thread.main else _DIGITS.sub("", thread.name)
            found.append(Role(thread.program, name, loop))
        return found

    @cached_property
    def threads_of(self) -> dict[Role | tuple[str, str], list[int]]:
        found: dict[Role | tuple[str, str], list[int]] = defaultdict(list)
        for number, role in enumerate(self.of_thread):
            found[role].append(number)
            found[role.broad].append(number)
        return dict(found)

    @cached_property
    def _signed(self) -> tuple[list[Signature], Int32s]:
        graph = self.graph
        events, waits = graph.trace.events, graph.waits
        kinds: dict[tuple[str, str], int] = {}
        kind_of = np.array([kinds.setdefault(role.broad, len(kinds)) for role in self.of_thread] or [0], np.int64)
        which, call, site = kind_of[waits.thread], events.call[waits.first], events.site[waits.first]
        first, where = groups(which, call, site)
        names = list(kinds)
        numbers: dict[Signature, int] = {}
        of_key = np.array(
            [
                numbers.setdefault(
                    self._signature(names[which[row]], int(call[row]), int(site[row])),
                    len(numbers),
                )
                for row in first.tolist()
            ],
            np.int32,
        )
        return list(numbers), of_key[where] if len(of_key) else np.zeros(0, np.int32)

    def _signature(self, kind: tuple[str, str], call: int, node: int) -> Signature:
        frames = self.graph.trace.stacks.functions(node)[: self.graph.settings.signature_frames]
        return Signature(*kind, call=call, functions=frames)

    @property
    def signatures(self) -> list[Signature]:
        return self._signed[0]

    @property
    def signature_of(self) -> Int32s:
        """By wait, the number of its signature."""
        return self._signed[1]

    @cached_property
    def durations(self) -> dict[Signature, Ints]:
        """How long waits lasted, by signature, shortest first."""
        lasted = self.graph.ends - self.graph.waits.begin
        order = np.lexsort((lasted, self.signature_of))
        groups = np.searchsorted(self.signature_of[order], np.arange(len(self.signatures) + 1))
        return {
            signature: lasted[order[groups[number] : groups[number + 1]]]
            for number, signature in enumerate(self.signatures)
        }

    def like(self, signature: Signature) -> list[Ints]:
        """Durations of waits that may be of the same signature: one's stack may have been cut where the other's was
        not. A thread of that name first; whatever thread of the program where it has none."""
        frames = signature.functions
        same = [
            one
            for one in self._by_call.get((signature.program, signature.call), ())
            if one.functions[: len(frames)] == frames or frames[: len(one.functions)] == one.functions
        ]
        named = [one for one in same if one.thread == signature.thread]
        return [self.durations[one] for one in named or same]

    @cached_property
    def _by_call(self) -> dict[tuple[str, int], list[Signature]]:
        found: dict[tuple[str, int], list[Signature]] = defaultdict(list)
        for one in self.signatures:
            found[one.program, one.call].append(one)
        return dict(found)

    @cached_property
    def usual_wakers(self) -> dict[tuple[Role | None, Signature], Counter[Role]]:
        """Who ends such a wait as a rule: by role and signature, and by signature alone."""
        graph = self.graph
        found: dict[tuple[Role | None, Signature], Counter[Role]] = defaultdict(Counter)
        woken = np.flatnonzero(graph.wakes.rule >= 0)
        woken = woken[graph.trace.witnessed[graph.trace.events.thread[graph.waits.wake[woken]]]]
        wakers = graph.trace.events.thread[graph.waits.wake[woken]]
        first, where = groups(self.signature_of[woken], graph.waits.thread[woken], wakers)
        for row, count in zip(first.tolist(), np.bincount(where).tolist(), strict=True):
            signed = self.signatures[self.signature_of[woken[row]]]
            sleeper, waker = self.of_thread[graph.waits.thread[woken[row]]], self.of_thread[wakers[row]]
            found[sleeper, signed][waker] += count
            found[None, signed][waker] += count
        return dict(found)
