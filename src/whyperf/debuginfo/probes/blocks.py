"""Plans by which a program notes its basic blocks and which ways its conditional jumps go: a trap where each block
begins, and at jumps whose ways the blocks do not tell.

A block begins where a function does, where a jump leads, and behind a conditional jump. It shows that a jump led there
if nothing else leads there. Only functions with lines get traps: others could not be shown, and what was not compiled
may hold data. A function that is not understood gets none: its instructions must end where it does, and whatever leads
into it must meet one. Nor does what nothing is known to lead to, as behind a jump: that may be data, too.
"""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntFlag

import numpy as np
import numpy.typing as npt

from whyperf.debuginfo.basic_blocks.block_ends import branching_of
from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.image import Image
from whyperf.debuginfo.machines import AARCH64, X86_64
from whyperf.debuginfo.machines.machine import FlowStep, Machine
from whyperf.debuginfo.machines.x86_64.control import is_conditional
from whyperf.debuginfo.probes.plan_file import INCREMENT, OLD_BYTES, PATCH, SITE, PatchKind, PatchPlan, PlanFlags
from whyperf.debuginfo.probes.stretches import Stretch, bodies_of
from whyperf.recording.schemas.call_tables import NotCounted

_ADDRESS_END = 1 << 31
_CALLED_AT_TRAPS = ("syscall", "mprotect", "memcpy", "memmove", "memset", "memcmp", "__errno_location")
"""By those who take traps out: a program that has its own gets none in them."""
_BREAKPOINTS = frozenset({"int1", "int3", "brk"})
"""Of the program itself: they raise the signal that our traps raise, so that it could not be told whose one was met."""
_STUB_BYTES = 16  # that nobody runs: a plan has stubs
_TRAP_BYTES = {X86_64: 1, AARCH64: 4}


class Ways(IntFlag):
    """Of a conditional jump; native/blocks/ways.h has the same numbers."""

    TAKEN = 1
    PASSED = 2


@dataclass(frozen=True)
class ConditionalJump:
    address: int
    taken: int
    """The block that it leads to."""
    passed: int
    """The block behind it."""
    asked: Ways
    """What its own trap tells. Of the others, the blocks tell."""


def plan_blocks(binary: Binary) -> PatchPlan | None:
    """None for what has no code, no build-id, or code of another machine."""
    elf, machine = binary.elf, binary.machine
    if elf is None or machine not in _TRAP_BYTES or not elf.build_id:
        return None
    image = Image(elf)
    read = _understood([_read(machine, image, body) for body in _apart(binary)])
    size = _TRAP_BYTES[machine]
    from_elsewhere = sorted({at for one in read for at in one.targets if not one.holds(at)})
    led = [_led(one, from_elsewhere) for one in read]
    leaders = _leaders(read, led)
    jumps = list(_conditional(machine, image, read, led, leaders))
    traps = dict.fromkeys(leaders, (size, Ways(0)))
    traps |= {one.address: (one.passed - one.address, one.asked) for one in jumps if one.asked}
    patches = [
        (address, asked, of, PatchKind.TRAP, image.read(address, of).ljust(OLD_BYTES, b"\0"))
        for address, (of, asked) in sorted(traps.items())
    ]
    sites = [(one.address, -1, one.taken, one.passed, one.asked, NotCounted.COUNTED, 0) for one in jumps]
    return PatchPlan(
        elf.build_id,
        elf.machine,
        PlanFlags.HAS_TRAPS,
        np.array(patches, PATCH),
        np.zeros(0, np.uint32),
        np.zeros(0, INCREMENT),
        bytes(_STUB_BYTES),
        np.array(sites, SITE),
    )


def _apart(binary: Binary) -> Iterator[Stretch]:
    """In order of their addresses."""
    ours = {at for name in _CALLED_AT_TRAPS for row in binary.function_at(name) for at in binary.entry_addresses(row)}
    end = 0
    for body in sorted(bodies_of(binary), key=lambda one: (one.low, one.high)):
        if end <= body.low < body.high < _ADDRESS_END and body.low not in ours:
            yield body
            end = body.high


_Addresses = npt.NDArray[np.int64]
_Jump = tuple[int, int, int | None, FlowStep]
"""Address, end and target."""


@dataclass(frozen=True, eq=False)
class _Code:
    stretch: Stretch
    starts: _Addresses  # of instructions; none: not understood
    breakpoints: frozenset[int]
    targets: list[int]  # of direct jumps and calls
    jumps: list[_Jump]

    def holds(self, address: int) -> bool:
        return self.stretch.low <= address < self.stretch.high

    @property
    def has_table(self) -> bool:
        return any(target is None and step is FlowStep.JUMP for _, _, target, step in self.jumps)


