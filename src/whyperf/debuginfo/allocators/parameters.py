"""Which argument of a function is the size, the pointer or the arena, by its debug information."""

from __future__ import annotations

import re
from dataclasses import replace

from whyperf.allocators.functions import AllocatorFunction, AllocatorRole, Arguments
from whyperf.debuginfo.machines import Machine
from whyperf.debuginfo.probes.not_patched import NotPatched
from whyperf.debuginfo.transplants.layouts import Layouts, Parameter

_NOT_WHOLE = re.compile(r"(long )?double|float|_Float|_Decimal|complex|__int128")
_SIZE_NAMES = re.compile(r"(n?_?bytes|sz|size|len|length|request|amount|size_|n)", re.IGNORECASE)
_LARGEST, _NARROW = 8, 4
_FIRST_REGISTER = 0x50  # DW_OP_reg0


class NotSampled(NotPatched):
    """Why calls of a function cannot be sampled, in words."""


def arguments_of(function: AllocatorFunction, layouts: Layouts | None, machine: Machine, arena: bool) -> Arguments:
    """`arena`: the allocator can be reset, so that it matters which arena a block is of."""
    if function.arguments is not None:
        return function.arguments
    if layouts is None:
        raise NotSampled("has no debug information that tells its parameters")
    parameters = layouts.parameters
    _check(layouts, machine, function.role)
    pointers = [number for number, one in enumerate(parameters) if one.type.startswith("*")]
    numbers = [number for number, one in enumerate(parameters) if not one.type.startswith("*")]
    if function.asked is not None and function.asked >= len(parameters):
        raise NotSampled(f"has no argument {function.asked + 1}")
    first_pointer = pointers[0] if pointers else None
    if function.role is AllocatorRole.RESET:
        return Arguments(arena=function.asked if function.asked is not None else first_pointer)
    if function.role is AllocatorRole.FREE:
        return Arguments(pointer=_the(function.asked, pointers, "pointer"))
    size = _size(function.asked, numbers, parameters)
    width = int(parameters[size].type.rpartition("/")[2])
    if width not in (_NARROW, _LARGEST):
        raise NotSampled(f"takes its size as a number of {width} bytes")
    found = Arguments(size=size, size_bytes=width, arena=first_pointer if arena else None)
    if function.role is not AllocatorRole.REALLOCATE:
        return found
    return replace(found, pointer=_the(None, pointers, "pointer"), arena=pointers[0] if len(pointers) > 1 else None)


def _the(asked: int | None, numbers: list[int], what: str) -> int:
    """Contexts come first: the last one is what it is about."""
    if asked is not None:
        return asked
    if not numbers:
        raise NotSampled(f"has no {what} among its parameters")
    return numbers[-1]


def _size(asked: int | None, numbers: list[int], parameters: tuple[Parameter, ...]) -> int:
    if asked is not None and asked not in numbers:
        raise NotSampled(f"has no number as argument {asked + 1}")
    if asked is not None:
        return asked
    if len(numbers) == 1:
        return numbers[0]
    named = [number for number in numbers if _SIZE_NAMES.fullmatch(parameters[number].name)]
    if len(named) != 1:
        raise NotSampled("has not one parameter that is the size: name it, as in NAME:2")
    return named[0]


def _check(layouts: Layouts, machine: Machine, role: AllocatorRole) -> None:
    """All arguments come in general registers, each in its own, and what is returned is a pointer."""
    registers = machine.registers.arguments[0]
    if len(layouts.parameters) > len(registers):
        raise NotSampled("has more parameters than registers")
    for one, register in zip(layouts.parameters, registers, strict=False):
        place = one.place.partition(".")[0]
        is_register = place.isdigit() and _FIRST_REGISTER <= int(place) < _FIRST_REGISTER + 32
        if not _is_whole(one.type) or (is_register and int(place) != _FIRST_REGISTER + register):
            raise NotSampled(f"takes `{one.name}` in a way that is not understood")
    if role.allocates and not layouts.result.startswith("*"):
        raise NotSampled("does not return a pointer")


def _is_whole(kind: str) -> bool:
    """A whole number or a pointer, in one register."""
    if kind.startswith("*"):
        return True
    name, slash, size = kind.rpartition("/")
    return bool(slash) and size.isdigit() and int(size) <= _LARGEST and not _NOT_WHOLE.match(name)
