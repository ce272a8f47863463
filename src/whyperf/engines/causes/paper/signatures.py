"""What a vertex did, as a string; how alike two are, by edit distance (section 6.2)."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from whyperf.engines.causes.causal_graph.graph import Graph
from whyperf.recording.schemas.events import EventKind

_LONGEST = 64  # events of a vertex that are compared: the ends of two long runs say nothing of their task
_CHARACTERS = 0x100  # the first one in use
_KINDS = {EventKind.SYSCALL, EventKind.WAKING, EventKind.FORK, EventKind.EXEC, EventKind.EXIT, EventKind.SIGNAL}


class VertexSignatures:
    """Every event is two characters: its kind, and its parameters (system call; program of the one woken)."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._known: dict[int, str] = {}

    def of(self, segment: int) -> str:
        if segment not in self._known:
            self._known[segment] = self._spell(segment)
        return self._known[segment]

    def _spell(self, segment: int) -> str:
        graph, events = self.graph, self.graph.trace.events
        letters: list[str] = []
        for row in graph.segments.events_of(segment)[:_LONGEST].tolist():
            kind = EventKind(int(events.kind[row]))
            if kind in _KINDS:
                letters += [_letter(int(kind)), _letter(self._parameters(row, kind))]
        after = int(graph.segments.after[segment])
        if after >= 0:
            first = int(graph.waits.first[after])
            letters += [_letter(int(EventKind.SWITCH)), _letter(int(events.call[first]))]
            letters += [_letter(_hash("/".join(graph.trace.stacks.functions(int(events.site[first]))[:3])))]
        return "".join(letters)

    def _parameters(self, row: int, kind: EventKind) -> int:
        events = self.graph.trace.events
        if kind is EventKind.SYSCALL:
            return int(events.call[row])
        other = int(events.other[row])
        return _hash(self.graph.thread(other).program) if other >= 0 else 0

    def most_similar(self, signature: str, segments: range | list[int], least: float) -> list[tuple[float, int]]:
        """Segments at least so similar, most similar first."""
        numbers = list(segments)
        if not numbers:
            return []
        spelled = [self.of(one) for one in numbers]
        unique = list(dict.fromkeys(spelled))
        scores = process.cdist([signature], unique, scorer=Levenshtein.normalized_similarity, score_cutoff=least)[0]
        of_word = dict(zip(unique, np.asarray(scores).tolist(), strict=True))
        found = [(of_word[word], number) for word, number in zip(spelled, numbers, strict=True)]
        return sorted((one for one in found if one[0] >= least and one[0] > 0), key=lambda one: (-one[0], one[1]))

    @cached_property
    def by_program(self) -> dict[str, list[int]]:
        """Segments by the program of their thread."""
        found: dict[str, list[int]] = {}
        for segment, thread in enumerate(self.graph.segments.thread.tolist()):
            found.setdefault(self.graph.thread(thread).program, []).append(segment)
        return found


def _hash(text: str) -> int:
    """The same in every run of Python."""
    value = 2166136261
    for byte in text.encode():
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return value % 0x8000


def _letter(value: int) -> str:
    return chr(_CHARACTERS + (value + 1) % 0xC000)
