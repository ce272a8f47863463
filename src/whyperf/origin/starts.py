"""Where the way back begins: at a variable, at a source line, or at a place in the code."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from whyperf.debuginfo.machines.machine import FlowStep as Leads
from whyperf.debuginfo.machines.operations import VECTOR
from whyperf.debuginfo.slices.definitions import (
    FLAGS,
    Definition,
    DefinitionKind,
    Input,
    Location,
    MemoryOperand,
    StackSlot,
)
from whyperf.debuginfo.slices.function import SlicedInstruction
from whyperf.debuginfo.slices.module import ModuleCode
from whyperf.debuginfo.slices.slicer import Slicer
from whyperf.debuginfo.slices.variables import VariablePlace
from whyperf.errors import WhyperfError
from whyperf.origin.lines import instructions_of
from whyperf.origin.questions import CodeHere

_MOST_PLACES = 30


class UnknownVariableError(WhyperfError):
    """The function has no such variable, or none that lives anywhere."""


@dataclass(frozen=True)
class StartAtVariable:
    binary: Path
    function: str
    variable: str
    """`x`, `x.y`, `p->y`."""


@dataclass(frozen=True)
class StartAtLine:
    binary: Path
    file: str
    line: int


@dataclass(frozen=True)
class StartAtPlace:
    binary: Path
    address: int
    location: Location


@dataclass(frozen=True)
class StartAtCalls:
    """How often a line calls a function."""

    binary: Path
    file: str
    line: int
    callee: str


Start = StartAtVariable | StartAtLine | StartAtPlace | StartAtCalls


def start_at_variable(binary: str | Path, function: str, variable: str) -> Start:
    return StartAtVariable(Path(binary), function, variable)


def start_at_line(binary: str | Path, file: str, line: int) -> Start:
    """The conditions of the loop or branch at that line, or else what its calls are given."""
    return StartAtLine(Path(binary), file, line)


def start_at_calls(binary: str | Path, file: str, line: int, callee: str) -> Start:
    return StartAtCalls(Path(binary), file, line, callee)


def calls_at(module: ModuleCode, start: StartAtCalls) -> list[tuple[CodeHere, int]]:
    """The instructions of a line that call, by their callee's name where one of them has it."""
    found = [
        (here, instruction.address, module.callee(instruction).name == start.callee)
        for here, instruction in instructions_of(module, start.file, start.line)
        if instruction.step is Leads.CALL or here.slicer.is_tail_call(instruction)
    ]
    wanted = [(here, address) for here, address, is_wanted in found if is_wanted]
    return wanted or [(here, address) for here, address, _ in found]


@dataclass(frozen=True, eq=False)
class StartingPoint:
    """One input of one instruction: the value that is to be explained."""

    here: CodeHere
    definition: Definition
    wanted: Input | None
    """None: the content of what it reads."""
    name: str
    preference: int
    """The greater, the better."""


def starting_points(module: ModuleCode, start: StartAtVariable | StartAtLine | StartAtPlace) -> list[StartingPoint]:
    """All copies of the place, the best first; which of them run is found out by running."""
    if isinstance(start, StartAtVariable):
        found = _at_variable(module, start)
        said = f"The compiled code of {start.function}() never reads `{start.variable}`."
    elif isinstance(start, StartAtLine):
        found = _at_line(module, start)
        said = f"{module.path} has no code of {start.file}:{start.line} that reads a value."
    else:
        found = _at_place(module, start)
        said = f"The code of {module.path} at {start.address:#x} reads no value."
    if not found:
        raise WhyperfError(said, f"objdump -dl {module.path}")
    ordered = sorted(found, key=lambda one: (-one.preference, one.definition.address))
    return ordered[:_MOST_PLACES]


def _at_variable(module: ModuleCode, start: StartAtVariable) -> list[StartingPoint]:
    if module.variables is None:
        raise WhyperfError(module.binary.missing_debug_hint(), "cc -g -O2 ...")
    functions = set(module.binary.function_at(start.function))
    if not functions:
        raise UnknownVariableError(f"{module.path} has no function {start.function}().", f"nm -C {module.path}")
    found: list[StartingPoint] = []
    places = module.variables.places(functions, start.variable)
    if not places:
        unknown = (
            f"{start.function}() has no variable `{start.variable}` in the debug information of {module.path}, or it "
            "was optimized away."
        )
        raise UnknownVariableError(unknown, "whyperf origin recordings --line FILE:LINE")
    if len(places) == 1:
        places = [_from_the_beginning(module, places[0])]
    for place in places:
        for slicer, address in _addresses(module, functions, place.low, place.high):
            found += _reading(CodeHere(module, slicer), address, place.where, start.variable)
    return found or [
        each
        for place in places
        if isinstance(place.where, MemoryOperand) and place.where.base is not None
        for slicer, address in _addresses(module, functions, 0, 1 << 62)
        for each in _reading_member(CodeHere(module, slicer), address, place.where, start.variable)
    ]


