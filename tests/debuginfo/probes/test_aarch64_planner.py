"""Stubs of 64-bit ARM: what is replaced, what they do, and what is left alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator
from pathlib import Path

import pytest

from tests.collect.counts.binaries import BINARIES, planned
from tests.collect.counts.machine import MACHINE, Machine
from whyperf.debuginfo.describe import describe
from whyperf.debuginfo.machines import AARCH64
from whyperf.debuginfo.probes.aarch64 import words
from whyperf.debuginfo.probes.aarch64.stubs import ArmPlanBuilder, StubSite, movable
from whyperf.debuginfo.probes.aarch64.words import Form
from whyperf.debuginfo.probes.plan_cache import load_plan
from whyperf.debuginfo.probes.plan_file import PatchPlan, PlanFlags, Rows
from whyperf.recording.schemas.call_tables import CallKind, NotCounted

_INCREMENT_BYTES = 24
needs_machine = pytest.mark.skipif(MACHINE != "aarch64", reason="compiles for 64-bit ARM, or looks at its programs")


def text_of(word: int, address: int) -> str:
    ((_, _, mnemonic, operands),) = AARCH64.rows(word.to_bytes(4, "little"), address)
    return f"{mnemonic} {operands}"


def increments_of(plan: PatchPlan) -> set[int]:
    return {int(at) for at, _ in plan.increments.tolist()}


def stub_of(plan: PatchPlan, patch: Rows, counted: Container[int]) -> Iterator[str]:
    """What runs instead, up to what surely leaves; increments, which begin at `counted`, as `count`."""
    at = int(patch["stub"])
    while True:
        if at in counted:
            yield "count"
            at += _INCREMENT_BYTES
            continue
        word = int.from_bytes(plan.stubs[at : at + 4], "little")
        yield text_of(word, at)
        if Form.JUMP.holds(word) or Form.JUMP_BY_REGISTER.holds(word):
            return
        at += 4


def built(word: int, kind: CallKind, target: int = -1, *, entered: bool = False) -> list[str]:
    """The stub for a site at 0x5000."""
    stubs, site = ArmPlanBuilder(), StubSite(kind, 0x5000, 0x4000, target, word)
    if words.is_conditional(word):
        stubs.by_condition(site, entered=entered)
    elif target >= 0:
        stubs.by_distance(site, entered=entered)
    else:
        stubs.by_register(site, entered=entered)
    plan = stubs.plan("00", PlanFlags.NONE)
    return list(stub_of(plan, plan.patches[0], increments_of(plan)))


def test_calls_and_jumps_by_distance() -> None:
    assert built(0x94000400, CallKind.CALL, 0x6000) == ["count", "b #0x6000"]
    assert built(0x14000400, CallKind.TAIL, 0x6000, entered=True) == ["count", "count", "b #0x6000"]


def test_calls_by_register() -> None:
    assert built(0xD63F0020, CallKind.POINTER) == ["count", "br x1"]
    assert built(0xD63F0200, CallKind.POINTER) == ["count", "br x16"]


def test_the_callees_address_is_not_counted_in() -> None:
    for word, register in ((0xD63F0200, 9), (0xD63F0220, 9), (0xD63F0020, 16), (0xD63F0120, 16)):
        stubs = ArmPlanBuilder()
        stubs.by_register(StubSite(CallKind.POINTER, 0x5000, 0x4000, -1, word), entered=False)
        plan = stubs.plan("00", PlanFlags.NONE)
        assert plan.stubs[0] & 31 == register


@pytest.mark.parametrize(
    ("word", "opposite"),
    [
        (0x54008000, "b.ne #{}"),
        (0x54008001, "b.eq #{}"),
        (0xB4008003, "cbnz x3, #{}"),
        (0x35008003, "cbz w3, #{}"),
        (0x36088003, "tbnz w3, #1, #{}"),
        (0xB7F88003, "tbz x3, #0x3f, #{}"),
    ],
)
def test_conditional_jumps_count_when_they_are_taken(word: int, opposite: str) -> None:
    assert words.conditional_target(0x5000, word) == 0x6000
    assert built(word, CallKind.ITERATION, 0x6000) == [opposite.format("0x20"), "count", "b #0x6000"]


@pytest.mark.parametrize(
    ("word", "moved"),
    [
        (0xA9BE7BFD, ["stp x29, x30, [sp, #-0x20]!"]),
        (0xD10083FF, ["sub sp, sp, #0x20"]),
        (0xD65F03C0, ["ret "]),
        (0xB0000080, ["adrp x0, #0x16000"]),
        (0x10000080, ["adrp x0, #0x5000", "add x0, x0, #0x10"]),
        (0x70FFFFE0, ["adrp x0, #0x4000", "add x0, x0, #0xfff"]),
        (0xB4008003, ["cbnz x3, #0x20", "b #0x6000"]),
        (0x14000400, ["b #0x6000"]),
    ],
)
def test_first_instructions_do_elsewhere_what_they_did(word: int, moved: list[str]) -> None:
    assert movable(word) is NotCounted.COUNTED
    stubs = ArmPlanBuilder()
    stubs.entry(0x5000, 0x5000, word)
    plan = stubs.plan("00", PlanFlags.NONE)
    found = list(stub_of(plan, plan.patches[0], increments_of(plan)))
    back = [] if words.is_conditional(word) or Form.JUMP.holds(word) else ["b #0x5004"]
    assert found == ["count", *moved, *back]


def test_what_is_not_moved() -> None:
    for word in (0x94000400, 0xD63F0020, 0xD73F0820, 0x58000040, 0x1C000040, 0xD4000001, 0xD4200020):
        assert movable(word) is NotCounted.NOT_MOVABLE, text_of(word, 0)


@needs_machine
@pytest.mark.parametrize(
    "binary", [BINARIES[0], pytest.param(BINARIES[1], marks=pytest.mark.long)], ids=lambda path: path.name
)
def test_stubs_of_real_binaries_do_what_was_replaced(binary: Path) -> None:
    plan, _ = planned(binary)
    by_kind, counted = Counter[str](), increments_of(plan)
    for patch in plan.patches[:: max(1, len(plan.patches) // 4000)]:
        address = int(patch["at"])
        word = int.from_bytes(bytes(patch["old"])[:4], "little")
        old, stub = text_of(word, address), [one for one in stub_of(plan, patch, counted) if one != "count"]
        by_kind[old.split()[0]] += 1
        if Form.CALL.holds(word) or Form.JUMP.holds(word):
            assert stub == [f"b {old.split()[1]}"], old
        elif Form.CALL_BY_REGISTER.holds(word) or Form.JUMP_BY_REGISTER.holds(word):
            assert stub == [f"br {old.split()[1]}"], old
        elif words.is_conditional(word):
            assert stub[-1] == f"b #{words.conditional_target(address, word):#x}", old
        elif not Form.NEAR_ADDRESS.holds(word):
            assert stub == [old, f"b #{address + 4:#x}"], old
    assert by_kind["bl"] > 1000 and by_kind["stp"] > 100


THREAD_VARIABLE = """
__thread int mine;
int *found(void) { return &mine; }
int called(int (*pointer)(void)) { return pointer() + 1; }
"""


@needs_machine
def test_calls_that_find_thread_variables_are_left_alone(machine: Machine) -> None:
    """They keep all registers."""
    binary = machine.compiled(THREAD_VARIABLE, "-shared", "-fPIC", name="variable.so")
    plan = load_plan(machine.plans, describe(str(binary)).build_id)
    assert plan is not None
    sites = plan.sites[plan.sites["kind"] == CallKind.POINTER]
    assert sorted(sites["reason"].tolist()) == [NotCounted.COUNTED, NotCounted.REGISTERS]


@needs_machine
def test_code_with_data_in_it_is_left_alone(machine: Machine) -> None:
    source = """#include <stdio.h>
    __asm__(".text\\n.type holds_data, %function\\nholds_data: .cfi_startproc\\n"
            "ldr w0, 1f\\n ret\\n 1: .word 0x94000001\\n .cfi_endproc\\n.size holds_data, .-holds_data\\n"
            ".type leads_out, %function\\nleads_out: .cfi_startproc\\n"
            "adr x1, 2f\\n ldr w0, [x1]\\n ret\\n 2: .word 0x97000001\\n .cfi_endproc\\n"
            ".size leads_out, .-leads_out\\n");
    int holds_data(void), leads_out(void);
    int main(void) { printf("%x %x\\n", holds_data(), leads_out()); return 0; }"""
    binary = machine.compiled(source)
    plan = load_plan(machine.plans, describe(str(binary)).build_id)
    assert plan is not None
    ran = machine.counted(binary)
    assert (ran.status, ran.output) == (0, "94000001 97000001\n")
    data = [word for word in plan.patches["old"].tolist() if word[:4] in (b"\x01\0\0\x94", b"\x01\0\0\x97")]
    assert data == []


@needs_machine
def test_entries_keep_their_landing_marks(machine: Machine) -> None:
    source = """#include <stdio.h>
    __attribute__((noipa)) int twice(int n) { return 2 * n; }
    __attribute__((noipa)) int said(int n) { return printf("%d\\n", n); }
    int (*volatile pointers[])(int) = {twice, said};
    int main(void) { for (int i = 0; i < 6; i++) pointers[i % 2](i); return 0; }"""
    binary = machine.compiled(source, "-mbranch-protection=standard")
    plan = load_plan(machine.plans, describe(str(binary)).build_id)
    assert plan is not None
    old = {int.from_bytes(bytes(one)[:4], "little") for one in plan.patches["old"]}
    assert old.isdisjoint(words.LANDING_MARKS)
    found = machine.edges(binary, machine.counted(binary).processes)
    assert found["twice", "", CallKind.ENTRY] == found["said", "", CallKind.ENTRY] == 3
    assert found["main", "", CallKind.POINTER] == 6
