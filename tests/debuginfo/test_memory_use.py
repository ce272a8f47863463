"""What instructions do to memory by their text, against capstone's operand details."""

from __future__ import annotations

import capstone
import pytest
from capstone import x86_const

from whyperf.debuginfo.memory_use import memory_use
from whyperf.recording.deep_tables import MemoryUse

from .conftest import Describe

# What capstone itself calls reading: addresses that are only computed, stores of vectors, and the stack's own doings.
_CAPSTONE_ERRS = ("lea", "nop", "call", "push", "test", "set")


def test_reads_and_writes_agree_with_operand_details(described: Describe) -> None:
    shell = described("/bin/bash")
    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    decoder.detail = True
    wrong: set[str] = set()
    seen = 0
    assert shell.elf is not None
    for low, high in zip(shell.code.body_low.tolist()[::20], shell.code.body_high.tolist()[::20], strict=True):
        for one in decoder.disasm(shell.elf.code(low, high), low):
            memory = [operand for operand in one.operands if operand.type == x86_const.X86_OP_MEM]
            if not memory or one.mnemonic.startswith(_CAPSTONE_ERRS) or "mm" in one.op_str:
                continue
            expected = MemoryUse(0)
            for operand in memory:
                expected |= MemoryUse(operand.access & (MemoryUse.READS | MemoryUse.WRITES))
            seen += 1
            if memory_use(one.mnemonic, one.op_str) != expected:
                wrong.add(f"{one.mnemonic} {one.op_str}")
    assert seen > 500 and not wrong


@pytest.mark.parametrize(
    ("text", "use"),
    [
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
    ],
)
def test_by_example(text: str, use: MemoryUse) -> None:
    prefix = next((p for p in ("rep ", "lock ") if text.startswith(p)), "")
    mnemonic, _, operands = text.removeprefix(prefix).partition(" ")
    assert memory_use(prefix + mnemonic, operands) == use
