"""Plans of real binaries, looked at with another disassembler; and what may be moved."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import capstone
import pytest
from capstone import x86

from tests.counts.machine import CROSS, ROOT, Machine, skip_elsewhere
from whyperf.debuginfo import describe
from whyperf.debuginfo.elf import read_elf
from whyperf.debuginfo.image import Image
from whyperf.debuginfo.machines.x86_64.control import instructions
from whyperf.debuginfo.probes.flags import flags_are_used
from whyperf.debuginfo.probes.moving import Moved, as_jump, movable, pointer_jump
from whyperf.debuginfo.probes.plan_file import PatchKind, Plan, read, written
from whyperf.debuginfo.probes.planner import DEFAULT_KINDS, Coverage, make_plan
from whyperf.debuginfo.probes.stretches import stretches
from whyperf.recording.call_tables import CallKind, NotCounted

# A stripped program in C with an interpreter's switch in it, and a library in C++ with thousands of landing pads.
BINARIES = [Path(f"{ROOT}/usr/bin/bash"), Path(f"{ROOT}/usr/lib/x86_64-linux-gnu/libstdc++.so.6")]
_LINE = re.compile(r"^\s*([0-9a-f]+):\t((?:[0-9a-f]{2} )+)\s*(?:\t(.*))?$")
_DIRECT = re.compile(r"(?:[a-z0-9.,]+ )*?(call|j[a-z]+)\s+(?:[a-z0-9]+ )*([0-9a-f]+)\b")


@cache
def planned(binary: Path, kinds: frozenset[CallKind] = frozenset(CallKind)) -> tuple[Plan, Coverage]:
    skip_elsewhere()
    made = make_plan(describe(str(binary)), kinds)
    assert made is not None
    return made


@cache
def disassembled(binary: Path) -> dict[int, tuple[int, str]]:
    """By objdump: size and text of the instruction at each address."""
    found = {}
    listing = subprocess.run([f"{CROSS}objdump", "-d", "-w", "-z", binary], capture_output=True, text=True, check=True)
    for line in listing.stdout.splitlines():
        if parts := _LINE.match(line):
            found[int(parts[1], 16)] = len(parts[2].split()), parts[3] or ""
    return found


@pytest.mark.parametrize("binary", BINARIES, ids=lambda path: path.name)
def test_patches_replace_whole_instructions(binary: Path) -> None:
    plan, _ = planned(binary)
    code = disassembled(binary)
    jumped_to = {int(to[2], 16) for _, text in code.values() if (to := _DIRECT.match(text))}
    assert len(plan.patches) > 5000
    for patch in plan.patches:
        start, end = int(patch["at"]), int(patch["at"]) + int(patch["size"])
        at, count = start, 0
        while at < end:
            assert at in code, hex(start)
            at += code[at][0]
            count += 1
        assert at == end, hex(start)
        assert count == 1 or patch["kind"] != PatchKind.DISTANCE
        assert jumped_to.isdisjoint(range(start + 1, end)), hex(start)


@pytest.mark.parametrize("binary", BINARIES, ids=lambda path: path.name)
def test_nearly_every_direct_call_is_counted(binary: Path) -> None:
    plan, coverage = planned(binary)
    assert coverage.not_understood == 0
    assert coverage.counted[CallKind.CALL] >= 0.999 * coverage.found[CallKind.CALL]
    own = {(int(low), int(high)) for low, high in _ranges(binary)}
    inside = [at for at, (_, text) in disassembled(binary).items() if (to := _DIRECT.match(text)) and to[1] == "call"]
    found = set(plan.sites["address"][plan.sites["kind"] == CallKind.CALL].tolist())
    lows = sorted(own)
    missed = [at for at in inside if at not in found and any(low <= at < high for low, high in lows)]
    assert missed == []


def _ranges(binary: Path) -> Iterator[tuple[int, int]]:
    elf = read_elf(binary)
    assert elf is not None
    yield from ((one.low, one.high) for one in stretches(elf, Image(elf)))


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


def test_readers_of_flags_are_known() -> None:
    """capstone's own tables, as far as they go: what it says to test a flag that counting changes does so here."""
    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    decoder.detail = True
    tested = x86.X86_EFLAGS_TEST_OF | x86.X86_EFLAGS_TEST_SF | x86.X86_EFLAGS_TEST_ZF | x86.X86_EFLAGS_TEST_PF
    skip_elsewhere()
    elf = read_elf(BINARIES[0])
    assert elf is not None
    readers = set()
    for low, high in list(_ranges(BINARIES[0]))[:400]:
        for one in decoder.disasm(elf.code(low, high), low):
            if one.eflags & tested and not one.mnemonic.startswith("rep"):
                readers.add(one.mnemonic)
    assert {"je", "jne", "sete", "cmove"} & readers
    for mnemonic in readers:
        assert flags_are_used([mnemonic]), mnemonic
    assert not flags_are_used(["mov", "lea", "cmp", "je"])
    assert flags_are_used(["mov", "lea", "je"])
    assert flags_are_used(["mov"] * 500)


def test_a_plan_is_read_as_it_was_written() -> None:
    plan, _ = planned(BINARIES[0])
    again = read(written(plan))
    assert again is not None
    assert (again.stubs, again.build_id, again.flags) == (plan.stubs, plan.build_id, plan.flags)
    assert again.patches.tobytes() == plan.patches.tobytes() and again.sites.tobytes() == plan.sites.tobytes()


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
    assert isinstance(moved, Moved)
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
    assert isinstance(pointer_jump(0x5000, bytes.fromhex("ff5008"), is_call=True), Moved)


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
    assert isinstance(moved, Moved)
    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    (found,) = decoder.disasm(as_jump(moved).content, 0)
    assert f"{found.mnemonic} {found.op_str}" == jump


def test_landing_pads_and_split_off_parts_are_known(machine: Machine) -> None:
    source = """#include <cstdio>
    #include <stdexcept>
    struct Guard { int *at; ~Guard() { *at += 1; } };
    __attribute__((noipa)) void may_throw(int n) { if (n > 3) throw std::runtime_error("no"); }
    __attribute__((noipa)) int guarded(int n) {
        int destroyed = 0;
        {
            Guard guard{&destroyed};
            try { may_throw(n); } catch (const std::exception &) { destroyed += 7; may_throw(0); }
        }
        return destroyed;
    }
    int main(int count, char **) { std::printf("%d\\n", guarded(count)); }"""
    binary = describe(str(machine.compiled(source)))
    assert binary.elf is not None
    (function,) = binary.function_at("guarded")
    entry, *_ = binary.entry_addresses(function)
    by_start = {one.low: one for one in stretches(binary.elf, Image(binary.elf))}
    whole = by_start[entry]
    assert whole.landings and not whole.is_part
    # Those of the split-off part are counted from its own start.
    parts = [one for one in by_start.values() if one.is_part]
    assert parts
    for one in (whole, *parts):
        starts = {row[0] for row in instructions(binary.elf.code(one.low, one.high), one.low)}
        others = {at for at in one.landings or () if not one.low <= at < one.high}
        assert (one.landings or frozenset()) - others <= starts
