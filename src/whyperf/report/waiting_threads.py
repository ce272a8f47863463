"""The ladder of a stall with threads that wait alike for one lock as one rung."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from whyperf.engines.causes.detail import CausesDetail, ShownLink, ShownRung

_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class JoinedRung:
    process: str | None  # None: outside of the recording
    threads: tuple[str, ...]  # their names, empty where it is the process's own; one for each thread
    ids: tuple[int, ...]
    start_s: float
    seconds: float
    did: str
    stack: tuple[str, ...]
    link: ShownLink | None  # to the next rung


def rungs_of(detail: CausesDetail) -> tuple[JoinedRung, ...]:
    """From the one that stalled to the one that should have acted."""
    return tuple(_joined(list(alike)) for _, alike in groupby(detail.ladder, _waits_alike))


def name_of(rung: JoinedRung) -> str:
    """`server/worker (4711)`: the program, the thread where it has a name of its own, its number."""
    if rung.process is None:
        return "outside of the recording"
    names = dict.fromkeys(rung.threads)
    own = next(iter(names)) if len(names) == 1 else _NUMBER.sub("*", next(iter(names)))
    thread = f"/{own}" if own and own != rung.process else ""
    if len(rung.ids) == 1:
        return f"{rung.process}{thread} ({rung.ids[0]})"
    return f"{rung.process}{thread} ({len(rung.ids)} threads)"


def _waits_alike(rung: ShownRung) -> tuple[object, ...]:
    """Equal for threads of one kind that wait at the same place by the same means: who of them comes first is luck."""
    if rung.process is None or rung.link is None:
        return (id(rung),)
    return rung.process, _NUMBER.sub("*", rung.thread or ""), rung.did, rung.stack, rung.link.mechanism


def _joined(alike: Sequence[ShownRung]) -> JoinedRung:
    first, last = alike[0], alike[-1]
    start = min(rung.time_s for rung in alike)
    return JoinedRung(
        process=first.process,
        threads=tuple(_thread_names(alike)),
        ids=tuple(rung.tid for rung in alike if rung.tid is not None),
        start_s=start,
        seconds=max(rung.time_s + rung.for_s for rung in alike) - start,
        did=first.did,
        stack=first.stack,
        link=last.link,
    )


def _thread_names(rungs: Sequence[ShownRung]) -> Iterator[str]:
    for rung in rungs:
        yield rung.thread if rung.pid != rung.tid and rung.thread else ""
