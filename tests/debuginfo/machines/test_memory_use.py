"""What instructions do to memory by their text, against capstone's operand details."""

from __future__ import annotations

import capstone
import pytest
from capstone import arm64_const, x86_const

from tests.debuginfo.conftest import Describe
from whyperf.debuginfo.machines import AARCH64, X86_64, Machine
from whyperf.recording.schemas.deep_tables import MemoryUse

# What capstone itself calls reading: addresses that are only computed, stores of vectors, and the stack's own doings.
_CAPSTONE_ERRS = {X86_64: ("lea", "nop", "call", "push", "test", "set"), AARCH64: ("prf",)}
_DECODERS = {
    X86_64: (capstone.CS_ARCH_X86, capstone.CS_MODE_64, x86_const.X86_OP_MEM),
    AARCH64: (capstone.CS_ARCH_ARM64, capstone.CS_MODE_LITTLE_ENDIAN, arm64_const.ARM64_OP_MEM),
}


def test_reads_and_writes_agree_with_operand_details(described: Describe) -> None:
    shell = described("/bin/bash")
    machine = shell.machine
    assert machine is not None
    architecture, mode, in_memory = _DECODERS[machine]
    decoder = capstone.Cs(architecture, mode)
    decoder.detail = True
    wrong: set[str] = set()
    seen = 0
    assert shell.elf is not None
    for low, high in zip(shell.code.body_low.tolist()[::20], shell.code.body_high.tolist()[::20], strict=True):
        for one in decoder.disasm(shell.elf.code(low, high), low):
            memory = [operand for operand in one.operands if operand.type == in_memory]
            errs = one.mnemonic.startswith(_CAPSTONE_ERRS[machine]) or "mm" in one.op_str
            # Of a load that moves its base, capstone says that it writes memory.
            errs = errs or (machine is AARCH64 and one.writeback)
            if not memory or errs:
                continue
            expected = MemoryUse(0)
            for operand in memory:
                expected |= MemoryUse(operand.access & (MemoryUse.READS | MemoryUse.WRITES))
            if machine is AARCH64 and one.mnemonic.startswith("st"):  # capstone says that all stores read, too
                expected &= ~MemoryUse.READS
            seen += 1
            if machine.memory_use(one.mnemonic, one.op_str) != expected:
                wrong.add(f"{one.mnemonic} {one.op_str}")
    assert seen > 500 and not wrong


_X86_64 = [
    ("mov qword ptr [rsp + 8], rax", MemoryUse.WRITES),
    ("mov rax, qword ptr [rsp + 8]", MemoryUse.READS),
    ("add dword ptr [rax], 1", MemoryUse.READS | MemoryUse.WRITES),
    ("cmp dword ptr [rax], 1", MemoryUse.READS),
    ("lea rax, [rdi + 4]", MemoryUse(0)),
    ("push rbx", MemoryUse.WRITES),
    ("push qword ptr [rax]", MemoryUse.READS | MemoryUse.WRITES),
    ("pop rbx", MemoryUse.READS),
    ("call qword ptr [rip + 16]", MemoryUse.READS | MemoryUse.WRITES),
    ("jmp qword ptr [rax*8 + 16]", MemoryUse.READS),
    ("xchg qword ptr [rax], rcx", MemoryUse.READS | MemoryUse.WRITES),
    ("sete byte ptr [rax]", MemoryUse.WRITES),
    ("imul rax, qword ptr [rcx], 3", MemoryUse.READS),
    ("vmovups ymmword ptr [rax], ymm0", MemoryUse.WRITES),
    ("lock cmpxchg qword ptr [rdi], rsi", MemoryUse.READS | MemoryUse.WRITES),
    ("rep movsb byte ptr [rdi], byte ptr [rsi]", MemoryUse.READS | MemoryUse.WRITES),
]
_AARCH64 = [
    ("str x0, [sp, #8]", MemoryUse.WRITES),
    ("ldr x0, [sp, #8]", MemoryUse.READS),
    ("ldp x29, x30, [sp], #0x20", MemoryUse.READS),
    ("stp x29, x30, [sp, #-0x20]!", MemoryUse.WRITES),
    ("ldrsw x0, [x1, x2, lsl #2]", MemoryUse.READS),
    ("adr x0, [0x11010]", MemoryUse(0)),
    ("add x0, x1, #8", MemoryUse(0)),
    ("prfm pldl1keep, [x0]", MemoryUse(0)),
    ("bl #0x1000", MemoryUse(0)),
    ("blr [0x11010]", MemoryUse(0)),
    ("ret", MemoryUse(0)),
    ("ldxr w0, [x1]", MemoryUse.READS),
    ("stlxr w2, w0, [x1]", MemoryUse.WRITES),
    ("ldaddal w0, w1, [x2]", MemoryUse.READS | MemoryUse.WRITES),
    ("swp w0, w1, [x2]", MemoryUse.READS | MemoryUse.WRITES),
    ("casa x0, x1, [x2]", MemoryUse.READS | MemoryUse.WRITES),
    ("ldar w0, [x1]", MemoryUse.READS),
    ("st1 {v0.16b}, [x0], #16", MemoryUse.WRITES),
]


@pytest.mark.parametrize(
    ("machine", "text", "use"),
    [(machine, *one) for machine, examples in ((X86_64, _X86_64), (AARCH64, _AARCH64)) for one in examples],
    ids=lambda one: one.name if isinstance(one, Machine) else None,
)
def test_by_example(machine: Machine, text: str, use: MemoryUse) -> None:
    prefix = next((p for p in ("rep ", "lock ") if text.startswith(p)), "")
    mnemonic, _, operands = text.removeprefix(prefix).partition(" ")
    assert machine.memory_use(prefix + mnemonic, operands) == use
