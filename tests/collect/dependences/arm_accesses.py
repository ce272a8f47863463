"""Loads and stores of 64-bit ARM, for gdb."""

from __future__ import annotations

import capstone
from capstone import arm64 as a

_SIZES = {"b": 1, "h": 2, "w": 4}
_EXTENSIONS = {a.ARM64_EXT_UXTW: "(unsigned)", a.ARM64_EXT_SXTW: "(long)(int)"}


def address_expression(insn: capstone.CsInsn) -> tuple[str, int] | None:
    """What a load reads, for gdb, and how many bytes; None for what gdb cannot watch at once."""
    register = insn.reg_name(insn.operands[0].reg) if insn.operands else ""
    memory = [op for op in insn.operands if op.type == a.ARM64_OP_MEM]
    if len(memory) != 1 or register[0] not in "xw" or not insn.mnemonic.startswith(("ldr", "ldur")):
        return None
    place = memory[0].mem
    parts = [str(place.disp), f"${insn.reg_name(place.base)}"]
    if place.index:
        extension = _EXTENSIONS.get(memory[0].ext, "")
        parts.append(f"({extension}${_whole(insn.reg_name(place.index))} << {memory[0].shift.value})")
    size = _SIZES.get(insn.mnemonic[-1], 8 if register[0] == "x" else 4)
    return " + ".join(parts), size


def _whole(register: str) -> str:
    return f"x{register[1:]}" if register[0] == "w" else register


def stores(insn: capstone.CsInsn) -> bool:
    return insn.mnemonic.startswith(("st", "swp", "cas", "ldadd", "ldset", "ldclr", "ldeor"))
