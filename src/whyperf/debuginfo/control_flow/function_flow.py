"""The flow of control within one function: blocks, where branches join again, loops.

Made by disassembling only the functions asked for, without operand details (3 microseconds an instruction).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from whyperf.debuginfo.basic_blocks.blocks import Parts, parts_of
from whyperf.debuginfo.basic_blocks.flow_graph import (
    Loops,
    dominators,
    doomed,
    find_loops,
    next_in_round,
    post_dominators,
    reached,
)
from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.code_maps.code_map import Addresses, Bools, CodeMap, Int32s, ScopeKind
from whyperf.debuginfo.code_maps.places import last_at_or_before
from whyperf.debuginfo.control_flow.flow_instructions import FlowInstruction, FlowStep, decode
from whyperf.debuginfo.control_flow.jump_tables import table_targets
from whyperf.debuginfo.control_flow.linkage_stubs import imported_by_stub
from whyperf.debuginfo.control_flow.no_return import never_returns_by_name
from whyperf.debuginfo.image import Image
from whyperf.recording.schemas.deep_tables import SiteKind

_CALLEE_DEPTH = 3


@dataclass(frozen=True, eq=False)
class Flow:
    """Instructions and blocks are counted by address, those of the part with the function's entry first."""

    entry: int
    address: Addresses
    size: Int32s
    kind: npt.NDArray[np.int8]
    """A `SiteKind` each."""
    memory: npt.NDArray[np.int8]
    """A `MemoryUse` each."""
    target: npt.NDArray[np.int64]
    """Of direct calls and tail calls; -1 otherwise."""
    block: Int32s
    first: Int32s
    """The first instruction of each block."""
    successors: list[list[int]]
    """The blocks that follow each, as far as they are known."""
    leaves: list[bool]
    """The function may be left from the block."""
    may_follow: list[list[int]]
    """The blocks that may follow each, so that no way is missed."""
    dies: list[bool]
    """The block ends in a call that never returns, or in a trap."""
    unresolved: int
    """Jumps through tables that were not found: what follows them seems to be the function's end."""

    def rows_at(self, addresses: Addresses) -> npt.NDArray[np.int64]:
        """The instruction at each address, or the last one before it."""
        order, sorted_addresses = self._by_address
        found: npt.NDArray[np.int64] = order[np.maximum(last_at_or_before(sorted_addresses, addresses), 0)]
        return found

    def instructions(self, block: int) -> slice:
        """The rows of a block."""
        last = block + 1 == len(self.first)
        return slice(int(self.first[block]), len(self.address) if last else int(self.first[block + 1]))

    # Each of these is worked out for whoever asks: hardly anybody needs them all.

    @cached_property
    def _by_address(self) -> tuple[npt.NDArray[np.int64], Addresses]:
        order = np.argsort(self.address, kind="stable")
        return order, self.address[order]

    @cached_property
    def doomed(self) -> frozenset[int]:
        """Blocks from which the program only ends."""
        return frozenset(doomed(self.successors, self.leaves, self.dies))

    @cached_property
    def branches(self) -> Bools:
        """Several ways lead on from the block."""
        return np.array([len(to) + leaves > 1 for to, leaves in zip(self.successors, self.leaves, strict=True)])

    @cached_property
    def join(self) -> Int32s:
        """The immediate post-dominator of each block; -1: the function's end."""
        return np.array(post_dominators(self.successors, self.leaves), np.int32)

    @cached_property
    def dominator(self) -> Int32s:
        """The last block that every path from the entry passes before each; the entry's is itself."""
        return np.array(dominators(self.may_follow, 0), np.int32)

    @property
    def loop(self) -> Int32s:
        """The innermost loop of each block; -1: none."""
        return np.array(self.loops.of_block, np.int32)

    @property
    def header(self) -> Int32s:
        """The block with which each loop begins."""
        return np.array(self.loops.header, np.int32)

    @property
    def parent(self) -> Int32s:
        """The loop around each; -1: none."""
        return np.array(self.loops.parent, np.int32)

    @cached_property
    def loops(self) -> Loops:
        return find_loops(self.successors)

    def next_in_round(self, loop: int) -> list[int]:
        if loop not in self._next_in_round:
            self._next_in_round[loop] = next_in_round(self.successors, self.loops, loop, self.doomed)
        return self._next_in_round[loop]

    @cached_property
    def _next_in_round(self) -> dict[int, list[int]]:
        return {}


