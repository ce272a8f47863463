"""Graphs of blocks: what every path passes, where a branch's arms meet again, and which blocks form loops."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

Successors = Sequence[Sequence[int]]

EXIT = -1
# Deeper is no nesting of a source's loops: where each case of an interpreter jumps to the next one itself, cutting off
# header after header would hardly end.
_DEEPEST = 10


@dataclass(frozen=True)
class Loops:
    """A forest: loops are nested in one another or have nothing in common."""

    of_block: list[int]
    """The innermost loop of each block; -1: none."""
    header: list[int]
    """The block with which each iteration begins."""
    parent: list[int]
    """The loop around each; -1: none. Parents come before children."""

    def around(self, block: int) -> Iterator[int]:
        """The loops that hold a block, innermost first."""
        loop = self.of_block[block]
        while loop >= 0:
            yield loop
            loop = self.parent[loop]


def post_dominators(successors: Successors, leaves: Sequence[bool]) -> list[int]:
    """The first block that every path from a block passes afterwards; EXIT if that is only the function's end.

    `leaves[b]`: the function may be left from b. From loops without an end one is taken to be left as well.
    """
    count = len(successors)
    end = count
    after: list[list[int]] = [[*successors[b], *([end] if leaves[b] else [])] for b in range(count)] + [[]]
    before: list[list[int]] = [[] for _ in range(count + 1)]
    for block in range(count):
        for follower in after[block]:
            before[follower].append(block)
    reached = [False] * (count + 1)
    order = list(_postorder(end, before, reached))
    for block in range(count - 1, -1, -1):
        if not reached[block]:
            after[block].append(end)
            order[-1:] = [*_postorder(block, before, reached), end]
    immediate = _immediate(order, after)
    return [EXIT if immediate[block] == end else immediate[block] for block in range(count)]


def doomed(successors: Successors, leaves: Sequence[bool], dies: Sequence[bool]) -> set[int]:
    """Blocks that die, and those from which all ways lead into such."""
    before = _predecessors(successors)
    found = set(itertools.compress(range(len(successors)), dies))
    work = list(found)
    while work:
        for block in before[work.pop()]:
            if block not in found and not leaves[block] and found.issuperset(successors[block]):
                found.add(block)
                work.append(block)
    return found


def next_in_round(successors: Successors, loops: Loops, loop: int, doomed: Set[int]) -> list[int]:
    """The first block of a loop that every path from a block of it to the next round passes, or to where the loop is
    left for good; EXIT if there is none. Ways to doomed blocks do not count: they were taken once, at the end."""
    header = loops.header[loop]
    inside = [loop in loops.around(block) for block in range(len(successors))]
    ways = [[to for to in followers if inside[to] and to != header] for followers in successors]
    ends = [
        within and any(to == header or not (inside[to] or to in doomed) for to in followers)
        for within, followers in zip(inside, successors, strict=True)
    ]
    return post_dominators(ways, [end or not following for end, following in zip(ends, ways, strict=True)])


def dominators(successors: Successors, entry: int) -> list[int]:
    """The last block that every path from the entry passes before a block; the entry's is itself.

    -1 for blocks to which no path leads.
    """
    return _immediate(list(reached(successors, entry)), _predecessors(successors))


def reached(successors: Successors, entry: int) -> Iterator[int]:
    """The entry, and the blocks to which a path leads from there."""
    return _postorder(entry, successors, [False] * len(successors))


def _predecessors(successors: Successors) -> list[list[int]]:
    before: list[list[int]] = [[] for _ in successors]
    for block, followers in enumerate(successors):
        for follower in followers:
            before[follower].append(block)
    return before


def _immediate(order: Sequence[int], towards_root: Sequence[Sequence[int]]) -> list[int]:
    """Cooper, Harvey and Kennedy's iteration; `order` is a postorder that ends with the root."""
    rank = dict(zip(order, itertools.count()))
    ways = [[rank[one] for one in towards_root[block] if one in rank] for block in order]
    root = len(order) - 1
    above = [-1] * root + [root]  # by rank, as are the ways: what is nearer to the root is greater
    changed = True
    while changed:
        changed = False
        for block in range(root - 1, -1, -1):
            meeting = _meeting([one for one in ways[block] if above[one] >= 0], above, root)
            if above[block] != meeting:
                above[block] = meeting
                changed = True
    immediate = [-1] * len(towards_root)
    for block, nearest in zip(order, above, strict=True):
        immediate[block] = order[nearest]
    return immediate