def _read(machine: Machine, image: Image, stretch: Stretch) -> _Code:
    size = stretch.high - stretch.low
    content = image.read(stretch.low, size)
    rows = list(machine.rows(content, stretch.low))
    is_whole = len(content) == size and sum(row[1] for row in rows) == size
    if not is_whole or any(row[2] == ".byte" for row in rows):
        rows = []
    jumps, targets = [], []
    for row in rows:
        found = branching_of(machine, row)
        if found is None:
            continue
        if found.target is not None:
            targets.append(found.target)
        if not found.is_call:
            jumps.append((found.start, found.end, found.target, machine.step(row[2])))
    breakpoints = frozenset(row[0] for row in rows if row[2] in _BREAKPOINTS)
    return _Code(stretch, np.array([row[0] for row in rows], np.int64), breakpoints, targets, jumps)


def _understood(read: list[_Code]) -> list[_Code]:
    """Without stretches that something leads into where no instruction was found to begin."""
    lows = [one.stretch.low for one in read]
    wrong = set()
    targets = set[int]().union(*(one.targets for one in read))
    for target in targets - _at_instructions(read, targets):
        row = bisect.bisect_right(lows, target) - 1
        if row >= 0 and read[row].holds(target):
            wrong.add(row)
    return [one for row, one in enumerate(read) if len(one.starts) and row not in wrong]


def _at_instructions(read: list[_Code], addresses: set[int]) -> set[int]:
    """Those at which one begins."""
    wanted = np.array(sorted(addresses), np.int64)
    every = np.concatenate([np.zeros(0, np.int64), *(one.starts for one in read)])
    return {*wanted[np.isin(wanted, every, assume_unique=True)].tolist()}


@dataclass(frozen=True, eq=False)
class _Led:
    """What something leads to."""

    begins: set[int]  # of blocks
    jumps: list[_Jump]


def _led(one: _Code, from_elsewhere: Sequence[int]) -> _Led:
    """`from_elsewhere`: targets of other functions' jumps and calls, in order."""
    low, high = one.stretch.low, one.stretch.high
    entered = {low, *from_elsewhere[bisect.bisect_left(from_elsewhere, low) : bisect.bisect_left(from_elsewhere, high)]}
    targets = {target for target in one.targets if one.holds(target)}
    if one.has_table:  # that leads anywhere
        behind = (end for _, end, _, step in one.jumps if step is FlowStep.BRANCH)
        return _Led({*entered, *targets, *behind}, one.jumps)
    ending = {jump[1]: jump for jump in one.jumps}
    begins = sorted({*entered, *targets, *ending, high})
    found, jumps, todo = set[int](), list[_Jump](), [*entered]
    while todo:
        at = todo.pop()
        if at in found or not one.holds(at):
            continue
        found.add(at)
        end = begins[bisect.bisect_right(begins, at)]
        jump = ending.get(end)
        if jump is not None:
            jumps.append(jump)
            todo += [] if jump[2] is None else [jump[2]]
        if jump is None or jump[3] is FlowStep.BRANCH:
            todo.append(end)
    return _Led(found, jumps)


def _leaders(read: list[_Code], led: list[_Led]) -> set[int]:
    found = _at_instructions(read, set[int]().union(*(one.begins for one in led)))
    return found.difference(*(one.breakpoints for one in read))


def _conditional(
    machine: Machine, image: Image, read: list[_Code], led: list[_Led], leaders: set[int]
) -> Iterator[ConditionalJump]:
    ways_to = Counter(target for one in read for target in one.targets)
    apart = _apart_from_before(read)
    for one, known in zip(read, led, strict=True):
        has_table = one.has_table
        for address, end, target, step in sorted(known.jumps, key=lambda jump: jump[0]):
            if step is not FlowStep.BRANCH or target is None or not {target, end} <= leaders:
                continue
            if machine is X86_64 and not is_conditional(image.read(address, end - address)):
                continue  # on a counter
            asked = Ways(0)
            if target not in apart or ways_to[target] > 1:
                asked |= Ways.TAKEN
            if has_table or ways_to[end]:
                asked |= Ways.PASSED
            yield ConditionalJump(address, target, end, asked)


def _apart_from_before(read: list[_Code]) -> set[int]:
    """Where only direct jumps lead."""
    leaving = (FlowStep.JUMP, FlowStep.STOP)
    found = {end for one in read if not one.has_table for _, end, _, step in one.jumps if step in leaving}
    return found.difference(one.stretch.low for one in read)