def parts_with_fragments(code: CodeMap, scope: int) -> Parts:
    """A function's ranges, with the parts that were split off it though only symbols tell of them (`.cold`)."""
    parts = parts_of(code, scope)
    function = int(code.scope_function[scope])
    mine = np.flatnonzero((code.scope_function == function) & (code.scope_parent < 0))
    fragments = mine[code.scope_kind[mine] == ScopeKind.FRAGMENT]
    if len(mine) - len(fragments) > 1:
        return parts  # copies of one function: which of them a part belongs to is not known
    split_off = [one for fragment in fragments.tolist() for one in parts_of(code, fragment).ranges]
    return Parts((*parts.ranges, *(one for one in split_off if one not in parts.ranges)))


class TimedFlows:
    """The flows of one binary's functions, each read once, for as long as there is time."""

    def __init__(self, binary: Binary, budget_s: float) -> None:
        self.binary = binary
        self._flows = Flows(binary, callee_depth=0)
        self._read: dict[int, Flow | None] = {}
        self.renew(budget_s)

    def renew(self, budget_s: float) -> None:
        """So much time from now on."""
        self._deadline = time.process_time() + budget_s

    @property
    def image(self) -> Image | None:
        return self._flows.image

    def of(self, scope: int) -> Flow | None:
        """None when the code's bytes cannot be had, or the time is up."""
        if scope not in self._read and time.process_time() < self._deadline:
            self._read[scope] = self._flows.of(scope)
        return self._read.get(scope)


class Flows:
    """The flows of one binary's functions."""

    def __init__(self, binary: Binary, callee_depth: int = _CALLEE_DEPTH) -> None:
        """`callee_depth`: through how many calls the code of callees is read to see whether they return. Where it is
        not read they are taken to return, which adds ways and takes none away."""
        self._binary, self._callee_depth = binary, callee_depth
        self._returns: dict[int, bool] = {}

    @cached_property
    def image(self) -> Image | None:
        return Image(self._binary.elf) if self._binary.elf is not None else None

    def of(self, scope: int) -> Flow | None:
        """None when the code's bytes cannot be had."""
        parts = parts_with_fragments(self._binary.code, scope)
        graph = self._graph(parts, 0)
        return None if graph is None else graph.flow(int(self._binary.code.scope_entry[scope]))

    def _graph(self, parts: Parts, depth: int) -> _Graph | None:
        machine = self._binary.machine
        if self.image is None or machine is None:
            return None
        code: list[FlowInstruction] = []
        for low, high in parts.ranges:
            content = self.image.read(low, high - low)
            if len(content) < high - low:
                return None
            code += decode(machine, content, low)
        if not code:
            return None
        ends = {one.address for one in code if one.step is FlowStep.CALL and self._call_ends(one, depth)}
        return _Graph(code, ends, table_targets(code, self.image))

    def _call_ends(self, call: FlowInstruction, depth: int) -> bool:
        """Whether the flow never comes back from it."""
        assert self.image is not None
        if call.target is None:
            return call.slot is not None and never_returns_by_name(self.image.imports.get(call.slot, ""))
        if call.target not in self._returns:
            self._returns[call.target] = True  # what recursion assumes
            self._returns[call.target] = not self._callee_ends(call.target, depth)
        return not self._returns[call.target]

    def _callee_ends(self, entry: int, depth: int) -> bool:
        machine = self._binary.machine
        assert self.image is not None and machine is not None and self._binary.elf is not None
        if entry in self._binary.never_return:
            return True
        if (symbol := imported_by_stub(self._binary.elf, machine, self.image, entry)) is not None:
            return never_returns_by_name(symbol)
        scope = self._binary.scope_entered_at(entry)
        if scope < 0 or depth >= self._callee_depth:
            return False
        if never_returns_by_name(self._binary.functions.names[int(self._binary.code.scope_function[scope])]):
            return True
        graph = self._graph(parts_of(self._binary.code, scope), depth + 1)
        return graph is not None and not graph.can_return


