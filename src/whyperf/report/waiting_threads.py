"""The ladder of a stall with threads that wait alike for one lock as one rung."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Link:
    mechanism: str
    certainty: str
    why: str


@dataclass(frozen=True)
class Rung:
    process: str | None  # None: outside of the recording
    threads: tuple[str, ...]  # their names, empty where it is the process's own; one for each thread
    ids: tuple[int, ...]
    start_s: float
    seconds: float
    did: str
    stack: tuple[str, ...]
    link: Link | None  # to the next rung


def rungs_of(detail: Mapping[str, Any]) -> tuple[Rung, ...]:
    """From the one that stalled to the one that should have acted; none for findings without a ladder."""
    return tuple(_joined(list(alike)) for _, alike in groupby(detail.get("ladder") or (), _waits_alike))


def name_of(rung: Rung) -> str:
    """`server/worker (4711)`: the program, the thread where it has a name of its own, its number."""
    if rung.process is None:
        return "outside of the recording"
    names = dict.fromkeys(rung.threads)
    own = next(iter(names)) if len(names) == 1 else _NUMBER.sub("*", next(iter(names)))
    thread = f"/{own}" if own and own != rung.process else ""
    if len(rung.ids) == 1:
        return f"{rung.process}{thread} ({rung.ids[0]})"
    return f"{rung.process}{thread} ({len(rung.ids)} threads)"


def _waits_alike(rung: Mapping[str, Any]) -> tuple[object, ...]:
    """Equal for threads of one kind that wait at the same place by the same means: who of them comes first is luck."""
    link = rung.get("link")
    if rung.get("process") is None or not link:
        return (id(rung),)
    thread = _NUMBER.sub("*", rung["thread"] or "")
    return rung["process"], thread, rung["did"], tuple(rung["stack"]), link["mechanism"]


def _joined(alike: Sequence[Mapping[str, Any]]) -> Rung:
    first, last = alike[0], alike[-1]
    start = min(rung["time_s"] for rung in alike)
    link = last.get("link")
    return Rung(
        process=first.get("process"),
        threads=tuple(_thread_names(alike)),
        ids=tuple(rung["tid"] for rung in alike if rung.get("tid") is not None),
        start_s=start,
        seconds=max(rung["time_s"] + rung["for_s"] for rung in alike) - start,
        did=first["did"],
        stack=tuple(first["stack"]),
        link=None if not link else Link(link["mechanism"], link["certainty"], link["why"]),
    )


def _thread_names(rungs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for rung in rungs:
        yield rung["thread"] if rung.get("pid") != rung.get("tid") and rung["thread"] else ""
