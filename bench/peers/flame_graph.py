"""A differential flame graph's frames by how much wider they got.

A frame is a function in one calling context and its width the samples in it, as in Gregg's flame graphs. Call chains
are unwound by DWARF: what distributions compile has no frame pointers.
"""

from __future__ import annotations

import re
from collections import Counter

from bench.peers.peer import Ranking, Trial
from bench.peers.perf_data import recorded, said

_CHAINS = ("--call-graph=dwarf,16384", "-F199")
_Path = tuple[str, ...]  # outermost first


def ranking(trial: Trial) -> Ranking:
    good, bad = (
        widths(parse_stacks(said("script", "--no-inline", "-F", "ip,sym", "-i", recorded(trial, side, *_CHAINS))))
        for side in ("good", "bad")
    )
    return Ranking(by_growth(good, bad))


def parse_stacks(text: str) -> Counter[_Path]:
    """`perf script -F ip,sym`: innermost first, stacks apart by empty lines."""
    stacks: Counter[_Path] = Counter()
    for block in re.split(r"\n\s*\n", text):
        frames = [words[1] for line in block.splitlines() if len(words := line.split(None, 1)) == 2]
        if frames:
            stacks[tuple(reversed(frames))] += 1
    return stacks


def widths(stacks: Counter[_Path]) -> Counter[_Path]:
    found: Counter[_Path] = Counter()
    for stack, count in stacks.items():
        for depth in range(1, len(stack) + 1):
            found[stack[:depth]] += count
    return found


def by_growth(good: Counter[_Path], bad: Counter[_Path]) -> tuple[str, ...]:
    """Of frames that grew alike, the inner one first: the outer one grew because of it."""
    grown = {path: width - good[path] for path, width in bad.items() if width > good[path]}
    return tuple(dict.fromkeys(path[-1] for path in sorted(grown, key=lambda path: (-grown[path], -len(path), path))))
