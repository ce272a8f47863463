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

from whyperf.debuginfo.located import Located, Places
from whyperf.debuginfo.operands import (
    ARGUMENTS,
    FRAME,
    LOST_IN_CALLS,
    STACK,
    Immediate,
    Instruction,
    Memory,
    Operand,
    instructions,
)

Use = Literal["loop", "condition", "argument"]
Held = dict[int, bool]
"""Variables from which a value was made, and whether anything was done to them on the way."""

_COPIES = ("mov", "cvt", "cdqe", "cwde")
_COMPARES = ("cmp", "test", "ucomis", "comis", "bt")
_KEEPS_FLAGS = (*_COPIES, "lea", "push", "pop", "set", "cmov", "j", "call", "nop", "not", "endbr")
_NOTHING: Held = {}
_GLOBAL = -1


def uses_in(
    located: Located, parts: list[tuple[int, bytes]], function_at: Callable[[int], int]
) -> Mapping[int, set[Use]]:
    """By number of the table's variables. `parts`: addresses and bytes of one function, that with its entry first.
    `function_at`: the innermost function at an address, numbered as in the table."""
    reader = _Reader(located, function_at)
    for address, content in parts:
        reader.read(list(instructions(content, address)))
    return reader.found


@dataclass
class _Reader:
    located: Located
    function_at: Callable[[int], int]
    found: defaultdict[int, set[Use]] = field(default_factory=lambda: defaultdict(set))
    _held: dict[int, Held] = field(default_factory=dict)
    _written: set[int] = field(default_factory=set)
    _flags: Held = field(default_factory=dict)
    _depth: int = 8
    """Of the stack below the CFA."""
    _deepest: int = 8
    _by_frame: bool = False
    """Whether rbp is two words below the CFA."""

    def read(self, code: list[Instruction]) -> None:
        starts = {one.target for one in code if one.mnemonic[0] == "j"}
        asked: list[tuple[int, Held]] = []
        stepped: list[tuple[int, int]] = []
        self._begin_block()
        for one in code:
            if one.address in starts:
                self._begin_block()
            here = self.located.at(one.address)
            self._mark_all("argument", here.passed)
            stepped += ((one.address, variable) for variable in self._arrived(one, here))
            is_jump = one.mnemonic[0] == "j"
            leaves = one.target is not None and not code[0].address <= one.target < code[-1].end
            if one.mnemonic == "call" or (one.mnemonic == "jmp" and leaves):
                for register in self._passed_in(one.target):
                    self._mark("argument", self._of_register(register, here), one)
                self._after_call()
            elif is_jump and one.mnemonic != "jmp":
                self._mark("condition", self._flags, one)
                asked.append((one.address, self._flags))
            elif is_jump:
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
        known = None if target is None else self.located.parameters.get(self.function_at(target))
        for registers, count in zip(ARGUMENTS, known or (len(registers) for registers in ARGUMENTS), strict=True):
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
        for register in LOST_IN_CALLS:
            self._held[register] = _NOTHING

    def _mark_all(self, use: Use, variables: Collection[int]) -> None:
        for variable in variables:
            self.found[variable].add(use)

    def _mark(self, use: Use, held: Held, one: Instruction) -> None:
        if held:
            function = self.function_at(one.address)
            for variable in held:
                if self.located.owner(variable) in (function, _GLOBAL):
                    self.found[variable].add(use)

    def _run(self, one: Instruction, here: Places) -> Iterator[int]:
        """Follows one instruction; the variables that it gives a value made from their old one."""
        name, operands = one.mnemonic, one.operands
        self._follow_stack(one)
        values = [self._value(operand, one, here) for operand in operands]
        if name.startswith(_COMPARES):
            self._flags = _joined(*values)
            return
        if not operands or name in ("push", "nop", "ret"):
            return
        if name.startswith("set"):
            made = self._flags
        elif name.startswith("cmov"):
            self._mark("condition", self._flags, one)
            made = _joined(*values)
        elif name == "lea":
            made = self._address(operands[1], one, here)
        elif name.startswith(_COPIES):
            made = values[-1]
        elif (name in ("xor", "sub", "pxor", "xorps") and operands[0] == operands[-1]) or name == "pop":
            made = _NOTHING
        else:
            made = dict.fromkeys(_joined(*values), True)
        if not name.startswith(_KEEPS_FLAGS):
            self._flags = made
        yield from self._write(operands[0], made, one, here)

    def _arrived(self, one: Instruction, here: Places) -> Iterator[int]:
        """Variables whose place is, from here on, a register with a value made from their old one."""
        for register, variables in here.registers.items():
            held = self._held.get(register, _NOTHING)
            for variable in variables:
                if held.get(variable) and self.located.owner(variable) in (self.function_at(one.address), _GLOBAL):
                    held[variable] = False
                    yield variable

    def _write(self, target: Operand, made: Held, one: Instruction, here: Places) -> Iterator[int]:
        if isinstance(target, int):  # whose value it is now is known when debug information says so
            self._held[target] = dict(made)
            self._written.add(target)
        for variable in self._at(target, one, here) if isinstance(target, Memory) else ():
            if made.get(variable) and self.located.owner(variable) in (self.function_at(one.address), _GLOBAL):
                yield variable

    def _follow_stack(self, one: Instruction) -> None:
        """By the order of addresses: behind a return the stack is as it is in the body."""
        first, last = (one.operands[0], one.operands[-1]) if one.operands else (None, None)
        if one.mnemonic in ("push", "pop"):
            self._depth += 8 if one.mnemonic == "push" else -8
        elif first == STACK and isinstance(last, Immediate) and one.mnemonic in ("sub", "add"):
            self._depth += last.value if one.mnemonic == "sub" else -last.value
        elif one.mnemonic == "mov" and one.operands == (FRAME, STACK):
            self._by_frame = self._depth == 16
        elif one.mnemonic == "ret":
            self._depth = self._deepest
        self._deepest = max(self._deepest, self._depth)

    def _value(self, operand: Operand, one: Instruction, here: Places) -> Held:
        if isinstance(operand, Memory):
            loaded = dict.fromkeys(self._at(operand, one, here), False)
            used = {
                variable: True
                for register in operand.registers
                if register not in (FRAME, STACK)
                for variable in self._of_register(register, here)
            }
            return used | loaded
        return self._of_register(operand, here) if isinstance(operand, int) else _NOTHING

    def _address(self, operand: Operand, one: Instruction, here: Places) -> Held:
        if not isinstance(operand, Memory):
            return _NOTHING
        slots = dict.fromkeys(self._at(operand, one, here), False)
        changed = bool(operand.displacement) or len(operand.registers) > 1
        return slots | {
            variable: changed or before
            for register in operand.registers
            for variable, before in self._of_register(register, here).items()
        }

    def _of_register(self, register: int, here: Places) -> Held:
        held = self._held.get(register, _NOTHING)
        located = here.registers.get(register)
        return held | dict.fromkeys(located, False) if located else held

    def _at(self, memory: Memory, one: Instruction, here: Places) -> list[int]:
        """The variables that a memory operand is."""
        if memory.by_instruction:
            known = self.located.globals.get(one.end + memory.displacement)
            return [] if known is None else [known]
        if len(memory.registers) != 1:
            return []
        (register,) = memory.registers
        found = here.near.get((register, memory.displacement), [])
        if register == FRAME and self._by_frame:
            return found + here.slots.get(memory.displacement - 16, [])
        if register == STACK:
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


def _loops(code: list[Instruction]) -> list[tuple[int, int]]:
    """Stretches that a jump backwards repeats."""
    first = code[0].address if code else 0
    return [
        (one.target, one.end)
        for one in code
        if one.mnemonic[0] == "j" and one.target is not None and first <= one.target <= one.address
    ]
