"""What an instruction of 64-bit ARM reads and writes, by capstone and the manual: the oracle's own understanding.

A general register is one unit: whatever reads a part of it reads all. Vector registers have units of four bytes.
"""

from __future__ import annotations

import capstone
from capstone import arm64 as a

from tests.collect.dependences.effects import MASK, Effects, Place, UnknownInstructionError, bytes_at

_disassembler = capstone.Cs(capstone.CS_ARCH_ARM64, capstone.CS_MODE_LITTLE_ENDIAN)
_disassembler.detail = True

_ALL_FLAGS: set[Place] = {(letter, 0) for letter in "CZSO"}
# By pairs of conditions: eq ne, hs lo, mi pl, vs vc, hi ls, ge lt, gt le.
_CONDITIONS = ("Z", "C", "S", "O", "CZ", "SO", "ZSO", "")
_VECTOR_SIZES = {"b": 4, "h": 4, "s": 4, "d": 8, "q": 16, "v": 16}

_BRANCHES = {"b", "bl", "blr", "br", "ret", "cbz", "cbnz", "tbz", "tbnz"}
_NOTHING = {"nop", "hint", "bti", "paciasp", "autiasp"}
_COMPARE = {"cmp", "cmn", "tst", "ccmp", "ccmn", "fcmp", "fcmpe", "fccmp", "fccmpe"}
_KEEP = {"movk", "bfi", "bfxil", "bfc"}  # and what the instruction leaves of its destination
_BY_CONDITION = {
    "csel", "csinc", "csinv", "csneg", "cset", "csetm", "cinc", "cinv", "cneg", "fcsel", "ccmp", "ccmn", "fccmp",
    "fccmpe",
}  # fmt: skip
_COMPUTE = {
    "mov", "movz", "movn", "adr", "adrp", "add", "adds", "sub", "subs", "and", "ands", "orr", "eor", "bic", "bics",
    "orn", "eon", "lsl", "lsr", "asr", "ror", "ubfx", "sbfx", "ubfiz", "sbfiz", "sxtb", "sxth", "sxtw", "uxtb", "uxth",
    "uxtw", "mul", "madd", "msub", "mneg", "smull", "umull", "smaddl", "umaddl", "smsubl", "umsubl", "smulh", "umulh",
    "sdiv", "udiv", "neg", "negs", "mvn", "rev", "rev16", "rev32", "rbit", "clz", "cls", "extr", "adc", "adcs", "sbc",
    "sbcs", "fmov", "fadd", "fsub", "fmul", "fnmul", "fdiv", "fmadd", "fmsub", "fnmadd", "fnmsub", "scvtf", "ucvtf",
    "fcvt", "fcvtzs", "fcvtzu", "fneg", "fabs", "fsqrt", "movi", "mvni",
}  # fmt: skip
_CARRY = {"adc", "adcs", "sbc", "sbcs"}
_SET_FLAGS = {"adds", "subs", "ands", "bics", "negs", "adcs", "sbcs"}
# Each unit of the result is of all units of the sources.
_VECTORS = {
    "add", "sub", "mul", "and", "bic", "cmgt", "cmge", "cmeq", "fadd", "fsub", "fmul", "fdiv", "fcmgt", "fcmge",
    "fcmeq", "fcmlt", "fcmle", "cmlt", "cmle", "cmhi", "cmhs", "scvtf", "ucvtf", "shl", "ushr", "sshr", "neg", "fneg",
    "mvn", "not", "smax", "smin", "umax", "umin", "addp", "addv", "faddp", "fmov", "movi", "mvni",
}  # fmt: skip
_ATOMIC_STORES = ("stadd", "stclr", "steor", "stset")
_ATOMIC_LOADS = ("ldadd", "ldclr", "ldeor", "ldset", "swp")


def decode(code: bytes, address: int) -> capstone.CsInsn:
    return next(_disassembler.disasm(code[:4], address, 1))


def effects(insn: capstone.CsInsn, registers: dict[str, int]) -> Effects:
    found = Effects()
    name = insn.mnemonic.split(".")[0]
    if name.startswith(("ld", "st", "swp", "cas")):
        _memory(insn, name, registers, found)
    elif name in _BRANCHES:
        _branch(insn, name, found)
    elif name in _COMPARE:
        for operand in insn.operands:
            found.values |= _read(insn, operand)
        found.writes |= _ALL_FLAGS
    elif any(operand.vas for operand in insn.operands):
        _vector(insn, name, found)
    elif name in _COMPUTE | _KEEP | _BY_CONDITION:
        _compute(insn, name, found)
    elif name not in _NOTHING:
        raise UnknownInstructionError(f"{insn.mnemonic} {insn.op_str}")
    if name in _BY_CONDITION or insn.mnemonic.startswith("b."):
        found.values |= _condition(insn)
    found.addresses -= found.values
    return found


def _condition(insn: capstone.CsInsn) -> set[Place]:
    return {(letter, 0) for letter in _CONDITIONS[(insn.cc - 1) >> 1]}


def _name(insn: capstone.CsInsn, register: int) -> str:
    name: str = insn.reg_name(register)
    return {"fp": "x29", "lr": "x30"}.get(name, name)


def _register(name: str) -> set[Place]:
    """All of a register's unit; nothing of the stack pointer and of the register that is always zero."""
    if name in ("sp", "wsp", "xzr", "wzr"):
        return set()
    if name[0] in "xw":
        return {(f"x{name[1:]}", i) for i in range(8)}
    return {(f"v{name[1:]}", i) for i in range(_VECTOR_SIZES[name[0]])}


def _read(insn: capstone.CsInsn, operand: a.Arm64Op) -> set[Place]:
    return _register(_name(insn, operand.reg)) if operand.type == a.ARM64_OP_REG else set()


