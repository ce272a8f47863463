"""Where inside a function its excess is: lines and blocks, bad minus good, with the source around the hottest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from whyperf.engines.excess.compare import Excess
from whyperf.engines.excess.costs import CostSide
from whyperf.engines.finding import HotLine, Place
from whyperf.engines.run import Run, source_lines
from whyperf.engines.shown_lines import lines_around


@dataclass(frozen=True)
class Whereabouts:
    place: Place
    lines: tuple[HotLine, ...]
    in_every_round: bool = False  # nothing but a loop around the place decides that it is reached


@dataclass(frozen=True)
class _Spot:
    file: str
    line: int


def locate(excess: Excess, function: int) -> Whereabouts:
    """The line with most of the excess that `function` answers for, and the lines worth showing around it."""
    good, _ = _seconds_by_spot(excess, excess.costs.good, function)
    bad, within = _seconds_by_spot(excess, excess.costs.bad, function)
    grown = {spot: gain for spot in bad if (gain := bad[spot] - good.get(spot, 0.0)) > 0 and spot.line > 0}
    declared = excess.index.functions[function]
    if not grown:
        known = (excess.index.declared_line[run].get(function, 0) for run in excess.index.bad)
        return Whereabouts(Place(declared.file, next((line for line in known if line), 0)), ())
    hottest = max(grown, key=lambda spot: (grown[spot], -spot.line))
    total = sum(grown.values())
    share = {spot.line: gain / total for spot, gain in grown.items() if spot.file == hottest.file}
    block, decided_by = (_heaviest(seconds) for seconds in (within[hottest].blocks, within[hottest].decided_by))
    lines = lines_around(excess.index.bad, hottest.file, hottest.line, share)
    text = source_lines(excess.index.bad, hottest.file).get(decided_by, "")
    if text and all(line.line != decided_by for line in lines):
        lines = tuple(sorted((*lines, HotLine(decided_by, 0.0, text)), key=lambda line: line.line))
    in_every_round = within[hottest].in_every_round > 0.5 * bad[hottest]
    return Whereabouts(Place(hottest.file, hottest.line, block, decided_by), lines, in_every_round)


@dataclass(frozen=True)
class LineTime:
    """Seconds per unit of work at a line, of what a function answers for."""

    file: str
    line: int
    good_s: float
    bad_s: float


def line_times(excess: Excess, function: int) -> list[LineTime]:
    """The function's lines with any time in either kind of runs, in the bad build's line numbers."""
    good, _ = _seconds_by_spot(excess, excess.costs.good, function)
    bad, _ = _seconds_by_spot(excess, excess.costs.bad, function)
    spots = sorted({spot for spot in (*good, *bad) if spot.line > 0}, key=lambda spot: (spot.file, spot.line))
    return [LineTime(spot.file, spot.line, good.get(spot, 0.0), bad.get(spot, 0.0)) for spot in spots]


def _heaviest(seconds: Mapping[int, float]) -> int:
    return max(seconds, key=lambda number: (seconds[number], -number))


@dataclass
class _Within:
    """Seconds of one line: by basic block, by the line that decides that it is reached, in every round of a loop."""

    blocks: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    decided_by: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    in_every_round: float = 0.0


def _seconds_by_spot(excess: Excess, side: CostSide, function: int) -> tuple[dict[_Spot, float], dict[_Spot, _Within]]:
    """Mean seconds per unit by line, in the bad build's line numbers; and within each line."""
    part = np.zeros(len(excess.costs.tree))
    nodes, _, parts = excess.charges.to(function)
    np.add.at(part, nodes, parts)
    by_spot: dict[_Spot, float] = defaultdict(float)
    within: dict[_Spot, _Within] = defaultdict(_Within)
    for run, node in zip(side.runs, side.nodes, strict=True):
        time = run.time(excess.clock)
        seconds = part[node] * time.seconds / excess.units[run] / len(side.runs)
        shift = _line_shift(excess, run, function)
        files = run.frames.column("file")
        for row in np.flatnonzero(seconds > 0).tolist():
            frame = excess.index.innermost_frame(run, int(time.stack[row]), function)
            if frame is None:
                continue
            line = run.frame_line[frame]
            spot = _Spot(str(files[frame].as_py()), line + shift if line else 0)
            by_spot[spot] += float(seconds[row])
            within[spot].blocks[run.frame_block[frame]] += float(seconds[row])
            deciding = run.decided_by.get(frame, 0)
            within[spot].decided_by[deciding + shift if deciding else 0] += float(seconds[row])
            within[spot].in_every_round += float(seconds[row]) if frame in run.in_every_round else 0.0
    return _same_folder(excess, by_spot, side), within


def _same_folder(excess: Excess, by_spot: dict[_Spot, float], side: CostSide) -> dict[_Spot, float]:
    """The good build's files under the bad build's folders: a file is the same wherever it was built."""
    if side is excess.costs.bad:
        return by_spot
    names = {file.rsplit("/", 1)[-1]: file for run in excess.index.bad for file in _file_names(run)}
    moved: dict[_Spot, float] = defaultdict(float)
    for spot, seconds in by_spot.items():
        moved[_Spot(names.get(spot.file.rsplit("/", 1)[-1], spot.file), spot.line)] += seconds
    return moved


def _file_names(run: Run) -> list[str]:
    return [str(name) for name in run.frames.column("file").unique().to_pylist()]


def _line_shift(excess: Excess, run: Run, function: int) -> int:
    """A place is a line relative to its function's declaration: code above it may have grown between two builds."""
    here = excess.index.declared_line[run].get(function, 0)
    shown = next((line for bad in excess.index.bad if (line := excess.index.declared_line[bad].get(function, 0))), 0)
    return shown - here if here and shown else 0
