"""From `diagnose` to the verdict: time and memory against the size of the recordings, and how steeply both grow."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.speed import seeds, store
from bench.speed.fit import fit_growth
from bench.speed.fresh import Spent, command_measured
from bench.speed.made_stacks import make_stacks
from bench.speed.multiplied import count_of, multiplied
from bench.speed.table import markdown, seconds, size_of
from bench.tool import whyperf_command
from whyperf.recording.reader import Recording

PART = "growth"
KINDS = ("values", "stacks", "trace", "relations")
_ANSWERS = (0, 3, 4)
_SHORT_S = 10.0  # what takes less is measured three times, and the least disturbed one counts


@dataclass(frozen=True)
class Sized:
    """Recordings of one size. The size is that of both sides together, in what the kind counts."""

    label: str
    good: Path
    bad: Path
    size: int
    options: tuple[str, ...] = ()


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
    for sized in _sizes(kind, quick=quick):
        print(f"growth of {kind}: {sized.label}, {sized.size:,} {_UNITS[kind]}", file=sys.stderr, flush=True)
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
_UNITS = {"values": "values", "stacks": "call paths", "trace": "events", "relations": "executions"}


def _sizes(kind: str, *, quick: bool) -> Iterator[Sized]:
    if kind == "relations":
        for records in (50, 100, 200) if quick else (50, 100, 200, 400, 800):
            good, bad = seeds.deep(records)
            size = sum(_executions(one) for one in (good, bad))
            yield Sized(f"{records} records", good, bad, size, ("--symptom", seeds.DEEP_SYMPTOM))
        return
    for times in _TIMES[kind][: _QUICK if quick else None]:
        with tempfile.TemporaryDirectory(prefix=f"{kind}-", dir=seeds.folder()) as scratch:
            good, bad = (Path(scratch) / side for side in ("good", "bad"))
            if kind == "stacks":
                size = times * _PATHS
                make_stacks(good, size, bad=False)
                make_stacks(bad, size, bad=True)
            else:
                seed = seeds.sampled() if kind == "values" else seeds.traced()
                for one, path in zip(seed, (good, bad), strict=True):
                    multiplied(one, path, times)
                size = sum(count_of(one, _TABLES[kind]) for one in (good, bad))
            yield Sized(f"{times}x", good, bad, size)


_TABLES = {"values": "values", "trace": "events"}
_TIMES = {"values": (1, 10, 100, 300, 1000), "stacks": (1, 3, 10, 30, 100), "trace": (1, 3, 10, 30, 100)}
_PATHS = 300  # at the smallest size
_QUICK = 3  # sizes


def _executions(path: Path) -> int:
    deep = Recording(path).manifest.deep
    return deep.executions if deep else 0


def _point(sized: Sized) -> Point:
    command = [*whyperf_command(), "diagnose", str(sized.good), str(sized.bad), *sized.options, "--json", "-"]
    runs = [command_measured(command, _ANSWERS)]
    while runs[0].cpu_s < _SHORT_S and len(runs) < 3:
        runs.append(command_measured(command, _ANSWERS))
    on_disk = sum(file.stat().st_size for side in (sized.good, sized.bad) for file in side.rglob("*.parquet"))
    return Point(sized.label, sized.size, on_disk, min(runs, key=lambda one: one.cpu_s))


def _rows(kind: str, points: Sequence[Point]) -> str:
    head = ("size", _UNITS[kind], "on disk", "elapsed", "CPU time", "peak memory", "bytes of memory each")
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
                f"{one.spent.peak_bytes / one.size:,.0f}",
            ]
            for one in points
        ],
    )


def _verdict(points: Sequence[Point]) -> str:
    if len(points) < 3:
        return "Too few sizes to tell how it grows."
    time = fit_growth([one.size for one in points], [one.spent.cpu_s for one in points])
    linear = "linear or less" if time.is_linear else "**more than linear**"
    before, last = points[-2:]
    more = max(last.spent.peak_bytes - before.spent.peak_bytes, 0) / (last.size - before.size)
    return (
        f"CPU time grows with the {time.exponent:.2f}th power of the size [{time.least:.2f}, {time.most:.2f}], above a "
        f"start of {seconds(time.start)}; slope at the end {time.at_the_end:.2f}: {linear}. Memory: {more:.0f} bytes "
        f"more for each of them at the end."
    )


def _told(told: dict[str, Any]) -> Point:
    return Point(**{**told, "spent": Spent(**told["spent"])})
