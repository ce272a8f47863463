"""Loads and stores of x86-64, for gdb."""

from __future__ import annotations

import capstone
from capstone import x86


def address_expression(insn: capstone.CsInsn) -> tuple[str, int] | None:
    """What a load reads, for gdb, and how many bytes; None for what gdb cannot watch at once."""
    memory = [op for op in insn.operands if op.type == x86.X86_OP_MEM]
    if insn.mnemonic == "pop" and not memory:
        return "$rsp", 8
    if len(memory) != 1 or memory[0].size > 8 or memory[0].mem.segment or insn.mnemonic in ("push", "call", "jmp"):
        return None
    place = memory[0].mem
    parts = [str(place.disp)]
    if place.base == x86.X86_REG_RIP:
        parts.append(f"{insn.size} + $pc")
    elif place.base:
        parts.append(f"${insn.reg_name(place.base)}")
    if place.index:
        parts.append(f"${insn.reg_name(place.index)} * {place.scale}")
    return " + ".join(parts), memory[0].size


def stores(insn: capstone.CsInsn) -> bool:
    memory = [op for op in insn.operands if op.type == x86.X86_OP_MEM]
    return insn.mnemonic in ("push", "call") or any(op.access & capstone.CS_AC_WRITE for op in memory)
