"""One line a stack, `program;caller;callee weight`: what flamegraph.pl, inferno and speedscope read.

Weights are microseconds. Two recordings give the two weights that difffolded.pl writes and flamegraph.pl shows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from whyperf.export.profile import Profile, ThreadSamples
from whyperf.recording.schemas.tables import Clock

_NOT_IN_NAMES = str.maketrans({";": ":", "\n": " ", "\r": " "})


def collapsed(profile: Profile, clock: Clock) -> Iterator[str]:
    for stack, weight in sorted(_weights(profile, clock).items()):
        if micros := round(weight / 1000):
            yield f"{stack} {micros}\n"


def collapsed_difference(good: Profile, bad: Profile, clock: Clock) -> Iterator[str]:
    before, after = _weights(good, clock), _weights(bad, clock)
    for stack in sorted(before.keys() | after.keys()):
        both = round(before.get(stack, 0) / 1000), round(after.get(stack, 0) / 1000)
        if any(both):
            yield f"{stack} {both[0]} {both[1]}\n"


def _weights(profile: Profile, clock: Clock) -> dict[str, int]:
    weights: dict[str, int] = defaultdict(int)
    for thread, node, nanoseconds in profile.totals(clock):
        weights[_stack(profile, thread, node)] += nanoseconds
    return weights


def _stack(profile: Profile, thread: ThreadSamples, node: int) -> str:
    names = [thread.program, *(profile.places[place].function for place in profile.path(node))]
    return ";".join(name.translate(_NOT_IN_NAMES) for name in names)
