"""The JSON that Perfetto and Chrome's tracing page read: what each thread was in, as nested slices.

A sample says where a thread was at one moment; a function that is on the stack in samples that follow each other
without a gap is shown as one slice. Calls shorter than the time between samples cannot be seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from whyperf.export.profile import Profile, ThreadSamples

# Samples that lie further apart than so many times what they stand for: the thread did something else in between.
_GAP = 2.0

_Function = tuple[str, str]  # name, module


def chrome(profile: Profile) -> dict[str, Any]:
    events = [event for thread in profile.threads for event in _thread(profile, thread)]
    return {"displayTimeUnit": "ms", "traceEvents": [*_names(profile), *events]}


def _names(profile: Profile) -> Iterator[dict[str, Any]]:
    programs = {thread.pid: thread.program for thread in profile.threads}
    for pid, program in programs.items():
        yield {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": program}}
    for (pid, tid), name in {(thread.pid, thread.tid): thread.name for thread in profile.threads}.items():
        yield {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}}


def _thread(profile: Profile, thread: ThreadSamples) -> Iterator[dict[str, Any]]:
    opened: list[tuple[_Function, int]] = []  # and when it was entered
    closes = 0
    begins = thread.time - thread.weight  # a sample stands for the time before it
    for begin, end, node in zip(begins.tolist(), thread.time.tolist(), thread.stack.tolist(), strict=True):
        path = [_function(profile, place) for place in profile.path(node)]
        apart = begin - closes > (_GAP - 1) * (end - begin)
        common = 0 if apart else _common(path, [function for function, _ in opened])
        while len(opened) > common:
            yield _slice(profile, thread, *opened.pop(), closes)
        start = begin if apart else max(begin, closes)
        opened += [(function, start) for function in path[common:]]
        closes = max(end, closes)
    while opened:
        yield _slice(profile, thread, *opened.pop(), closes)


def _function(profile: Profile, place: int) -> _Function:
    return profile.places[place].function, profile.places[place].module


def _common(path: Sequence[_Function], opened: Sequence[_Function]) -> int:
    pairs = zip(path, opened, strict=False)
    return next((depth for depth, (one, other) in enumerate(pairs) if one != other), min(len(path), len(opened)))


def _slice(profile: Profile, thread: ThreadSamples, function: _Function, start: int, end: int) -> dict[str, Any]:
    return {
        "ph": "X",
        "name": function[0],
        "cat": thread.clock.name.lower(),
        "pid": thread.pid,
        "tid": thread.tid,
        "ts": (start - profile.start) / 1000,
        "dur": (end - start) / 1000,
        "args": {"module": function[1]},
    }
