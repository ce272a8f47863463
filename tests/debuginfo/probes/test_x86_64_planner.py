"""Stubs of x86-64 binaries, and what may be moved there."""

from __future__ import annotations

import re
from pathlib import Path

import capstone
import pytest
from capstone import x86

from tests.collect.counts.binaries import BINARIES, planned
from tests.collect.counts.machine import MACHINE
from whyperf.debuginfo.elf_files.elf import read_elf
from whyperf.debuginfo.image import Image
from whyperf.debuginfo.machines.x86_64.control import instructions
from whyperf.debuginfo.probes.plan_file import PatchKind
from whyperf.debuginfo.probes.planner import DEFAULT_KINDS
from whyperf.debuginfo.probes.stretches import stretches
from whyperf.debuginfo.probes.x86_64.flags import flags_are_used
from whyperf.debuginfo.probes.x86_64.moving import MovedInstruction, as_jump, movable, pointer_jump
from whyperf.recording.schemas.call_tables import NotCounted

needs_binaries = pytest.mark.skipif(MACHINE != "x86_64", reason="looks at Debian's own x86-64 programs")


@needs_binaries
@pytest.mark.parametrize("binary", BINARIES, ids=lambda path: path.name)
def test_stubs_do_what_was_replaced(binary: Path) -> None:
    """Decoded where they are put, moved instructions are what they were, and find what they found."""
    plan, _ = planned(binary, DEFAULT_KINDS)
    elf = read_elf(binary)
    assert elf is not None
    counted = {int(at) for at in plan.increments["at"]}
    for patch in plan.patches[:: max(1, len(plan.patches) // 4000)]:
        old = bytes(patch["old"])[: int(patch["size"])]
        before = [(m, _relocated(o, at + n)) for at, n, m, o in instructions(old, int(patch["at"]))]
        after, at = [], int(patch["stub"])
        while len(after) < len(before) + (patch["kind"] == PatchKind.JUMP):
            if at in counted:
                at += 9
                continue
            _, size, mnemonic, operands = next(instructions(plan.stubs[at : at + 16], at))
            after.append((mnemonic, _relocated(operands, at + size)))
            at += size
        if patch["kind"] == PatchKind.JUMP and len(after) > len(before):
            expected = [*before, ("jmp", hex(int(patch["at"]) + len(old)))]
            if before[-1][0] == "jmp":
                expected, after = before, after[: len(before)]
        else:
            expected = [*before[:-1], ("jmp", before[-1][1])]
        assert after == expected, hex(int(patch["at"]))


def _relocated(operands: str, end: int) -> str:
    """With what is named relative to the instruction as an address."""
    found = re.search(r"\[rip ([+-]) (\w+)\]", operands)
    if not found:
        return operands
    distance = int(found[2], 0) * (1 if found[1] == "+" else -1)
    return operands.replace(found[0], f"[{end + distance:#x}]")


@needs_binaries
def test_readers_of_flags_are_known() -> None:
    """capstone's own tables, as far as they go: what it says to test a flag that counting changes does so here."""
    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    decoder.detail = True
    tested = x86.X86_EFLAGS_TEST_OF | x86.X86_EFLAGS_TEST_SF | x86.X86_EFLAGS_TEST_ZF | x86.X86_EFLAGS_TEST_PF
    elf = read_elf(BINARIES[0])
    assert elf is not None
    readers = set()
    for stretch in list(stretches(elf, Image(elf)))[:400]:
        for one in decoder.disasm(elf.code(stretch.low, stretch.high), stretch.low):
            if one.eflags & tested and not one.mnemonic.startswith("rep"):
                readers.add(one.mnemonic)
    assert {"je", "jne", "sete", "cmove"} & readers
    for mnemonic in readers:
        assert flags_are_used([mnemonic]), mnemonic
    assert not flags_are_used(["mov", "lea", "cmp", "je"])
    assert flags_are_used(["mov", "lea", "je"])
    assert flags_are_used(["mov"] * 500)


MOVABLE = {
    "mov rax, [rip + 0x1234]": "488b0534120000",
    "comisd xmm0, [rip + 0x1234]": "660f2f0534120000",  # capstone does not say where its distance is
    "cmp dword ptr [rip + 0x11223344], 0x11223344": "813d4433221144332211",  # the distance twice
    "movss xmm1, [rip - 8]": "f30f100df8ffffff",
    "lea rdi, [rip + 0x100]": "488d3d00010000",
    "mov rdi, rbx": "4889df",
    "push rbp": "55",
    "mov qword ptr [rsp + 8], rax": "4889442408",
}
NOT_MOVABLE = {
    "call 0x1000": "e8fb0f0000",
    "jmp rax": "ffe0",
    "pop rbp": "5d",
    "ret": "c3",
    "syscall": "0f05",
    "leave": "c9",
    "rdtsc": "0f31",
    "je": "7405",
    "int3": "cc",
    "two instructions": "55c3",
    "half of one": "488b",
}


@pytest.mark.parametrize("name", MOVABLE)
def test_what_is_moved_finds_what_it_found(name: str) -> None:
    content = bytes.fromhex(MOVABLE[name])
    moved = movable(0x5000, content, stack_is_lower=False)
    assert isinstance(moved, MovedInstruction)
    ((_, _, mnemonic, operands),) = instructions(content, 0x5000)
    for address in (0, 0x123450, 0x4FF0):
        ((_, size, other, others),) = instructions(moved.placed_at(address), address)
        assert (other, size) == (mnemonic, len(content))
        assert _relocated(others, address + size) == _relocated(operands, 0x5000 + size)


@pytest.mark.parametrize("name", NOT_MOVABLE)
def test_what_is_not_moved(name: str) -> None:
    assert isinstance(movable(0x5000, bytes.fromhex(NOT_MOVABLE[name]), stack_is_lower=False), NotCounted)


def test_nothing_that_uses_the_stack_is_moved_before_a_call() -> None:
    for code in ("55", "5d", "4889442408", "4883ec08", "488d7c2410", "4889e7", "ff742408"):
        assert isinstance(movable(0x5000, bytes.fromhex(code), stack_is_lower=True), NotCounted), code
    assert pointer_jump(0x5000, bytes.fromhex("ff542408"), is_call=True) is NotCounted.STACK
    assert isinstance(pointer_jump(0x5000, bytes.fromhex("ff5008"), is_call=True), MovedInstruction)


@pytest.mark.parametrize(
    ("call", "jump"),
    [
        ("ffd0", "jmp rax"),
        ("41ffd4", "jmp r12"),
        ("ff5010", "jmp qword ptr [rax + 0x10]"),
        ("3effd2", "notrack jmp rdx"),
    ],
)
def test_a_call_by_pointer_becomes_a_jump(call: str, jump: str) -> None:
    moved = pointer_jump(0x5000, bytes.fromhex(call), is_call=True)
    assert isinstance(moved, MovedInstruction)
    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    (found,) = decoder.disasm(as_jump(moved).content, 0)
    assert f"{found.mnemonic} {found.op_str}" == jump