class _Graph:
    """Blocks and the edges between them."""

    def __init__(self, code: list[FlowInstruction], ends: set[int], tables: dict[int, list[int]]) -> None:
        self._code, self._ends, self._tables = code, ends, tables
        self._row = {one.address: row for row, one in enumerate(code)}
        self._first = sorted(self._leaders())
        self._block = np.searchsorted(self._first, np.arange(len(code)), side="right") - 1
        self._successors: list[list[int]] = []
        self._leaves: list[bool] = []
        self.unresolved = 0
        self._lasts = [*(row - 1 for row in self._first[1:]), len(code) - 1]
        for last in self._lasts:
            followers, leaves = self._after(last)
            self._successors.append(followers)
            self._leaves.append(leaves)

    def _leaders(self) -> set[int]:
        leaders = {0}
        for row, one in enumerate(self._code):
            if one.step is FlowStep.NEXT or (one.step is FlowStep.CALL and one.address not in self._ends):
                continue
            leaders.add(row + 1)
            if one.step is not FlowStep.CALL and one.target in self._row:
                leaders.add(self._row[one.target])
            leaders.update(self._row[target] for target in self._tables.get(one.address, ()))
        return {row for row in leaders if row < len(self._code)}

    def _after(self, last: int) -> tuple[list[int], bool]:
        """Blocks that follow an instruction at a block's end, and whether the function may be left there."""
        one = self._code[last]
        found: list[int] = []
        leaves = one.step is FlowStep.STOP or one.address in self._ends
        if one.step in (FlowStep.JUMP, FlowStep.BRANCH):
            targets = [one.target] if one.target is not None else self._tables.get(one.address, [])
            found = [int(self._block[self._row[target]]) for target in targets if target in self._row]
            leaves = not found or len(found) < len(targets)
            self.unresolved += one.target is None and self._tables.get(one.address) == []
        if one.step is not FlowStep.JUMP and not (leaves and one.step is not FlowStep.BRANCH):
            follows = last + 1 < len(self._code) and self._code[last + 1].address == one.end
            found += [int(self._block[last + 1])] if follows else []
            leaves = leaves or not follows
        return list(dict.fromkeys(found)), leaves

    @cached_property
    def can_return(self) -> bool:
        """Whether a return or a jump to elsewhere can be reached from the entry."""
        lasts = ((block, self._code[self._lasts[block]]) for block in reached(self._successors, 0))
        return any(
            (one.step is FlowStep.STOP and not one.trap)
            or (self._leaves[block] and one.step in (FlowStep.JUMP, FlowStep.BRANCH))
            for block, one in lasts
        )

    def flow(self, entry: int) -> Flow:
        code = self._code
        return Flow(
            entry=entry,
            address=np.array([one.address for one in code], np.uint64),
            size=np.array([one.size for one in code], np.int32),
            kind=np.array([self._kind(row) for row in range(len(code))], np.int8),
            memory=np.array([one.memory for one in code], np.int8),
            target=np.array([self._called(one) for one in code], np.int64),
            block=self._block.astype(np.int32),
            first=np.array(self._first, np.int32),
            successors=self._successors,
            leaves=self._leaves,
            dies=[code[last].address in self._ends or code[last].trap for last in self._lasts],
            may_follow=self._all_ways(),
            unresolved=self.unresolved,
        )

    def _all_ways(self) -> list[list[int]]:
        """Successors that miss no way: a jump through an unknown table may go anywhere, and what nothing leads to, such
        as a handler of exceptions, may be entered from anywhere."""
        ways = [list(to) for to in self._successors]
        everywhere = list(range(len(ways)))
        for block, row in enumerate(self._lasts):
            if self._tables.get(self._code[row].address) == []:
                ways[block] = everywhere
        led_to = {0, *(to for following in ways for to in following)}
        ways[0] += [block for block in everywhere if block not in led_to]
        return ways

    def _called(self, one: FlowInstruction) -> int:
        leaves = one.step is FlowStep.CALL or (one.step is not FlowStep.NEXT and one.target not in self._row)
        return one.target if leaves and one.target is not None else -1

    def _kind(self, row: int) -> SiteKind:
        one = self._code[row]
        if one.step is FlowStep.NEXT:
            return SiteKind.PLAIN
        if one.step is FlowStep.CALL:
            return SiteKind.CALL
        if one.step is FlowStep.STOP:
            return SiteKind.RETURN
        block = int(self._block[row])
        if len(self._successors[block]) + self._leaves[block] > 1:
            return SiteKind.BRANCH
        return SiteKind.JUMP if self._successors[block] else SiteKind.TAIL_CALL
