"""What a recording's threads are for, and which waits are comparable."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whyperf.engines.arrays import Int32s, Ints
from whyperf.engines.causes.causal_graph.graph import Graph
from whyperf.engines.causes.causal_graph.grouping import groups
from whyperf.engines.causes.thread_matching import ThreadPart, ThreadParts, match_threads
from whyperf.engines.kernel.rules import CallRule

_NOT_FOR_SIGNALS = CallRule.FUTEX | CallRule.RECEIVE | CallRule.SEND | CallRule.LOCK | CallRule.ACCEPT


@dataclass(frozen=True)
class ThreadRole:
    """What a thread is for, and where it waits for work."""

    part: ThreadPart
    loop: tuple[str, ...]

    @property
    def broader(self) -> tuple[ThreadRole, ...]:
        """Itself, then with ever less known: a thread may never have come to its loop, or have another command line."""
        return self, ThreadRole(self.part, ()), ThreadRole(self.part.broad, self.loop), ThreadRole(self.part.broad, ())


@dataclass(frozen=True)
class Signature:
    """What makes two waits comparable."""

    part: ThreadPart
    call: int
    functions: tuple[str, ...]

    @property
    def broad(self) -> Signature:
        return Signature(self.part.broad, self.call, self.functions)


def play(stalled: Graph, normals: Sequence[Graph]) -> tuple[ThreadRoles, ...]:
    """Roles in all recordings, the stalled one's first."""
    parts = match_threads(stalled.trace, [one.trace for one in normals])
    return tuple(ThreadRoles(graph, each) for graph, each in zip((stalled, *normals), parts, strict=True))


class ThreadRoles:
    """Roles of a graph's threads, and signatures of its waits."""

    def __init__(self, graph: Graph, parts: ThreadParts) -> None:
        self.graph, self.parts = graph, parts

    @cached_property
    def of_thread(self) -> list[ThreadRole]:
        frames = self.graph.settings.signature_frames
        sites = [self.graph.loops.get(number) for number in range(len(self.parts))]
        loops = [self.graph.trace.stacks.functions(site[1])[:frames] if site else () for site in sites]
        return [ThreadRole(part, loop) for part, loop in zip(self.parts, loops, strict=True)]

    @cached_property
    def _threads_of(self) -> dict[ThreadRole, list[int]]:
        found: dict[ThreadRole, list[int]] = defaultdict(list)
        for number, role in enumerate(self.of_thread):
            for one in dict.fromkeys(role.broader):
                found[one].append(number)
        return dict(found)

    def threads_like(self, role: ThreadRole) -> list[int]:
        """Of the same role, as closely as there are any."""
        return next((found for one in role.broader if (found := self._threads_of.get(one))), [])

    @cached_property
    def _signed(self) -> tuple[list[Signature], Int32s]:
        graph = self.graph
        events, waits = graph.trace.events, graph.waits
        kinds: dict[ThreadPart, int] = {}
        kind_of = np.array([kinds.setdefault(part, len(kinds)) for part in self.parts] or [0], np.int64)
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

    def _signature(self, part: ThreadPart, call: int, node: int) -> Signature:
        return Signature(part, call, self.graph.trace.stacks.functions(node)[: self.graph.settings.signature_frames])

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
        not. Of the same part, if it has enough of them to tell; else of threads of that name; else of the program."""
        frames, part = signature.functions, signature.part
        same = [
            one
            for one in self._by_call.get((part.program, signature.call), ())
            if one.functions[: len(frames)] == frames or frames[: len(one.functions)] == one.functions
        ]
        exactly = [self.durations[one] for one in same if one.part == part]
        if sum(len(one) for one in exactly) >= self.graph.settings.own_normal_waits:
            return exactly
        named = [one for one in same if one.part.name == part.name]
        return [self.durations[one] for one in named or same]

    @cached_property
    def _by_call(self) -> dict[tuple[str, int], list[Signature]]:
        found: dict[tuple[str, int], list[Signature]] = defaultdict(list)
        for one in self.signatures:
            found[one.part.program, one.call].append(one)
        return dict(found)

    @cached_property
    def usual_wakers(self) -> dict[tuple[ThreadRole | None, Signature], Counter[ThreadRole]]:
        """Who ends such a wait as a rule: by role and signature, by signature alone, by that of any like it."""
        graph = self.graph
        found: dict[tuple[ThreadRole | None, Signature], Counter[ThreadRole]] = defaultdict(Counter)
        # A signal interrupts a wait for a message or a lock, it is not what was waited for.
        signals = np.array([rule.name == "signal" for rule in graph.rules.wakes] + [False], np.bool_)
        bits = graph.call_bits[np.clip(graph.trace.events.call[graph.waits.first], -1, len(graph.call_bits) - 1)]
        interrupted = signals[graph.wakes.rule] & (bits & _NOT_FOR_SIGNALS != 0)
        woken = np.flatnonzero((graph.wakes.rule >= 0) & ~interrupted)
        woken = woken[graph.trace.witnessed[graph.trace.events.thread[graph.waits.wake[woken]]]]
        wakers = graph.trace.events.thread[graph.waits.wake[woken]]
        first, where = groups(self.signature_of[woken], graph.waits.thread[woken], wakers)
        for row, count in zip(first.tolist(), np.bincount(where).tolist(), strict=True):
            signed = self.signatures[self.signature_of[woken[row]]]
            sleeper, waker = self.of_thread[graph.waits.thread[woken[row]]], self.of_thread[wakers[row]]
            found[sleeper, signed][waker] += count
            for one in {signed, signed.broad}:
                found[None, one][waker] += count
        return dict(found)