def _meeting(ranks: list[int], above: list[int], root: int) -> int:
    """Where the paths to the root come together; nobody looks further once that is the root itself."""
    meeting = ranks[0]
    for one in ranks:
        other = one
        while meeting != other:
            if meeting < other:
                meeting = above[meeting]
            else:
                other = above[other]
        if meeting == root:
            break
    return meeting


def _postorder(root: int, neighbours: Sequence[Sequence[int]], seen: list[bool]) -> Iterator[int]:
    """Marks what it reaches in `seen`, and passes over what is marked already."""
    seen[root] = True
    stack = [(root, iter(neighbours[root]))]
    while stack:
        block, rest = stack[-1]
        unseen = next((one for one in rest if not seen[one]), None)
        if unseen is None:
            stack.pop()
            yield block
        else:
            seen[unseen] = True
            stack.append((unseen, iter(neighbours[unseen])))


def find_loops(successors: Successors) -> Loops:
    """Strongly connected parts, then those within them once the edges back to their headers are cut, and so on.

    In reducible graphs these are the natural loops. A part with several entries (an irreducible loop) is one loop all
    the same; its header is the entry that the function's start reaches first. What is nested deeper than any source
    nests is not told apart.
    """
    count = len(successors)
    seen = [False] * count
    ended = [block for root in range(count) if not seen[root] for block in _postorder(root, successors, seen)]
    rank = {block: -position for position, block in enumerate(ended)}
    found = Loops([-1] * count, [], [])
    headers: set[int] = set()
    work: list[tuple[set[int], int, int]] = [(set(range(count)), -1, 0)]  # blocks, the loop that they form, its depth
    while work:
        blocks, around, depth = work.pop()
        for part in list(_Search(blocks, successors, headers).parts()):
            if len(part) == 1 and not _loops_to_itself(next(iter(part)), successors, headers):
                continue
            loop = len(found.header)
            header = _header(part, blocks, successors, rank)
            found.header.append(header)
            found.parent.append(around)
            for block in part:
                found.of_block[block] = loop
            headers.add(header)
            if depth + 1 < _DEEPEST:
                work.append((part, loop, depth + 1))
    return found


def _loops_to_itself(block: int, successors: Successors, headers: set[int]) -> bool:
    return block in successors[block] and block not in headers


def _header(part: set[int], blocks: set[int], successors: Successors, rank: dict[int, int]) -> int:
    entered = {to for block in blocks - part for to in successors[block] if to in part}
    return min(entered or part, key=lambda block: rank[block])


class _Search:
    """Tarjan's search for strongly connected parts, without recursion; edges to `headers` are left out."""

    def __init__(self, blocks: set[int], successors: Successors, headers: set[int]) -> None:
        self._blocks, self._successors, self._headers = blocks, successors, headers
        self._number: dict[int, int] = {}
        self._low: dict[int, int] = {}
        self._open: list[int] = []
        self._is_open: set[int] = set()
        self._path: list[tuple[int, Iterator[int]]] = []

    def parts(self) -> Iterator[set[int]]:
        for root in sorted(self._blocks):
            if root not in self._number:
                self._enter(root)
                yield from self._walk()

    def _enter(self, block: int) -> None:
        self._number[block] = self._low[block] = len(self._number)
        self._open.append(block)
        self._is_open.add(block)
        followers = (to for to in self._successors[block] if to in self._blocks and to not in self._headers)
        self._path.append((block, followers))

    def _walk(self) -> Iterator[set[int]]:
        number, low = self._number, self._low
        while self._path:
            block, followers = self._path[-1]
            for to in followers:
                if to not in number:
                    self._enter(to)
                    break
                if to in self._is_open:
                    low[block] = min(low[block], number[to])
            else:
                self._path.pop()
                if self._path:
                    caller = self._path[-1][0]
                    low[caller] = min(low[caller], low[block])
                if low[block] == number[block]:
                    yield self._close(block)

    def _close(self, block: int) -> set[int]:
        part = {block}
        while (one := self._open.pop()) != block:
            part.add(one)
        self._is_open -= part
        return part
