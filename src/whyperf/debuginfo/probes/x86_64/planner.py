"""Plans how calls of x86-64 code are counted.

Two classes of changes. Where a call or jump by a 32-bit distance, or through a pointer that is found relative to it,
has room for a call or jump to a stub, nothing but itself is replaced. Elsewhere instructions are moved to the stub as
well: only those that `moving` vouches for, and only where nothing can be entered between them.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence

import numpy as np

from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.image import Image
from whyperf.debuginfo.machines.machine import Row
from whyperf.debuginfo.machines.x86_64.control import instructions
from whyperf.debuginfo.probes.plan_file import OLD_BYTES, PlanFlags, Planned
from whyperf.debuginfo.probes.stretches import bodies_of
from whyperf.debuginfo.probes.survey import split_off_parts, tail_jumps
from whyperf.debuginfo.probes.x86_64.entries import entry_run
from whyperf.debuginfo.probes.x86_64.flags import flags_are_used
from whyperf.debuginfo.probes.x86_64.moving import MovedInstruction, movable, pointer_jump
from whyperf.debuginfo.probes.x86_64.stubs import IntelPlanBuilder
from whyperf.debuginfo.probes.x86_64.survey import Iterating, X86Function, X86Leaving, survey
from whyperf.recording.schemas.call_tables import CallKind, NotCounted

_JUMP_BYTES = 5
_CALL_CODE, _JUMP_CODE = 0xE8, 0xE9
_CONDITIONAL_CODE = range(0x80, 0x90)  # behind 0x0F
_ENTRY_BYTES = 96  # of a function that is looked at for its use of flags
_SHORT_JUMPS = frozenset({0xEB, *range(0x70, 0x80)})


def planned(binary: Binary, image: Image, kinds: frozenset[CallKind], looped: frozenset[int]) -> Planned:
    """`looped`: functions whose iterations are counted whatever `kinds` says."""
    return _Planner(binary, image, kinds, looped).plan()


class _Planner:
    def __init__(self, binary: Binary, image: Image, kinds: frozenset[CallKind], looped: frozenset[int]) -> None:
        assert binary.elf is not None
        self._binary, self._elf, self._image, self._kinds = binary, binary.elf, image, kinds
        self._survey = survey(
            binary.elf, image, bodies_of(binary), with_loops=CallKind.ITERATION in kinds, looped=looped
        )
        # Signed, as the numbers that are looked up: else numpy would convert all of them at every look.
        self._entered = self._survey.entered.astype(np.int64)
        self._parts = frozenset(split_off_parts(self._survey.functions, self._survey.pointed))
        self._builder = IntelPlanBuilder()
        self._moved: list[tuple[int, int]] = []
        """Ends of what was moved, in order of addresses."""
        self._reads_flags: dict[int, bool] = {}

    def plan(self) -> Planned:
        tails = tail_jumps(self._binary, self._survey.functions, self._parts)
        for function in self._survey.functions:
            for leaving in function.leaving:
                self._leaving(function, leaving, tails)
        for function in self._survey.functions:
            for target in dict.fromkeys(one.target for one in function.iterating):
                self._loop(function, [one for one in function.iterating if one.target == target])
        pointed = self._survey.pointed - self._parts
        for function in self._survey.functions:
            if function.stretch.low in pointed:
                self._entry(function)
        flags = PlanFlags.TAKES_REGISTER if self._survey.uses_gs else PlanFlags.NONE
        made = self._builder.plan(self._elf.build_id, flags)
        return Planned(made, len(self._survey.functions), len(self._survey.not_understood))

    def _leaving(self, function: X86Function, leaving: X86Leaving, tails: set[tuple[int, int]]) -> None:
        if leaving.target is None:
            kind = CallKind.POINTER if leaving.is_call else CallKind.POINTER_TAIL
            if kind in self._kinds:
                self._by_pointer(kind, function, leaving)
            return
        kind = CallKind.CALL if leaving.is_call else CallKind.TAIL
        if kind not in self._kinds or (not leaving.is_call and (leaving.address, leaving.target) not in tails):
            return
        content = function.bytes_of(leaving.address, leaving.size)
        reason = NotCounted.COUNTED
        if not _goes_by_distance(content):
            reason = NotCounted.TOO_SHORT
        elif leaving.flags_used or self._entry_reads_flags(leaving.target):
            reason = NotCounted.FLAGS
        low = function.stretch.low
        if reason:
            self._builder.left_alone(kind, leaving.address, low, leaving.target, reason)
        else:
            self._builder.through(kind, leaving.address, low, leaving.target, content)

    def _entry_reads_flags(self, target: int) -> bool:
        if target not in self._reads_flags:
            content = self._image.read(target, _ENTRY_BYTES)
            self._reads_flags[target] = flags_are_used(row[2] for row in instructions(content, target))
        return self._reads_flags[target]

    def _by_pointer(self, kind: CallKind, function: X86Function, leaving: X86Leaving) -> None:
        is_call = kind is CallKind.POINTER
        content = function.bytes_of(leaving.address, leaving.size)
        last = pointer_jump(leaving.address, content, is_call=is_call)
        imported = isinstance(last, MovedInstruction) and last.near in self._image.imports
        if not is_call and not imported:
            return  # perhaps a jump within the function, and if not, the entry counts
        run: list[MovedInstruction] | NotCounted
        if leaving.flags_used:
            run = NotCounted.FLAGS
        elif isinstance(last, NotCounted):
            run = last
        else:
            run = self._run_before(function, leaving, last)
        if isinstance(run, NotCounted):
            self._builder.left_alone(kind, leaving.address, function.stretch.low, -1, run)
        else:
            self._builder.by_pointer(kind, function.stretch.low, run)
            self._note_moved(run[0].address, leaving.address + leaving.size)

    def _run_before(
        self, function: X86Function, leaving: X86Leaving, last: MovedInstruction
    ) -> list[MovedInstruction] | NotCounted:
        """The call and as much before it as makes room."""
        end = leaving.address + leaving.size
        run = self._moved_before(function, leaving.before, end, [last], stack_is_lower=True)
        if isinstance(run, NotCounted):
            return run
        if not _JUMP_BYTES <= end - run[0].address <= OLD_BYTES:
            return NotCounted.TOO_SHORT
        if len(run) > 1 and not function.movable:
            return NotCounted.ENTERED
        return self._apart(run, end)

    def _loop(self, function: X86Function, edges: Sequence[Iterating]) -> None:
        """All jumps back to the beginning of a loop, or none."""
        low = function.stretch.low
        runs = [self._iteration_run(function, edge) for edge in edges]
        whole = not any(isinstance(run, NotCounted) for run in runs)
        for edge, run in zip(edges, runs, strict=True):
            content = function.bytes_of(edge.address, edge.size)
            if isinstance(run, NotCounted) or not whole:
                reason = run if isinstance(run, NotCounted) else NotCounted.OTHER_EDGE
                self._builder.left_alone(CallKind.ITERATION, edge.address, low, edge.target, reason)
            elif run:
                self._builder.iteration(low, run, edge.address, edge.target, content)
                self._note_moved(run[0].address, edge.address + edge.size)
            else:
                self._builder.through(CallKind.ITERATION, edge.address, low, edge.target, content)

    def _iteration_run(self, function: X86Function, edge: Iterating) -> list[MovedInstruction] | NotCounted:
        """What must be moved with the jump: nothing if it goes by a distance."""
        content = function.bytes_of(edge.address, edge.size)
        if not edge.is_whole:
            return NotCounted.NO_JUMP
        if edge.flags_used:
            return NotCounted.FLAGS
        return [] if _goes_by_distance(content) else self._run_before_short_jump(function, edge, content)

    def _run_before_short_jump(
        self, function: X86Function, iterating: Iterating, content: bytes
    ) -> list[MovedInstruction] | NotCounted:
        if content[0] not in _SHORT_JUMPS:
            return NotCounted.NOT_MOVABLE
        if not function.movable:
            return NotCounted.ENTERED
        end = iterating.address + iterating.size
        run = self._moved_before(function, iterating.before, end, [], stack_is_lower=False)
        if isinstance(run, NotCounted):
            return run
        if not run or not _JUMP_BYTES <= end - run[0].address <= OLD_BYTES:
            return NotCounted.TOO_SHORT
        return self._apart(run, end)

    def _moved_before(
        self,
        function: X86Function,
        before: Sequence[Row],
        end: int,
        run: list[MovedInstruction],
        *,
        stack_is_lower: bool,
    ) -> list[MovedInstruction] | NotCounted:
        """`run`, with as much before it as makes room up to `end`."""
        for address, size, _, _ in reversed(before):
            if run and end - run[0].address >= _JUMP_BYTES:
                break
            one = movable(address, function.bytes_of(address, size), stack_is_lower=stack_is_lower)
            if isinstance(one, NotCounted):
                return one
            run = [one, *run]
        return run

    def _entry(self, function: X86Function) -> None:
        if CallKind.ENTRY not in self._kinds:
            return
        run = self._entry_run(function)
        if isinstance(run, NotCounted):
            self._builder.left_alone(CallKind.ENTRY, function.stretch.low, function.stretch.low, -1, run)
        else:
            self._builder.entry(function.stretch.low, run)
            self._note_moved(run[0].address, run[-1].address + len(run[-1].content))

    def _entry_run(self, function: X86Function) -> list[MovedInstruction] | NotCounted:
        run = entry_run(function)
        if isinstance(run, NotCounted):
            return run
        if self._survey.jumped_to.intersection((function.stretch.low, run[0].address)):
            return NotCounted.REPEATED
        return self._apart(run, run[-1].address + len(run[-1].content))

    def _apart(self, run: list[MovedInstruction], end: int) -> list[MovedInstruction] | NotCounted:
        """The run, if nothing enters what is replaced up to `end` behind its start, and nothing else replaces it."""
        low = run[0].address
        at = bisect.bisect_right(self._moved, (low, end))
        beside = self._moved[max(0, at - 1) : at + 1]
        if self._is_entered_within(low, end) or any(start < end and high > low for start, high in beside):
            return NotCounted.ENTERED
        return run

    def _note_moved(self, low: int, high: int) -> None:
        bisect.insort(self._moved, (low, high))

    def _is_entered_within(self, low: int, high: int) -> bool:
        """Behind the first byte."""
        first, last = np.searchsorted(self._entered, [low + 1, high])
        return bool(first < last)


def _goes_by_distance(content: bytes) -> bool:
    """Whether a call's or jump's last four bytes are its distance."""
    if len(content) < _JUMP_BYTES:
        return False
    if content[-5] in (_CALL_CODE, _JUMP_CODE):
        return True
    return len(content) >= 6 and content[-6] == 0x0F and content[-5] in _CONDITIONAL_CODE
