"""How machine code reads on each machine: given bytes, and whole programs against objdump."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.debuginfo import handmade
from tests.debuginfo.building import run
from tests.debuginfo.conftest import Describe
from whyperf.debuginfo.elf_files.elf import read_elf
from whyperf.debuginfo.machines import AARCH64, X86_64, machine_of
from whyperf.debuginfo.machines.machine import FlowStep, Machine, TableJump
from whyperf.debuginfo.machines.operations import Does, Memory, Operand
from whyperf.debuginfo.probes.planner import make_plan
from whyperf.errors import WhyperfError

AT = 0x1000
CALLS = re.compile(r"l?call|bl|blr")
JUMPS = re.compile(r"jmp|b|br")
BRANCHES = re.compile(r"j\w+|loop\w*|b\.\w+|cbn?z|tbn?z")
STOPS = re.compile(r"ret\w?|ud[012]|hlt|udf|brk")
LINE = re.compile(r"^\s*([0-9a-f]+):\t(?:bnd |notrack )*(\S+)(?:\s+(.*))?$", re.MULTILINE)
TARGET = re.compile(r"(?:^|, |\s)([0-9a-f]+) <")


def words(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(4, "little") for number in numbers)


def read(code: bytes) -> list[str]:
    return [f"{mnemonic} {operands}".strip() for _, _, mnemonic, operands in AARCH64.decoded(code, AT).rows]


@pytest.mark.parametrize("file", ["/bin/bash", "/usr/bin/sort"])
def test_jumps_and_calls_are_those_that_objdump_shows(file: str, described: Describe) -> None:
    if not Path(file).exists():
        pytest.skip(f"{file} is not installed")
    binary = described(file)
    machine = binary.machine
    assert machine is not None and binary.elf is not None
    listing = run("objdump", "-d", "--no-show-raw-insn", "-j", ".text", file)
    shown = {int(found[1], 16): (found[2], found[3] or "") for found in LINE.finditer(listing)}
    seen = 0
    for low, high in zip(binary.code.body_low.tolist(), binary.code.body_high.tolist(), strict=True):
        for start, _, mnemonic, operands in machine.rows(binary.elf.code(low, high), low):
            if start not in shown:
                continue
            step = machine.step(mnemonic)
            assert step is _step(shown[start][0]), (hex(start), mnemonic, shown[start])
            if step not in (FlowStep.NEXT, FlowStep.STOP):
                found = TARGET.search(shown[start][1]) if "(" not in shown[start][1] else None
                assert machine.direct_target(operands) == (int(found[1], 16) if found else None), hex(start)
                seen += 1
    assert seen > 1000


def _step(name: str) -> FlowStep:
    for pattern, step in (
        (CALLS, FlowStep.CALL),
        (JUMPS, FlowStep.JUMP),
        (BRANCHES, FlowStep.BRANCH),
        (STOPS, FlowStep.STOP),
    ):
        if pattern.fullmatch(name):
            return step
    return FlowStep.NEXT


def test_addresses_are_put_together() -> None:
    # adrp x0, 0x1000; ldr w1, [x0, #16]; add x0, x0, #32
    assert read(words(0x90000000, 0xB9401001, 0x91008000)) == [
        "adrp x0, #0x1000",
        "ldr w1, [0x1010]",
        "adr x0, [0x1020]",
    ]


def test_an_address_that_only_leads_to_others_reads_as_a_page() -> None:
    # adrp x0, 0x1000; add x0, x0, #32; add x0, x0, #32
    assert read(words(0x90000000, 0x91008000, 0x91008000)) == [
        "adrp x0, #0x1000",
        "adrp x0, #0x1020",
        "adr x0, [0x1040]",
    ]


def test_a_loop_forgets_what_it_writes() -> None:
    # adrp x0, 0x1000; ldr w1, [x0, #16]; add x0, x0, #32; b to the load
    assert read(words(0x90000000, 0xB9401001, 0x91008000, 0x17FFFFFE))[1:3] == [
        "ldr w1, [x0, #0x10]",
        "add x0, x0, #0x20",
    ]


def test_where_ways_meet_only_what_both_bring_is_known() -> None:
    # cbz x1, to the second adrp; adrp x0, 0x1000; b to the load; adrp x0, 0x2000; ldr w1, [x0, #16]
    assert read(words(0xB4000061, 0x90000000, 0x14000002, 0xB0000000, 0xB9401001))[-1] == "ldr w1, [x0, #0x10]"
    # AND the same with the same page twice
    assert read(words(0xB4000061, 0x90000000, 0x14000002, 0x90000000, 0xB9401001))[-1] == "ldr w1, [0x1010]"


def test_code_that_only_jumps_back_lead_to_brings_along_what_they_bring() -> None:
    # adrp x4, 0x1000; cbz x1, A; b D; A: add x0, x4, #16; ret; C: b B; B: b A; D: b C
    code = (0x90000004, 0xB4000041, 0x14000005, 0x91004080, 0xD65F03C0, 0x14000001, 0x17FFFFFD, 0x17FFFFFE)
    assert read(words(*code))[3] == "adr x0, [0x1010]"


def test_each_case_has_what_its_own_jump_brings() -> None:
    # adrp x21, 0x1000, and a jump through the table at 0x1060; its first case: add x2, x21, #32; ret; its second:
    # mov x21, #0, and a jump through the table at 0x1062
    code = words(
        *(0x90000015, 0x7100041F, 0x54000248, 0x90000001, 0x91018021, 0x38604820, 0x10000061, 0x8B208820, 0xD61F0000),
        *(0x910082A2, 0xD65F03C0, 0xD2800015, 0x7100047F, 0x540000E8, 0x90000001, 0x91018821, 0x38634823, 0x10000061),
        *(0x8B238823, 0xD61F0060, 0xD65F03C0, 0xD65F03C0),
    )
    tables = {0x1060: bytes([0, 2]), 0x1062: bytes([0, 1])}
    told = list(AARCH64.decoded(code, AT, lambda address, size: tables[address][:size]).rows)
    assert told[9][2:] == ("adr", "x2, [0x1020]")
    # THEN tables that cannot be read, and entries that lead nowhere, leave what all jumps bring
    assert list(AARCH64.decoded(code, AT).rows)[9][2:] == ("add", "x2, x21, #0x20")
    for nowhere in (b"", bytes([0, 100])):
        rows = AARCH64.decoded(code, AT, lambda _address, size, nowhere=nowhere: nowhere[:size]).rows
        assert list(rows)[9][2:] == ("add", "x2, x21, #0x20")


def test_a_call_loses_what_it_may_overwrite() -> None:
    # adrp x0, 0x1000; blr x5; ldr w1, [x0, #16]
    assert read(words(0x90000000, 0xD63F00A0, 0xB9401001))[-1] == "ldr w1, [x0, #0x10]"


def test_a_linkage_stub_jumps_through_its_slot() -> None:
    # bti c; adrp x16, 0x1000; ldr x17, [x16, #0xfb0]; add x16, x16, #0xfb0; br x17
    stub = words(0xD503245F, 0x90000010, 0xF947DA11, 0x913EC210, 0xD61F0220)
    assert len(stub) <= AARCH64.stub_bytes
    *_, (start, size, mnemonic, operands) = AARCH64.decoded(stub, AT).rows
    assert AARCH64.step(mnemonic) is FlowStep.JUMP
    assert AARCH64.fixed_address(operands, start + size) == 0x1FB0


def test_jumps_through_tables() -> None:
    # cmp w0, #3; b.hi behind; adrp x1, 0x1000; add x1, x1, #0x10; ldrb w0, [x1, w0, uxtw]; adr x1, the nop;
    # add x0, x1, w0, sxtb #2; br x0; nop; ret; brk
    code = words(
        *(0x71000C1F, 0x54000128, 0x90000001, 0x91004021, 0x38604820, 0x10000061),
        *(0x8B208820, 0xD61F0000, 0xD503201F, 0xD65F03C0, 0xD4207D00),
    )
    assert AARCH64.decoded(code, AT).table_jumps == {AT + 0x1C: TableJump(1, True, 2, AT + 0x20, 0x1010, 4)}
    # AND of addresses: ldr x2, [x1, x2, lsl #3]; br x2
    by_address = AARCH64.decoded(words(0xF8627822, 0xD61F0040), AT).table_jumps
    assert by_address == {AT + 4: TableJump(8, False, 0, None, None, None)}
    # AND a pointer that was not indexed is none: br x4
    assert AARCH64.decoded(words(0xD61F0080), AT).table_jumps == {}


@pytest.mark.parametrize(
    ("machine", "one", "other"),
    [
        (X86_64, "jne 0x10", "je 0x20"),
        (AARCH64, "b.ne #0x10", "b.eq #0x20"),
        (AARCH64, "cbnz x3, #0x10", "cbz x4, #0x20"),
        (AARCH64, "tbnz w0, #3, #0x10", "tbz w8, #3, #0x20"),
    ],
)
def test_both_ways_of_writing_a_condition_are_one_word(machine: Machine, one: str, other: str) -> None:
    assert machine.words.condition(*_split(one)) == machine.words.condition(*_split(other))


@pytest.mark.parametrize(
    ("machine", "text", "word"),
    [
        (X86_64, "mov rbx, rdi", ""),
        (X86_64, "mov dword ptr [rbp - 4], eax", ""),
        (X86_64, "add eax, dword ptr [rdi + 8]", "add r, dword ptr [r + 8]"),
        (X86_64, "mov eax, dword ptr [rip + 8]", None),
        (AARCH64, "mov x19, x0", ""),
        (AARCH64, "stp x29, x30, [sp, #-0x20]!", ""),
        (AARCH64, "sub sp, sp, #0x20", ""),
        (AARCH64, "add x29, sp, #0x10", ""),
        (AARCH64, "str w0, [x29, #-4]", ""),
        (AARCH64, "mov w0, #0", ""),
        (AARCH64, "adrp x0, #0x11000", ""),
        (AARCH64, "mov w2, #0x13", "mov w, 0x13"),
        (AARCH64, "ldr w3, [x19, #8]", "ldr w, [x, 8]"),
        (AARCH64, "ldr x3, [x19, #8]", "ldr x, [x, 8]"),
        (AARCH64, "str xzr, [x0, #8]", "str 0, [x, 8]"),
        (AARCH64, "add x1, sp, #0x18", "adr x, [stack]"),
        (AARCH64, "mov x1, sp", "adr x, [stack]"),
        (AARCH64, "fmul d0, d1, d2", "fmul d, d, d"),
        (AARCH64, "ldr x1, [0x11010]", None),
    ],
)
def test_words(machine: Machine, text: str, word: str | None) -> None:
    assert machine.words.plain(*_split(text)) == word


def _split(text: str) -> tuple[str, str]:
    mnemonic, _, operands = text.partition(" ")
    return mnemonic, operands


@pytest.mark.parametrize(
    ("machine", "text", "does", "source", "sizes"),
    [
        (AARCH64, "fcvtzu w0, d1", Does.COMPUTE, 33, (4, 8)),
        (AARCH64, "scvtf s0, x1", Does.COMPUTE, 1, (4, 8)),
        (AARCH64, "fmov x0, d1", Does.COPY, 33, (8, 8)),
        (X86_64, "cvttsd2si eax, xmm1", Does.COMPUTE, 33, (4, 8)),
        (X86_64, "vcvtsi2ss xmm0, xmm0, rax", Does.COMPUTE, 0, (4, 8)),
        (X86_64, "cvtss2sd xmm0, xmm1", Does.COMPUTE, 33, (8, 4)),
        (X86_64, "movq rax, xmm1", Does.COPY, 33, (8, 8)),
        (X86_64, "movapd xmm0, xmm1", Does.COPY, 33, (16, 16)),
    ],
)
def test_a_conversion_makes_another_value_and_a_move_does_not(
    machine: Machine, text: str, does: Does, source: int, sizes: tuple[int, int]
) -> None:
    mnemonic, _, operands = text.partition(" ")
    made = machine.operation(mnemonic, operands, 0)
    [effect] = made.effects
    assert (effect.does, effect.sources) == (does, (source,))
    assert (effect.size, made.sizes[-1]) == sizes


@pytest.mark.parametrize(
    ("text", "halves"),
    [
        ("punpcklqdq xmm0, xmm1", (32, 33)),
        ("vpunpcklqdq xmm0, xmm1, xmm2", (33, 34)),
        ("movhps xmm0, qword ptr [rax + 8]", (32, Memory((0,), 8, False))),
        ("pinsrq xmm0, rax, 1", (32, 0)),
        ("vpinsrq xmm2, xmm1, rax, 1", (33, 0)),
        ("pinsrq xmm0, rax, 0", None),
        ("movhps qword ptr [rax], xmm0", None),
        ("paddq xmm0, xmm1", None),
    ],
)
def test_a_vector_register_of_two_halves(text: str, halves: tuple[Operand, ...] | None) -> None:
    (effect,) = X86_64.operation(*_split(text), 0).effects
    assert (effect.sources if effect.does is Does.JOIN else None) == halves


def test_the_file_says_which_machine_it_is_for(tmp_path: Path, described: Describe) -> None:
    for target, machine in ((handmade.X86_64, X86_64), (handmade.AARCH64, AARCH64)):
        folder = tmp_path / target.name
        folder.mkdir()
        program = handmade.build(folder, target, [])
        elf = read_elf(program)
        assert elf is not None and machine_of(elf) is machine
    # AND of code of another machine nothing is said
    content = bytearray(program.read_bytes())
    content[18:20] = (243).to_bytes(2, "little")
    program.write_bytes(content)
    elf = read_elf(program)
    assert elf is not None and machine_of(elf) is None
    # AND its calls cannot be counted
    with pytest.raises(WhyperfError, match="holds code of another machine"):
        make_plan(described(program))