def _written(insn: capstone.CsInsn, operand: a.Arm64Op) -> set[Place]:
    name = _name(insn, operand.reg)
    # Writing any part of a vector register clears the rest.
    return _register(name if name[0] in "xw" or name in ("sp", "wsp") else f"v{name[1:]}")


def _branch(insn: capstone.CsInsn, name: str, found: Effects) -> None:
    for operand in insn.operands:
        found.values |= _read(insn, operand)
    if name == "ret" and not insn.operands:
        found.values |= _register("x30")
    if name in ("bl", "blr"):
        found.writes |= _register("x30")


def _compute(insn: capstone.CsInsn, name: str, found: Effects) -> None:
    into, *sources = insn.operands
    found.writes |= _written(insn, into)
    for operand in sources:
        found.values |= _read(insn, operand)
    if name in _KEEP:
        found.values |= _read(insn, into)
    if name in _CARRY:
        found.values.add(("C", 0))
    if name in _SET_FLAGS:
        found.writes |= _ALL_FLAGS
    if not found.writes:
        # The stack pointer says where, never what.
        found.values.clear()
    if name == "mov" and sources[0].type == a.ARM64_OP_REG and found.values:
        found.moves = {place: (place_in,) for place, place_in in _pairs(found.writes, found.values)}


def _pairs(into: set[Place], source: set[Place]) -> list[tuple[Place, Place]]:
    return list(zip(sorted(into, key=str), sorted(source, key=str), strict=True))


def _vector(insn: capstone.CsInsn, name: str, found: Effects) -> None:
    into, *sources = insn.operands
    whole_registers = all(operand.vector_index < 0 for operand in insn.operands)
    if name not in _VECTORS or not whole_registers:
        raise UnknownInstructionError(f"{insn.mnemonic} {insn.op_str}")
    found.writes |= _written(insn, into)
    for operand in sources:
        found.values |= _read(insn, operand)


def _address(insn: capstone.CsInsn, operand: a.Arm64Op, registers: dict[str, int]) -> tuple[int, set[Place]]:
    memory = operand.mem
    base = _name(insn, memory.base)
    address, places = registers[base] + memory.disp, _register(base)
    if memory.index:
        name = _name(insn, memory.index)
        value = 0 if name in ("xzr", "wzr") else registers[f"x{name[1:]}"]
        if operand.ext in (a.ARM64_EXT_UXTW, a.ARM64_EXT_SXTW) or name[0] == "w":
            value &= 2**32 - 1
            if operand.ext == a.ARM64_EXT_SXTW and value >> 31:
                value -= 2**32
        address += value << operand.shift.value
        places |= _register(name)
    return address & MASK, places


def _memory(insn: capstone.CsInsn, name: str, registers: dict[str, int], found: Effects) -> None:
    if name.startswith(("stx", "ldx", "stlx", "ldax", "ld1", "st1", "ld2", "st2", "ld3", "st3", "ld4", "st4")):
        raise UnknownInstructionError(f"{insn.mnemonic} {insn.op_str}")
    moved = [_name(insn, operand.reg) for operand in insn.operands if operand.type == a.ARM64_OP_REG]
    (place,) = (operand for operand in insn.operands if operand.type == a.ARM64_OP_MEM)
    address, found.addresses = _address(insn, place, registers)
    size = _size(name, moved[-1])
    if name.startswith((*_ATOMIC_LOADS, *_ATOMIC_STORES, "cas")):
        _atomic(name, moved, address, size, found)
        return
    base: set[Place] = _register(_name(insn, place.mem.base)) if insn.writeback else set()
    found.values |= base
    found.writes |= base
    found.moves = {byte: (byte,) for byte in base}
    for number, register in enumerate(moved):
        at = address + number * size
        if name.startswith("ld"):
            into = _register(register if register[0] in "xw" else f"v{register[1:]}")
            found.memory |= bytes_at(at, size)
            found.writes |= into
            signed = name.startswith(("ldrs", "ldurs", "ldpsw"))
            found.moves |= {byte: _source_in_memory(byte, at, size, signed=signed) for byte in into}  # type: ignore[arg-type]
        else:
            found.values |= _register(register)
            found.stores |= bytes_at(at, size)
            found.moves |= {at + i: _source_in_register(register, i) for i in range(size)}


def _size(name: str, register: str) -> int:
    if name.endswith("b"):
        return 1
    if name.endswith("h"):
        return 2
    if name.endswith("sw"):
        return 4
    return {"w": 4, "x": 8, "b": 1, "h": 2, "s": 4, "d": 8, "q": 16}[register[0]]


def _unit(byte: int) -> range:
    return range(byte // 4 * 4, byte // 4 * 4 + 4)


def _source_in_memory(byte: tuple[str, int], address: int, size: int, *, signed: bool) -> tuple[Place, ...]:
    register, number = byte
    if number >= size:
        return (address + size - 1,) if signed else ()
    return (address + number,) if register[0] == "x" else tuple(address + i for i in _unit(number))


def _source_in_register(register: str, byte: int) -> tuple[Place, ...]:
    if register in ("xzr", "wzr"):
        return ()
    if register[0] in "xw":
        return ((next(iter(_register(register)))[0], byte),)  # type: ignore[index]
    return tuple((f"v{register[1:]}", i) for i in _unit(byte))


def _atomic(name: str, moved: list[str], address: int, size: int, found: Effects) -> None:
    found.memory |= bytes_at(address, size)
    found.stores |= bytes_at(address, size)
    found.values |= _register(moved[0])
    if name.startswith("cas"):
        found.values |= _register(moved[1])
        found.writes |= _register(moved[0])
    elif name.startswith(_ATOMIC_LOADS):
        found.writes |= _register(moved[1])
    found.in_place = not found.writes
