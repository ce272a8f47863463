"""What makes a function's result, what decides, which variable lives where, and who stores to a member."""

from __future__ import annotations

from pathlib import Path

import pytest

from whyperf.debuginfo.machines.machine import FlowStep
from whyperf.debuginfo.slices.definitions import Definition, DefinitionKind, MemoryOperand
from whyperf.debuginfo.slices.member_stores import stores_to_member
from whyperf.debuginfo.slices.module import ModuleCode
from whyperf.debuginfo.slices.slicer import Slicer

from ..building import PROGRAMS, run

_LIMIT, _MODE = 8, 0


@pytest.fixture(scope="module", params=["aarch64", "x86_64"])
def module(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ModuleCode:
    made = tmp_path_factory.mktemp("slicing") / "slices"
    flags = ("-O2", "-g", "-nostdlib", "-static", "-ffreestanding", "-fno-stack-protector")
    run(f"{request.param}-linux-gnu-gcc", *flags, PROGRAMS / "slices.c", "-o", made)
    return ModuleCode(made, made.parent)


def _slicer(module: ModuleCode, name: str) -> Slicer:
    [entry] = module.entries(name)
    found = module.slicer_at(entry)
    assert found is not None
    return found


def _line(text: str) -> int:
    lines = (PROGRAMS / "slices.c").read_text().splitlines()
    [found] = [number for number, line in enumerate(lines, 1) if text in line]
    return found


def _lines(module: ModuleCode, found: tuple[Definition, ...]) -> set[int]:
    return {module.line(one.address)[1] for one in found}


def test_a_call_at_the_end_makes_the_result(module: ModuleCode) -> None:
    slicer = _slicer(module, "passed_on")
    [made] = slicer.returned(0)
    assert made.kind is DefinitionKind.RETURNED
    jump = slicer.function.at(made.address)
    assert jump is not None and jump.step is FlowStep.JUMP and module.callee(jump).name == "spilled"


def test_each_way_out_makes_a_result(module: ModuleCode) -> None:
    found = _slicer(module, "switched").returned(0)
    assert {_line("table[1] + 3"), _line("return -n")} <= _lines(module, found)
    assert DefinitionKind.RETURNED in {one.kind for one in found}


def test_a_condition_decides_what_it_guards(module: ModuleCode) -> None:
    slicer = _slicer(module, "switched")
    [call] = [one for one in slicer.function.code if module.callee(one).name == "chosen"]
    deciding = slicer.deciders(call.address)
    assert deciding and {one.kind for one in deciding} == {DefinitionKind.TEST}
    assert _lines(module, deciding) <= {_line("switch (n)")}
    # AND what is compared is the argument
    assert DefinitionKind.ARGUMENT in {one.kind for one in slicer.closure(deciding)}


def test_nothing_decides_at_the_beginning(module: ModuleCode) -> None:
    slicer = _slicer(module, "spilled")
    assert slicer.deciders(slicer.function.entry) == ()


def test_what_others_may_change_is_loaded_again_and_what_they_do_not_touch_is_kept(module: ModuleCode) -> None:
    slicer = _slicer(module, "escaping")
    loads = [one for one in slicer.closure(slicer.returned(0)) if one.kind is DefinitionKind.LOAD]
    assert {_line("c = a + b"), _line("a * b + c")} <= {module.line(one.address)[1] for one in loads}
    assert all(one.memory is not None and one.memory.size == 8 for one in loads)


def test_registers_that_are_set_for_a_call_are_told_from_what_lies_there(module: ModuleCode) -> None:
    slicer = _slicer(module, "escaping")
    calls = [one for one in slicer.function.code if module.callee(one).name == "set_both"]
    arguments = slicer.function.registers.arguments[0]
    assert len(calls) == 2
    for call in calls:
        assert [slicer.is_set(call.address, one) for one in (*arguments[:2], arguments[5])] == [True, True, False]
    # AND an argument that is handed on as it came is not set
    one = _slicer(module, "divided").function
    assert not _slicer(module, "divided").is_set(one.entry, arguments[0])


def test_both_halves_of_a_returned_structure(module: ModuleCode) -> None:
    slicer = _slicer(module, "paired")
    first, second = (slicer.returned(register) for register in (0, 1))
    assert first and second and set(first).isdisjoint(second)


def test_a_variable_lives_somewhere_right_behind_its_definition(module: ModuleCode) -> None:
    variables, slicer = module.variables, _slicer(module, "counted")
    assert variables is not None
    functions = set(module.binary.function_at("counted"))
    places = [one for one in variables.places(functions, "best") if isinstance(one.where, int)]
    assert places
    for place in places:
        assert variables.name_of(place.low, place.where) == "best"
    made = {each.kind for one in places for each in slicer.definitions(one.low, one.where)}  # type: ignore[arg-type]
    assert made & {DefinitionKind.LOAD, DefinitionKind.CONSTANT}


def test_members_behind_a_pointer_have_places_and_names(module: ModuleCode) -> None:
    variables = module.variables
    assert variables is not None
    functions = set(module.binary.function_at("members"))
    places = variables.places(functions, "at->limit")
    assert places == variables.places(functions, "at.limit")
    [(base, displacement, size)] = {
        (one.where.base, one.where.displacement, one.where.size)
        for one in places
        if isinstance(one.where, MemoryOperand)
    }
    assert (displacement, size) == (_LIMIT, 8)
    assert variables.name_of(places[0].low, MemoryOperand(base, None, 1, _MODE, 4)) == "at->mode"


def test_stores_to_a_member_are_found_by_offset_and_size(module: ModuleCode) -> None:
    [entry] = module.entries("members")
    found = stores_to_member(module, MemoryOperand(0, None, 1, _LIMIT, 8), budget_s=30)
    assert _line("at->limit = ") in {module.line(one.address)[1] for one in found}
    assert all(one.kind is DefinitionKind.STORE for one in found) and entry


def test_the_callee_of_a_stub_is_whom_it_calls(tmp_path: Path) -> None:
    source = tmp_path / "calls.c"
    source.write_text("#include <stdlib.h>\nint main(int c, char **v) { return atoi(v[c - 1]) + c; }\n")
    run("gcc", "-O2", "-g", source, "-o", tmp_path / "calls")
    module = ModuleCode(tmp_path / "calls", tmp_path)
    slicer = _slicer(module, "main")
    names = [module.callee(one).name for one in slicer.function.code if one.step is FlowStep.CALL]
    assert names and all("strtol" in name or "atoi" in name for name in names)