def _from_the_beginning(module: ModuleCode, place: VariablePlace) -> VariablePlace:
    """What lives in one place all the time is said to live there from where the body begins: its parameters are there
    before."""
    slicer = module.slicer_at(place.low) if place.low else None
    if slicer is None or not isinstance(place.where, int) or place.low not in slicer.function.row:
        return place
    if any(one.kind is not DefinitionKind.ARGUMENT for one in slicer.definitions(place.low, place.where)):
        return place
    return replace(place, low=min(place.low, slicer.function.entry))


def _reading_member(here: CodeHere, address: int, member: MemoryOperand, name: str) -> list[StartingPoint]:
    """By any pointer: compilers step one along where the source counts."""
    return [
        StartingPoint(here, one, None, name, 1)
        for one in here.slicer.made_by(address)
        if one.reads_memory
        and one.memory is not None
        and one.kind is not DefinitionKind.STORE
        and (one.memory.displacement, one.memory.size) == (member.displacement, member.size)
    ]


def _addresses(module: ModuleCode, functions: set[int], low: int, high: int) -> list[tuple[Slicer, int]]:
    ranges = [(low, high)] if low else module.ranges_of(functions)  # a global lives everywhere
    return [
        (slicer, instruction.address)
        for first, last in ranges
        if (slicer := module.slicer_at(first)) is not None
        for instruction in slicer.function.code
        if first <= instruction.address < last
    ]


def _reading(here: CodeHere, address: int, where: Location | MemoryOperand, name: str) -> list[StartingPoint]:
    """What an instruction does with a variable's value: a comparison is worth most."""
    found: list[StartingPoint] = []
    slicer = here.slicer
    row = slicer.function.row[address]
    for one in slicer.made_by(address):
        worth = 3 if one.kind is DefinitionKind.TEST else 1
        if isinstance(where, int):
            mine = [each for each in one.inputs if each.location == where and 0 <= where < VECTOR]
            found += (StartingPoint(here, one, each, name, worth) for each in mine)
            if where in slicer.address_registers(one):
                found.append(StartingPoint(here, one, Input(where, 8), name, 1))
        elif one.reads_memory and one.memory is not None and _is_at(here, row, one.memory, where):
            found.append(StartingPoint(here, one, None, name, worth + 1))
    return found


def _is_at(here: CodeHere, row: int, memory: MemoryOperand, where: StackSlot | MemoryOperand) -> bool:
    if isinstance(where, MemoryOperand):
        return (memory.base, memory.index, memory.displacement) == (where.base, where.index, where.displacement)
    function = here.slicer.function
    depth = function.depth[row]
    if memory.index is not None:
        return False
    if memory.base == function.registers.stack and depth is not None:
        return memory.displacement - depth == where.offset
    framed = memory.base == function.registers.frame and function.frame_depth is not None
    return framed and memory.displacement - (function.frame_depth or 0) == where.offset


def _at_line(module: ModuleCode, start: StartAtLine) -> list[StartingPoint]:
    return [
        point
        for here, instruction in instructions_of(module, start.file, start.line)
        for point in _used_by(here, instruction.address)
    ]


def _used_by(here: CodeHere, address: int) -> list[StartingPoint]:
    slicer = here.slicer
    instruction = slicer.function.code[slicer.function.row[address]]
    found: list[StartingPoint] = []
    if instruction.step is Leads.BRANCH:
        for one in slicer.tests(address):
            found += (StartingPoint(here, one, each, "", 3) for each in one.inputs if each.location != FLAGS)
            found += [StartingPoint(here, one, None, "", 3)] if one.reads_memory else []
    elif instruction.step is Leads.CALL:
        call = Definition(address, DefinitionKind.TEST, None, 8)
        found += (StartingPoint(here, call, Input(register, 8), "", 2) for register in _passed(here, instruction))
    else:
        for one in slicer.made_by(address):
            found += (StartingPoint(here, one, each, "", 1) for each in one.inputs if 0 <= each.location < VECTOR)
            found += (
                [StartingPoint(here, one, None, "", 1)]
                if one.reads_memory and one.kind is not DefinitionKind.STORE
                else []
            )
    return found


def _passed(here: CodeHere, call: SlicedInstruction) -> list[int]:
    """Registers with arguments: as many as the callee has parameters; else those that are set for it, and those before
    them that hand on an argument or a result as it is."""
    registers = here.slicer.function.registers.arguments[0]
    callee = here.module.callee(call)
    if callee.entry is not None and here.module.variables is not None:
        return list(registers[: here.module.variables.parameters(set(here.module.binary.function_at(callee.name)))])
    found: list[int] = []
    handed_on: list[int] = []  # unless none is set behind them: then they are what an earlier call left there
    for register in registers:
        if here.slicer.is_set(call.address, register):
            found += [*handed_on, register]
            handed_on = []
        elif any(one.kind is DefinitionKind.UNKNOWN for one in here.slicer.definitions(call.address, register)):
            break
        else:
            handed_on.append(register)
    return found or handed_on[:1]


def _at_place(module: ModuleCode, start: StartAtPlace) -> list[StartingPoint]:
    slicer = module.slicer_at(start.address)
    if slicer is None or start.address not in slicer.function.row or not isinstance(start.location, int):
        return []
    looked = Definition(start.address, DefinitionKind.TEST, None, 8)
    return [StartingPoint(CodeHere(module, slicer), looked, Input(start.location, 8), "", 3)]
