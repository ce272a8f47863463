"""What machine code does with variables, where there is no source: compared before a branch, passed to a call, stepped
by a loop that asks for it.

Values are followed within basic blocks: a register holds what debug information says, and what was computed from
variables since. A loop is whatever a jump backwards repeats. Code of an inlined function says nothing about the
variables around it, except that those were arguments which are where its parameters are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from whyperf.debuginfo.machines import Machine
from whyperf.debuginfo.machines.machine import FlowStep, Registers
from whyperf.debuginfo.machines.operations import Does, Effect, Memory, Operand, Operation
from whyperf.debuginfo.variable_tables.locations import Located, VariablePlaces

Use = Literal["loop", "condition", "argument"]
Held = dict[int, bool]
"""Variables from which a value was made, and whether anything was done to them on the way."""

_NOTHING: Held = {}
_GLOBAL = -1


@dataclass(frozen=True)
class UsingInstruction:
    address: int
    end: int
    step: FlowStep
    returns: bool
    target: int | None
    """Of a direct jump or call."""
    operation: Operation

    @property
    def jumps(self) -> bool:
        return self.step in (FlowStep.JUMP, FlowStep.BRANCH)


def uses_in(
    machine: Machine, located: Located, parts: list[tuple[int, bytes]], function_at: Callable[[int], int]
) -> Mapping[int, set[Use]]:
    """By number of the table's variables. `parts`: addresses and bytes of one function, that with its entry first.
    `function_at`: the innermost function at an address, numbered as in the table."""
    reader = _Reader(machine.registers, located, function_at)
    for address, content in parts:
        reader.read(list(_instructions(machine, content, address)))
    return reader.found


def _instructions(machine: Machine, content: bytes, address: int) -> Iterator[UsingInstruction]:
    for start, size, mnemonic, operands in machine.decoded(content, address).rows:
        step, end = machine.step(mnemonic), start + size
        target = None if step in (FlowStep.NEXT, FlowStep.STOP) else machine.direct_target(operands)
        returns = step is FlowStep.STOP and not machine.is_trap(mnemonic)
        yield UsingInstruction(start, end, step, returns, target, machine.operation(mnemonic, operands, end))


@dataclass
class _Reader:
    registers: Registers
    located: Located
    function_at: Callable[[int], int]
    found: defaultdict[int, set[Use]] = field(default_factory=lambda: defaultdict(set))
    _held: dict[int, Held] = field(default_factory=dict)
    _written: set[int] = field(default_factory=set)
    _flags: Held = field(default_factory=dict)
    _depth: int = 0
    """Of the stack below the CFA."""
    _deepest: int = 0
    _frame: int | None = None
    """How far below the CFA the frame pointer is, where it is one."""

    def __post_init__(self) -> None:
        self._depth = self._deepest = self.registers.depth_at_entry

    def read(self, code: list[UsingInstruction]) -> None:
        starts = {one.target for one in code if one.jumps}
        asked: list[tuple[int, Held]] = []
        stepped: list[tuple[int, int]] = []
        self._begin_block()
        for one in code:
            if one.address in starts:
                self._begin_block()
            here = self.located.at(one.address)
            self._mark_all("argument", here.passed)
            stepped += ((one.address, variable) for variable in self._arrived(one, here))
            leaves = one.target is not None and not code[0].address <= one.target < code[-1].end
            if one.step is FlowStep.CALL or (one.step is FlowStep.JUMP and leaves):
                for register in self._passed_in(one.target):
                    self._mark("argument", self._of_register(register, here), one)
                self._after_call()
            elif one.step is FlowStep.BRANCH:
                tested = one.operation.tested
                held = _joined(*(self._value(operand, one, here) for operand in tested)) if tested else self._flags
                self._mark("condition", held, one)
                asked.append((one.address, held))
            elif one.step is FlowStep.JUMP:
                self._begin_block()
            else:
                stepped += ((one.address, variable) for variable in self._run(one, here))
        for start, end in _loops(code):
            within = {variable for at, held in asked if start <= at < end for variable in held}
            for at, variable in stepped:
                if start <= at < end and variable in within:
                    self.found[variable].add("loop")

    def _passed_in(self, target: int | None) -> Iterator[int]:
        """Registers with arguments: as many as the callee has parameters; else those set one after the other."""
        passing = self.registers.arguments
        known = None if target is None else self.located.parameters.get(self.function_at(target))
        for registers, count in zip(passing, known or map(len, passing), strict=True):
            for register in registers[:count]:
                if register not in self._written:
                    break
                yield register

    def _begin_block(self) -> None:
        self._held.clear()
        self._flags = _NOTHING

    def _after_call(self) -> None:
        self._written.clear()
        self._flags = _NOTHING
        for register in self.registers.lost_in_calls:
            self._held[register] = _NOTHING

    def _mark_all(self, use: Use, variables: Collection[int]) -> None:
        for variable in variables:
            self.found[variable].add(use)

    def _mark(self, use: Use, held: Held, one: UsingInstruction) -> None:
        if held:
            function = self.function_at(one.address)
            for variable in held:
                if self.located.owner(variable) in (function, _GLOBAL):
                    self.found[variable].add(use)

    def _run(self, one: UsingInstruction, here: VariablePlaces) -> Iterator[int]:
        """Follows one instruction; the variables that it gives a value made from their old one."""
        self._follow_stack(one)
        made = [self._made(effect, one, here) for effect in one.operation.effects]
        for effect, held in zip(one.operation.effects, made, strict=True):
            if effect.does in (Does.COMPARE, Does.COMPARE_TOO) or one.operation.sets_flags:
                self._flags = held
            if effect.target is not None:
                yield from self._write(effect.target, held, one, here)

    def _made(self, effect: Effect, one: UsingInstruction, here: VariablePlaces) -> Held:
        """From which variables the value is made that an effect has."""
        values = _joined(*(self._value(operand, one, here) for operand in effect.sources))
        if effect.does in (Does.CHOOSE, Does.CHOOSE_COMPUTED):
            self._mark("condition", self._flags, one)
        match effect.does:
            case Does.COMPARE_TOO:
                return _joined(self._flags, values)
            case Does.SET_BY_FLAGS:
                return self._flags
            case Does.TAKE_ADDRESS:
                return self._address(effect.sources[0], one, here)
            case Does.CLEAR:
                return _NOTHING
            case Does.COMPUTE | Does.CHOOSE_COMPUTED | Does.JOIN:
                return dict.fromkeys(values, True)
        return values

    def _arrived(self, one: UsingInstruction, here: VariablePlaces) -> Iterator[int]:
        """Variables whose place is, from here on, a register with a value made from their old one."""
        for register, variables in here.registers.items():
            held = self._held.get(register, _NOTHING)
            for variable in variables:
                if held.get(variable) and self.located.owner(variable) in (self.function_at(one.address), _GLOBAL):
                    held[variable] = False
                    yield variable

    def _write(self, target: Operand, made: Held, one: UsingInstruction, here: VariablePlaces) -> Iterator[int]:
        if isinstance(target, int):  # whose value it is now is known when debug information says so
            self._held[target] = dict(made)
            self._written.add(target)
        for variable in self._at(target, one, here) if isinstance(target, Memory) else ():
            if made.get(variable) and self.located.owner(variable) in (self.function_at(one.address), _GLOBAL):
                yield variable

    def _follow_stack(self, one: UsingInstruction) -> None:
        """By the order of addresses: behind a return the stack is as it is in the body."""
        self._depth += one.operation.grows
        if one.operation.frame is not None:
            frame, usual = self._depth - one.operation.frame, self.registers.depth_of_frame
            self._frame = frame if usual in (None, frame) else None
        elif one.returns:
            self._depth = self._deepest
        self._deepest = max(self._deepest, self._depth)

    def _value(self, operand: Operand, one: UsingInstruction, here: VariablePlaces) -> Held:
        if isinstance(operand, Memory):
            loaded = dict.fromkeys(self._at(operand, one, here), False)
            used = {
                variable: True
                for register in operand.registers
                if register not in (self.registers.frame, self.registers.stack)
                for variable in self._of_register(register, here)
            }
            return used | loaded
        return self._of_register(operand, here) if isinstance(operand, int) else _NOTHING

    def _address(self, operand: Operand, one: UsingInstruction, here: VariablePlaces) -> Held:
        if not isinstance(operand, Memory):
            return _NOTHING
        slots = dict.fromkeys(self._at(operand, one, here), False)
        changed = bool(operand.displacement) or len(operand.registers) > 1
        return slots | {
            variable: changed or before
            for register in operand.registers
            for variable, before in self._of_register(register, here).items()
        }

    def _of_register(self, register: int, here: VariablePlaces) -> Held:
        held = self._held.get(register, _NOTHING)
        located = here.registers.get(register)
        return held | dict.fromkeys(located, False) if located else held

    def _at(self, memory: Memory, one: UsingInstruction, here: VariablePlaces) -> list[int]:
        """The variables that a memory operand is."""
        if memory.by_instruction:
            known = self.located.globals.get(one.end + memory.displacement)
            return [] if known is None else [known]
        if len(memory.registers) != 1:
            return []
        (register,) = memory.registers
        found = here.near.get((register, memory.displacement), [])
        if register == self.registers.frame and self._frame is not None:
            return found + here.slots.get(memory.displacement - self._frame, [])
        if register == self.registers.stack:
            return found + here.slots.get(memory.displacement - self._depth, [])
        return found or self._behind(register, memory.displacement)

    def _behind(self, register: int, displacement: int) -> list[int]:
        """Fields of what a pointer in the register points to, loaded within this block."""
        return [
            field_row
            for variable, changed in self._held.get(register, _NOTHING).items()
            if not changed and (field_row := self.located.fields.get((variable, displacement))) is not None
        ]


def _joined(*values: Held) -> Held:
    joined: Held = {}
    for held in values:
        for variable, changed in held.items():
            joined[variable] = joined.get(variable, False) or changed
    return joined


def _loops(code: list[UsingInstruction]) -> list[tuple[int, int]]:
    """Stretches that a jump backwards repeats."""
    first = code[0].address if code else 0
    return [
        (one.target, one.end)
        for one in code
        if one.jumps and one.target is not None and first <= one.target <= one.address
    ]
