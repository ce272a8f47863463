"""From `diagnose` to the verdict: time and memory against the size of the recordings, and how steeply both grow."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.speed import store
from bench.speed.fit import fit_growth
from bench.speed.fresh import Spent, command_measured
from bench.speed.sized import UNITS, Sized, growing
from bench.speed.table import markdown, seconds, size_of
from bench.tool import whyperf_command

PART = "growth"
KINDS = tuple(UNITS)
_ANSWERS = (0, 3, 4)
_SHORT_S = 10.0  # what takes less is measured three times, and the least disturbed one counts


@dataclass(frozen=True)
class Point:
    label: str
    size: int
    bytes: int  # on disk
    spent: Spent


def run(kind: str, *, quick: bool, resume: bool) -> None:
    if resume and store.read(PART, kind) is not None:
        return
    points: list[Point] = []
    for sized in growing(kind, quick=quick):
        print(f"growth of {kind}: {sized.label}, {sized.size:,} {UNITS[kind]}", file=sys.stderr, flush=True)
        points.append(_point(sized))
    store.write(PART, kind, {"points": [asdict(one) for one in points]})


def tables() -> str:
    found = store.read_all(PART, KINDS)
    parts = []
    for kind, told in found.items():
        points = [_told(one) for one in told["points"]]
        when = f"{told['when']}, {told['commit']}, load average {told['load']}"
        parts.append(f"**{_TITLES[kind]}** ({when})\n\n{_rows(kind, points)}\n\n{_verdict(points)}")
    return "\n\n".join(parts)


_TITLES = {
    "values": "Samples and values: redis' `LREM` case, recorded once and repeated in time",
    "stacks": "Call paths: as many functions as paths, made; each path is one or a few samples",
    "trace": "Kernel events, by causes and contexts: redis' clients and one that asks for all keys, recorded once and "
    "repeated in time",
    "relations": "Counted executions, by relations: `documents`, really recorded, with ever more records",
}


def _point(sized: Sized) -> Point:
    command = [*whyperf_command(), "diagnose", str(sized.good), str(sized.bad), *sized.options, "--json", "-"]
    runs = [command_measured(command, _ANSWERS)]
    while runs[0].cpu_s < _SHORT_S and len(runs) < 3:
        runs.append(command_measured(command, _ANSWERS))
    on_disk = sum(file.stat().st_size for side in (sized.good, sized.bad) for file in side.rglob("*.parquet"))
    return Point(sized.label, sized.size, on_disk, min(runs, key=lambda one: one.cpu_s))


def _rows(kind: str, points: Sequence[Point]) -> str:
    head = ("size", UNITS[kind], "on disk", "elapsed", "CPU time", "peak memory", "anonymous", "anonymous bytes each")
    return markdown(
        head,
        [
            [
                one.label,
                f"{one.size:,}",
                size_of(one.bytes),
                seconds(one.spent.wall_s),
                seconds(one.spent.cpu_s),
                size_of(one.spent.peak_bytes),
                size_of(one.spent.anonymous_bytes) if one.spent.anonymous_bytes else "",
                f"{one.spent.anonymous_bytes / one.size:,.0f}" if one.spent.anonymous_bytes else "",
            ]
            for one in points
        ],
    )


def _verdict(points: Sequence[Point]) -> str:
    if len(points) < 3:
        return "Too few sizes to tell how it grows."
    time = fit_growth([one.size for one in points], [one.spent.cpu_s for one in points])
    linear = "linear or less" if time.is_linear else "**more than linear**"
    return (
        f"CPU time grows with the {time.exponent:.2f}th power of the size [{time.least:.2f}, {time.most:.2f}], above a "
        f"start of {seconds(time.start)}; slope at the end {time.at_the_end:.2f}: {linear}.{_more_memory(points)}"
    )


def _more_memory(points: Sequence[Point]) -> str:
    """Nothing of what was measured when nobody looked."""
    before, last = points[-2:]
    if not (before.spent.anonymous_bytes and last.spent.anonymous_bytes):
        return ""
    more = max(last.spent.anonymous_bytes - before.spent.anonymous_bytes, 0) / (last.size - before.size)
    return f" Anonymous memory: {more:.1f} bytes more for each of them at the end."


def _told(told: dict[str, Any]) -> Point:
    return Point(**{**told, "spent": Spent(**told["spent"])})
