"""Backwards within one function: whose result a place holds, and which comparisons decide that code runs.

Copies between registers, spills to the stack and reloads are looked through, so that what is found are the instructions
that made a value: a constant, a load, a computation, a choice by flags, a call's result, or the function's argument.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from whyperf.debuginfo.machines.machine import FlowStep
from whyperf.debuginfo.machines.operations import Does, Effect, Immediate, Memory, Operand, Operation
from whyperf.debuginfo.slices.definitions import FLAGS, Definition, DefinitionKind, Input, Location, StackSlot
from whyperf.debuginfo.slices.function import SlicedFunction, SlicedInstruction

_MOST_STEPS = 40_000
_MOST_SITES = 40
_KINDS = {
    Does.SET_BY_FLAGS: DefinitionKind.SELECT,
    Does.CHOOSE: DefinitionKind.SELECT,
    Does.CHOOSE_COMPUTED: DefinitionKind.SELECT,
    Does.CLEAR: DefinitionKind.CONSTANT,
}
_BY_FLAGS = (Does.SET_BY_FLAGS, Does.CHOOSE, Does.CHOOSE_COMPUTED, Does.COMPARE_TOO)


class _State(NamedTuple):
    row: int
    location: Location
    reload: int | None
    """Row of the load by which the stack was read that is looked at."""


class Slicer:
    """Answers are kept."""

    def __init__(self, function: SlicedFunction, keeps: Callable[[SlicedInstruction, int], bool]) -> None:
        """`keeps`: whether a call leaves a register alone that calls may change."""
        self.function, self._keeps = function, keeps
        self._found: dict[tuple[int, Location], tuple[Definition, ...]] = {}

    def definitions(self, address: int, location: Location) -> tuple[Definition, ...]:
        """Whose results `location` may hold just before the instruction at `address`."""
        if (address, location) not in self._found:
            row = self.function.row.get(address)
            found = () if row is None else tuple(dict.fromkeys(self._walk(row, location)))
            self._found[address, location] = found
        return self._found[address, location]

    def made_by(self, address: int) -> tuple[Definition, ...]:
        """What the instruction itself makes: of pairs both, of comparisons one with no target."""
        row = self.function.row[address]
        one = self.function.code[row]
        if one.step is not FlowStep.NEXT:
            tested = self._test_of(row)
            return (tested,) if tested is not None else ()
        return tuple(self._definition(row, effect) for effect in one.operation.effects)

    def stores(self, address: int) -> tuple[Definition, ...]:
        """What the instruction writes to memory, the stack's too."""
        return tuple(one for one in self.made_by(address) if one.kind is DefinitionKind.STORE)

    def returned(self, location: Location) -> tuple[Definition, ...]:
        """What makes the function's result; calls at its end too, whose result it passes on."""
        found: list[Definition] = []
        for one in self.function.code:
            if one.returns:
                found += self.definitions(one.address, location)
            elif self.is_tail_call(one):
                found.append(Definition(one.address, DefinitionKind.RETURNED, location, 8))
        return tuple(dict.fromkeys(found))

    def is_tail_call(self, one: SlicedInstruction) -> bool:
        if one.step is not FlowStep.JUMP:
            return False
        block = self.function.block(one.address)
        return one.target not in self.function.row and not self.function.flow.successors[block]

    def deciders(self, address: int) -> tuple[Definition, ...]:
        """Comparisons by which the branches are taken that decide whether an instruction runs; the nearest first."""
        block = self.function.block(address)
        found: list[Definition] = []
        for branch in sorted(self.function.depends[block], key=lambda one: abs(one - block)):
            found += self.tests(self.function.last_of(branch).address)
        return tuple(dict.fromkeys(found))

    def tests(self, address: int) -> tuple[Definition, ...]:
        """The comparisons that decide where the branch at an address leads."""
        own = self._test_of(self.function.row[address])
        return (own,) if own is not None else self.definitions(address, FLAGS)

    def is_set(self, address: int, register: int) -> bool:
        """Whether instructions set a register on all ways to an address since the last call, or since the entry."""
        function = self.function
        work, seen = [function.row[address]], set[int]()
        while work:
            row = work.pop()
            if row in seen:
                continue
            seen.add(row)
            all_before = function.before(row)
            if not all_before or function.code[row].address == function.entry:
                return False
            for before in all_before:
                one = function.code[before]
                if one.step is FlowStep.CALL:
                    return False
                if all(effect.target != register for effect in one.operation.effects):
                    work.append(before)
        return True

    def closure(self, start: Iterable[Definition], most: int = _MOST_SITES) -> tuple[Definition, ...]:
        """What the inputs of the definitions come from, and what decides between several, the nearest first."""
        found: dict[Definition, None] = {}
        work = deque(dict.fromkeys(start))
        while work and len(found) < most:
            one = work.popleft()
            if one in found:
                continue
            found[one] = None
            work += self.sources(one)
        return tuple(found)

    def sources(self, one: Definition) -> Iterator[Definition]:
        """What the inputs and the address of a definition are made by, and what decides where there is a choice."""
        if one.kind in (DefinitionKind.ARGUMENT, DefinitionKind.UNKNOWN):
            return
        if one.kind is not DefinitionKind.RETURNED:
            for location in (*(each.location for each in one.inputs), *self.address_registers(one)):
                made = self.definitions(one.address, location)
                yield from made
                if len(made) > 1:
                    for each in made:
                        if each.kind is not DefinitionKind.ARGUMENT:
                            yield from self.deciders(each.address)
        if one.kind in (DefinitionKind.CONSTANT, DefinitionKind.SELECT, DefinitionKind.RETURNED):
            yield from self.deciders(one.address)

    def address_registers(self, one: Definition) -> tuple[int, ...]:
        """Registers of the address that is read, without those of the stack."""
        if not one.reads_memory:
            return ()
        own = (self.function.registers.stack, self.function.registers.frame)
        fixed = self.function.frame_depth is not None
        return tuple(each for each in one.of_address if each != own[0] and not (fixed and each == own[1]))

    def _walk(self, row: int, location: Location) -> Iterator[Definition]:
        function = self.function
        work, seen = [_State(row, location, None)], set[_State]()
        while work and len(seen) < _MOST_STEPS:
            state = work.pop()
            if state in seen:
                continue
            seen.add(state)
            state = self._where_it_may_change(state)
            if function.code[state.row].address == function.entry:
                yield self._at_entry(state.location)
            for before in function.before(state.row):
                step = self._step(before, state)
                if isinstance(step, Definition):
                    yield step
                else:
                    work.append(step)

    def _where_it_may_change(self, state: _State) -> _State:
        """Where its block begins, if nothing in that changes a register."""
        if isinstance(state.location, StackSlot):
            return state
        block = int(self.function.flow.block[state.row])
        if state.location in self.function.changed_in(block):
            return state
        return state._replace(row=int(self.function.flow.first[block]))

    def _at_entry(self, location: Location) -> Definition:
        registers = self.function.registers
        passed = any(location in kind for kind in registers.arguments) or location == registers.indirect_result
        on_stack = isinstance(location, StackSlot) and location.offset >= 0
        kind = DefinitionKind.ARGUMENT if passed or on_stack else DefinitionKind.UNKNOWN
        return Definition(self.function.entry, kind, location, location.size if isinstance(location, StackSlot) else 8)

    def _step(self, row: int, state: _State) -> _State | Definition:
        """One instruction further back: the definition, or what to look for before it."""
        one, location = self.function.code[row], state.location
        if isinstance(location, StackSlot):
            return self._step_in_stack(row, state, location)
        if one.step is FlowStep.CALL:
            registers = self.function.registers
            if location == FLAGS or (location in registers.lost_in_calls and not self._keeps(one, location)):
                kind = DefinitionKind.RETURNED if location in registers.results else DefinitionKind.UNKNOWN
                return Definition(one.address, kind, location, 8)
        elif one.step is FlowStep.NEXT:
            if location == FLAGS:
                test = self._test_of(row)
                return test if test is not None else _State(row, location, state.reload)
            for effect in one.operation.effects:
                if effect.target == location:
                    return self._made(row, effect, state)
        return _State(row, location, state.reload)

    def _step_in_stack(self, row: int, state: _State, wanted: StackSlot) -> _State | Definition:
        function, one = self.function, self.function.code[row]
        shared = function.is_shared(wanted)
        if one.step is FlowStep.CALL and shared:
            return self._loaded_at(state, row, wanted)
        if one.step is not FlowStep.NEXT:
            return _State(row, wanted, state.reload)
        for effect in one.operation.effects:
            if not isinstance(effect.target, Memory):
                continue
            slot = function.slot(row, effect.target)
            if slot is None:
                if shared and not effect.target.by_instruction:
                    return self._loaded_at(state, row, wanted)
                continue
            if slot.offset == wanted.offset and slot.size >= wanted.size:
                return self._made(row, effect, state)
            if slot.offset < wanted.offset + wanted.size and wanted.offset < slot.offset + slot.size:
                return self._definition(row, effect)
        return _State(row, wanted, state.reload)

    def _loaded_at(self, state: _State, row: int, wanted: StackSlot) -> Definition:
        """What is on the stack may have been changed by others: the load itself is the definition."""
        if state.reload is not None:
            for effect in self.function.code[state.reload].operation.effects:
                if any(self.function.slot(state.reload, source) == wanted for source in effect.sources):
                    return self._definition(state.reload, effect)
        return Definition(self.function.code[row].address, DefinitionKind.UNKNOWN, wanted, wanted.size)

    def _made(self, row: int, effect: Effect, state: _State) -> _State | Definition:
        if effect.does is Does.COPY and len(effect.sources) == 1:
            source = effect.sources[0]
            if isinstance(source, int) and source != self.function.registers.stack:
                return _State(row, source, state.reload)
            slot = self.function.slot(row, source)
            if slot is not None and slot.size:
                return _State(row, slot, row)
        return self._definition(row, effect)

    def _definition(self, row: int, effect: Effect) -> Definition:
        function, one = self.function, self.function.code[row]
        operation, target = one.operation, effect.target
        if effect.does in (Does.COMPARE, Does.COMPARE_TOO):
            return self._comparing(row, effect.sources, effect.does is Does.COMPARE_TOO)
        if effect.does is Does.TAKE_ADDRESS:
            made = effect.sources[0]
            registers = dict.fromkeys(made.registers) if isinstance(made, Memory) else ()
            inputs = tuple(Input(each, effect.size or 8) for each in registers)
            own = (function.registers.stack, function.registers.frame if function.frame_depth is not None else -2)
            inputs = tuple(each for each in inputs if each.location not in own)
            kind = DefinitionKind.COMPUTE if inputs else DefinitionKind.CONSTANT
            return Definition(one.address, kind, _location(target), effect.size or 8, inputs)
        sources = () if effect.does in (Does.CLEAR, Does.SET_BY_FLAGS) else effect.sources
        inputs = tuple(each for each in _inputs(operation, sources) if each.location != function.registers.stack)
        if effect.does in _BY_FLAGS:
            inputs = (*inputs, Input(FLAGS, 8))
        read = next((each for each in sources if isinstance(each, Memory)), None)
        if isinstance(target, Memory):
            memory = function.operand(row, target)
            return Definition(
                one.address, DefinitionKind.STORE, None, target.size, inputs, memory, reads_memory=read == target
            )
        memory = function.operand(row, read) if read is not None else None
        kind = _KINDS.get(effect.does, DefinitionKind.COMPUTE)
        if _is_unknown(sources):
            kind = DefinitionKind.UNKNOWN
        elif kind is DefinitionKind.COMPUTE and read is not None and effect.does is Does.COPY:
            kind = DefinitionKind.LOAD
        elif kind is DefinitionKind.COMPUTE and read is None and not inputs:
            kind = DefinitionKind.CONSTANT
        elif one.mnemonic == "movk":
            kind, inputs = DefinitionKind.CONSTANT, ()
        size = effect.size or _size_of(operation, target)
        return Definition(
            one.address,
            kind,
            _location(target),
            size,
            inputs,
            memory,
            reads_memory=read is not None,
            joins=effect.does is Does.JOIN,
        )

    def _test_of(self, row: int) -> Definition | None:
        """The comparison that an instruction makes; None: it makes none."""
        one = self.function.code[row]
        operation = one.operation
        if one.step is FlowStep.BRANCH:
            return self._comparing(row, operation.tested, False) if operation.tested else None
        if one.step is FlowStep.JUMP and one.target is None and not self.is_tail_call(one):
            return self._comparing(row, operation.operands, False)
        if one.step is not FlowStep.NEXT:
            return None
        for effect in operation.effects:
            if effect.does in (Does.COMPARE, Does.COMPARE_TOO):
                return self._comparing(row, effect.sources, effect.does is Does.COMPARE_TOO)
        if operation.sets_flags and operation.effects:
            return self._comparing(row, operation.effects[0].sources, False)
        return None

    def _comparing(self, row: int, sources: tuple[Operand, ...], too: bool) -> Definition:
        one = self.function.code[row]
        read = next((each for each in sources if isinstance(each, Memory)), None)
        inputs = _inputs(one.operation, tuple(dict.fromkeys(sources)))
        memory = self.function.operand(row, read) if read is not None else None
        flags = (Input(FLAGS, 8),) if too else ()
        size = max((each.size for each in inputs), default=memory.size if memory is not None else 8)
        return Definition(
            one.address, DefinitionKind.TEST, None, size, (*inputs, *flags), memory, reads_memory=read is not None
        )


def _location(operand: Operand) -> int | None:
    return operand if isinstance(operand, int) else None


def _inputs(operation: Operation, sources: tuple[Operand, ...]) -> tuple[Input, ...]:
    registers = dict.fromkeys(each for each in sources if isinstance(each, int))
    return tuple(Input(each, _size_of(operation, each)) for each in registers)


def _size_of(operation: Operation, register: Operand) -> int:
    """As the last operand says that is this register."""
    named = zip(reversed(operation.operands), reversed(operation.sizes), strict=False)
    return next((size for operand, size in named if operand == register and size), 8)


def _is_unknown(sources: tuple[Operand, ...]) -> bool:
    """Whether an instruction reads what is not understood, and nothing that is."""
    known = any(isinstance(each, (int, Memory, Immediate)) for each in sources)
    return bool(sources) and not known
