"""Reaching definitions against what an emulator saw: one of them made the value that is read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from whyperf.debuginfo.machines.machine import FlowStep
from whyperf.debuginfo.machines.operations import VECTOR
from whyperf.debuginfo.slices.definitions import FLAGS, Definition, DefinitionKind
from whyperf.debuginfo.slices.module import ModuleCode
from whyperf.debuginfo.slices.slicer import Slicer

from ..building import PROGRAMS, Builder, run
from .traces import Moment, trace

_FLAGS = ("-O2", "-g", "-nostdlib", "-static", "-ffreestanding", "-fno-stack-protector", "-fcf-protection=none")


@pytest.fixture(scope="module", params=["aarch64 -O2", "x86_64 -O2", "aarch64 -O1", "x86_64 -O3"])
def traced(request: pytest.FixtureRequest, build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Traced:
    machine, level = request.param.split()
    made = tmp_path_factory.mktemp("slices") / f"slices-{machine}{level}"
    flags = [one for one in _FLAGS if machine == "x86_64" or "cf-" not in one]
    run(f"{machine}-linux-gnu-gcc", *flags, level, PROGRAMS / "slices.c", "-o", made)
    return Traced(ModuleCode(made, made.parent), trace(made, machine))


@dataclass(frozen=True)
class Traced:
    module: ModuleCode
    moments: list[Moment]


@dataclass
class _Activation:
    """One call of a function while it runs."""

    slicer: Slicer
    made: defaultdict[Definition, list[int]] = field(default_factory=lambda: defaultdict(list))
    """By definition: what it made so far."""
    pending: list[Definition] = field(default_factory=list)
    """Whose result is seen with this activation's next instruction."""


@dataclass(frozen=True)
class _Use:
    address: int
    register: int
    size: int
    value: int
    made: list[tuple[Definition, list[int]]]
    """What its definitions made so far."""


def _uses(traced: Traced) -> Iterator[_Use]:
    stack: list[_Activation] = []
    returning = True
    for moment in traced.moments:
        slicer = traced.module.slicer_at(moment.address)
        if slicer is None:
            continue
        if returning and slicer.function.entry == moment.address:
            stack.append(_Activation(slicer))
        if not stack or stack[-1].slicer is not slicer:  # left by a jump: a call at the end
            stack[-1:] = [_Activation(slicer)]
        here = stack[-1]
        for one in here.pending:
            assert isinstance(one.target, int)
            here.made[one].append(moment.registers[one.target])
        here.pending = []
        yield from _read(here, moment)
        instruction = slicer.function.at(moment.address)
        assert instruction is not None
        returning = instruction.step is FlowStep.CALL
        here.pending = _made_here(slicer, moment.address)
        if instruction.returns:
            stack.pop()


def _made_here(slicer: Slicer, address: int) -> list[Definition]:
    instruction = slicer.function.at(address)
    assert instruction is not None
    if instruction.step is FlowStep.CALL:
        return [
            Definition(address, DefinitionKind.RETURNED, one, 8)
            for one in slicer.function.registers.results
            if one < VECTOR
        ]
    return [one for one in slicer.made_by(address) if isinstance(one.target, int) and 0 <= one.target < VECTOR]


def _read(here: _Activation, moment: Moment) -> Iterator[_Use]:
    slicer = here.slicer
    for one in slicer.made_by(moment.address):
        read = [(each.location, each.size) for each in one.inputs if each.location != FLAGS]
        read += ((register, 8) for register in slicer.address_registers(one))
        for register, size in read:
            if not 0 <= register < VECTOR or register == slicer.function.registers.stack:
                continue
            found = slicer.definitions(moment.address, register)
            if any(each.kind in (DefinitionKind.UNKNOWN, DefinitionKind.STORE) for each in found) or _from_stack(found):
                continue
            made = [(each, here.made[each]) for each in found if each.kind is not DefinitionKind.ARGUMENT]
            if len(made) == len(found):
                yield _Use(moment.address, register, size, moment.registers[register], made)


def _from_stack(found: tuple[Definition, ...]) -> bool:
    return any(each.kind is DefinitionKind.ARGUMENT and not isinstance(each.target, int) for each in found)


def test_one_of_the_definitions_made_what_is_read(traced: Traced) -> None:
    checked, wrong, several = 0, [], 0
    for use in _uses(traced):
        checked += 1
        several += sum(len(set(values)) for _, values in use.made) > 1
        if not any(_agree(use, one, value) for one, values in use.made for value in values):
            wrong.append(use)
    assert checked > 2000 and several < checked / 2
    shown = [f"{one.address:#x} r{one.register} {one.value:#x}: {one.made}" for one in wrong[:8]]
    assert not wrong, "\n".join((str(len(wrong)), *shown))


def _agree(use: _Use, one: Definition, value: int) -> bool:
    mask = (1 << 8 * min(use.size, one.size, 4)) - 1
    return use.value & mask == value & mask
