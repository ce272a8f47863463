"""Basic blocks between the lines that a suspect names and the line of the mistake, as in vProf's Table 3.3."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from statistics import fmean

import numpy as np

from whyperf.debuginfo.basic_blocks.blocks import Blocks, find_blocks, with_cases
from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.code_maps.code_map import Addresses, Int32s
from whyperf.debuginfo.code_maps.places import out_of_line_scopes
from whyperf.debuginfo.describe import describe

_NEAR = 4  # lines: compilers give no code to every line of a statement
_Block = tuple[int, int]  # out-of-line function and row of its blocks


@dataclass(frozen=True)
class BlockDistance:
    mean: float
    least: int


def block_distance(programs: Sequence[Path], file: str, line: int, named: Iterable[int]) -> BlockDistance | None:
    """By the shortest way in the flow graph, whichever direction; None where both are never in one function's code."""
    wanted = set(named)
    for program in programs:
        graph = FlowOfFile(describe(str(program)), file)
        true = graph.blocks_at(line)
        if not true:
            continue
        away = graph.distances(true)
        found = [min(hops) for one in wanted if (hops := [away[at] for at in graph.blocks_at(one) if at in away])]
        if found:
            return BlockDistance(round(fmean(found), 1), min(found))
    return None


class FlowOfFile:
    """The blocks of the functions that hold code of one source file, inlined code included."""

    def __init__(self, binary: Binary, file: str) -> None:
        self._binary = binary
        self._blocks: dict[int, Blocks | None] = {}
        self._at: dict[int, set[_Block]] = defaultdict(set)
        code = binary.code
        name = PurePath(file).name
        files = np.flatnonzero([PurePath(one).name == name for one in code.files])
        rows = np.isin(code.row_file, files)
        self._add(code.row_line[rows], code.row_address[rows])
        # A call that was inlined is where its code begins.
        calls = (code.scope_parent >= 0) & np.isin(code.scope_call_file, files)
        self._add(code.scope_call_line[calls], code.scope_entry[calls])

    def _add(self, lines: Int32s, addresses: Addresses) -> None:
        scopes = out_of_line_scopes(self._binary.code, addresses)
        for line, address, scope in zip(lines.tolist(), addresses.tolist(), scopes.tolist(), strict=True):
            block = self._row(scope, address)
            if block >= 0:
                self._at[line].add((scope, block))

    def blocks_at(self, line: int) -> set[_Block]:
        """Of the line, or of the nearest one below that has code."""
        for one in range(line, line + _NEAR):
            if self._at.get(one):
                return self._at[one]
        return set()

    def distances(self, start: set[_Block]) -> dict[_Block, int]:
        away = dict.fromkeys(start, 0)
        work = deque(start)
        while work:
            scope, block = work.popleft()
            for neighbour in self._neighbours(scope)[block]:
                if (scope, neighbour) not in away:
                    away[scope, neighbour] = away[scope, block] + 1
                    work.append((scope, neighbour))
        return away

    def _of(self, scope: int) -> Blocks | None:
        if scope not in self._blocks:
            elf = self._binary.elf
            read = elf.code if elf else lambda _low, _high: b""
            self._blocks[scope] = find_blocks(
                self._binary.machine, self._binary.code, scope, self._binary.never_return, read
            )
        return self._blocks[scope]

    def _row(self, scope: int, address: int) -> int:
        blocks = self._of(scope) if scope >= 0 else None
        return int(blocks.row(np.array([address], np.uint64))[0]) if blocks is not None else -1

    def _neighbours(self, scope: int) -> list[set[int]]:
        blocks = self._of(scope)
        assert blocks is not None
        return neighbours(blocks.successors, blocks.computed)


def neighbours(successors: Sequence[Sequence[int]], computed: Sequence[bool]) -> list[set[int]]:
    """Both directions; computed jumps may lead to every block that nothing else leads to."""
    found: list[set[int]] = [set() for _ in successors]
    for block, following in enumerate(with_cases(successors, computed)):
        for to in following:
            found[block].add(to)
            found[to].add(block)
    return found
