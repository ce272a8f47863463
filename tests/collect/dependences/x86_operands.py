"""What an instruction of x86-64 reads and writes, by capstone and the manual: the oracle's own understanding."""

from __future__ import annotations

from collections.abc import Iterable

import capstone
from capstone import x86 as x

from tests.collect.dependences.effects import MASK, Effects, Place, bytes_at

_disassembler = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
_disassembler.detail = True

_GENERAL = {
    **{name: (full, 0, size) for full, names in {
        "rax": "rax eax ax al", "rbx": "rbx ebx bx bl", "rcx": "rcx ecx cx cl", "rdx": "rdx edx dx dl",
        "rsi": "rsi esi si sil", "rdi": "rdi edi di dil", "rbp": "rbp ebp bp bpl", "rsp": "rsp esp sp spl",
        **{f"r{n}": f"r{n} r{n}d r{n}w r{n}b" for n in range(8, 16)},
    }.items() for name, size in zip(names.split(), (8, 4, 2, 1), strict=True)},
    **{f"{letter}h": (f"r{letter}x", 1, 1) for letter in "abcd"},
}  # fmt: skip
_VECTOR = {f"{kind}mm{n}": (f"mm{n}", size) for kind, size in (("x", 16), ("y", 32)) for n in range(16)}
_FLAGS = "CPAZSO"
_TESTED = [
    x.X86_EFLAGS_TEST_CF,
    x.X86_EFLAGS_TEST_PF,
    0,
    x.X86_EFLAGS_TEST_ZF,
    x.X86_EFLAGS_TEST_SF,
    x.X86_EFLAGS_TEST_OF,
]
_CHANGED = [
    getattr(x, f"X86_EFLAGS_MODIFY_{f}F") | getattr(x, f"X86_EFLAGS_RESET_{f}F", 0)
    | getattr(x, f"X86_EFLAGS_SET_{f}F", 0) | getattr(x, f"X86_EFLAGS_UNDEFINED_{f}F", 0)
    for f in _FLAGS
]  # fmt: skip


def decode(code: bytes, address: int) -> capstone.CsInsn:
    return next(_disassembler.disasm(code, address, 1))


def general(name: str, *, write: bool) -> set[Place]:
    full, low, size = _GENERAL[name]
    if full == "rsp":
        return set()
    # A write of four bytes clears the upper four.
    if write and size == 4:
        size = 8
    return {(full, low + i) for i in range(size)}


def lanes(register: str, wanted: Iterable[int]) -> set[Place]:
    """Units of four bytes of a vector register."""
    name = _VECTOR[register][0]
    return {(name, 4 * lane + i) for lane in wanted for i in range(4)}


def effects(insn: capstone.CsInsn, registers: dict[str, int]) -> Effects | None:
    """None: a repeated instruction that does nothing this time."""
    found = Effects()
    mnemonic = insn.mnemonic.split()[-1]
    if mnemonic in _STRINGS or (mnemonic == "movsd" and insn.operands[1].type == insn.operands[0].type == x.X86_OP_MEM):
        return _string(insn, mnemonic, registers)
    _flags(insn, mnemonic, found)
    if mnemonic in _STACK:
        _stack(insn, mnemonic, registers, found)
    elif any(op.type == x.X86_OP_REG and insn.reg_name(op.reg) in _VECTOR for op in insn.operands):
        from tests.collect.dependences.x86_vectors import vector_effects

        vector_effects(insn, mnemonic, registers, found)
    elif mnemonic == "vzeroupper":
        found.writes |= {(f"mm{n}", i) for n in range(16) for i in range(16, 32)}
    elif mnemonic not in ("nop", "endbr64"):
        _scalar(insn, mnemonic, registers, found)
    found.addresses -= found.values
    return found


_STRINGS = {"movsb", "movsq", "stosb", "stosd", "stosq", "movsw", "stosw"}
_STACK = {"push", "pop", "call", "ret", "leave", "retq"}
_STRING_SIZES = {"b": 1, "w": 2, "d": 4, "q": 8}


def _flags(insn: capstone.CsInsn, mnemonic: str, found: Effects) -> None:
    if mnemonic == "test":  # capstone does not know the flags of `test [memory], register`
        found.writes |= {(letter, 0) for letter in _FLAGS}
        return
    for letter, tested, changed in zip(_FLAGS, _TESTED, _CHANGED, strict=True):
        if tested and insn.eflags & tested:
            found.values.add((letter, 0))
        if insn.eflags & changed:
            found.writes.add((letter, 0))


def address_of(insn: capstone.CsInsn, operand: x.X86Op, registers: dict[str, int]) -> tuple[int, set[Place]]:
    memory, places = operand.mem, set[Place]()
    address = memory.disp
    if memory.base == x.X86_REG_RIP:
        return (insn.address + insn.size + memory.disp) & MASK, places
    for register, scale in ((memory.base, 1), (memory.index, memory.scale)):
        if register:
            name = insn.reg_name(register)
            address += registers[_GENERAL[name][0]] * scale
            places |= general(name, write=False)
    return address & MASK, places


def _is_idiom(insn: capstone.CsInsn, mnemonic: str) -> bool:
    ops = insn.operands
    return (
        mnemonic in ("xor", "sub", "sbb")
        and len(ops) == 2
        and all(op.type == x.X86_OP_REG for op in ops)
        and ops[0].reg == ops[1].reg
    )


_IMPLICIT_SIZES = {
    "cdq": (("eax",), ("edx",)), "cqo": (("rax",), ("rdx",)), "cdqe": (("eax",), ("rax",)), "cwde": (("ax",), ("eax",)),
    "cwd": (("ax",), ("dx",)), "cbw": (("al",), ("ax",)),
}  # fmt: skip


def _multiply_or_divide(insn: capstone.CsInsn, mnemonic: str, found: Effects) -> None:
    size = insn.operands[0].size
    low, high = {1: ("al", "ah"), 2: ("ax", "dx"), 4: ("eax", "edx"), 8: ("rax", "rdx")}[size]
    found.values |= general(low, write=False)
    if mnemonic in ("div", "idiv"):
        found.values |= general(high, write=False)
    found.writes |= general(low, write=True) | general(high, write=True)


_WRITE_ONLY = {"mov", "movabs", "movzx", "movsx", "movsxd", "lea", "popcnt", "tzcnt", "lzcnt", "bsf", "bsr"}
_READ_ONLY = {"cmp", "test", "bt", "jmp", "ucomisd"}
_MOVES = {"mov", "movabs", "movzx", "movsx", "movsxd"}


def _roles(insn: capstone.CsInsn, mnemonic: str, index: int) -> tuple[bool, bool]:
    """Whether an explicit operand is read and written."""
    if mnemonic in ("xchg", "xadd"):
        return True, True
    if index:
        return True, False
    if mnemonic.startswith("set"):
        return False, True
    if mnemonic in ("mul", "div", "idiv") or (mnemonic == "imul" and len(insn.operands) == 1):
        return True, False
    if mnemonic in _READ_ONLY or mnemonic.startswith("j"):
        return True, False
    if mnemonic in _WRITE_ONLY or (mnemonic == "imul" and len(insn.operands) == 3):
        # bsf leaves its destination alone for 0: it is an input.
        return mnemonic in ("bsf", "bsr"), True
    return True, True


def _scalar(insn: capstone.CsInsn, mnemonic: str, registers: dict[str, int], found: Effects) -> None:
    if mnemonic in _IMPLICIT_SIZES:
        read, written = _IMPLICIT_SIZES[mnemonic]
        for name in read:
            found.values |= general(name, write=False)
        for name in written:
            found.writes |= general(name, write=True)
        return
    idiom = _is_idiom(insn, mnemonic)
    writes_register = False
    for index, operand in enumerate(insn.operands):
        reads, writes = _roles(insn, mnemonic, index)
        if operand.type == x.X86_OP_REG:
            name = insn.reg_name(operand.reg)
            if reads and not idiom:
                found.values |= general(name, write=False)
            if writes:
                found.writes |= general(name, write=True)
                writes_register = True
        elif operand.type == x.X86_OP_MEM:
            address, places = address_of(insn, operand, registers)
            if mnemonic == "lea":
                found.values |= places
                continue
            found.addresses |= places
            if reads:
                found.memory |= bytes_at(address, operand.size)
            if writes:
                found.stores |= bytes_at(address, operand.size)
    if mnemonic in ("mul", "div", "idiv") or (mnemonic == "imul" and len(insn.operands) == 1):
        _multiply_or_divide(insn, mnemonic, found)
        writes_register = True
    if mnemonic == "cmpxchg":
        size = insn.operands[0].size
        name = {1: "al", 2: "ax", 4: "eax", 8: "rax"}[size]
        found.values |= general(name, write=False)
        found.writes |= general(name, write=True)
        writes_register = True
    if mnemonic in ("lea", "mov") and insn.operands[0].type == x.X86_OP_REG and not found.writes:
        # The stack pointer says where, never what.
        found.values.clear()
    found.in_place = bool(found.memory and found.stores) and not writes_register
    if mnemonic in _MOVES:
        found.moves = _moves(insn, mnemonic, registers)


def _moves(insn: capstone.CsInsn, mnemonic: str, registers: dict[str, int]) -> dict[Place, tuple[Place, ...]] | None:
    into, source = insn.operands
    if source.type == x.X86_OP_IMM:
        return None

    def places(operand: x.X86Op) -> list[Place]:
        if operand.type == x.X86_OP_REG:
            full, low, size = _GENERAL[insn.reg_name(operand.reg)]
            # A part is what can be written by itself: reading four bytes reads the remainder of the register.
            size = 8 if operand is source and size == 4 else size
            return [(full, low + i) for i in range(size)]
        return [address_of(insn, operand, registers)[0] + i for i in range(operand.size)]

    written, read = places(into), places(source)
    if into.type == x.X86_OP_REG and into.size == 4:
        written = [(written[0][0], i) for i in range(8)]  # type: ignore[index]
    if into.type == x.X86_OP_MEM:
        read = read[: into.size]
    missing = (read[-1],) if mnemonic in ("movsx", "movsxd") else ()
    return {place: (read[i],) if i < len(read) else missing for i, place in enumerate(written)}


def _stack(insn: capstone.CsInsn, mnemonic: str, registers: dict[str, int], found: Effects) -> None:
    stack_pointer = registers["rsp"]
    below = bytes_at(stack_pointer - 8, 8)
    found.writes -= {(letter, 0) for letter in _FLAGS}
    if mnemonic in ("push", "call"):
        found.stores |= below
        operand = insn.operands[0]
        if operand.type == x.X86_OP_REG:
            name = insn.reg_name(operand.reg)
            found.values |= general(name, write=False)
            if mnemonic == "push":
                found.moves = {stack_pointer - 8 + i: ((_GENERAL[name][0], i),) for i in range(8)}
        elif operand.type == x.X86_OP_MEM:
            address, places = address_of(insn, operand, registers)
            found.addresses |= places
            found.memory |= bytes_at(address, 8)
            found.moves = None
    elif mnemonic == "leave":
        found.memory |= bytes_at(registers["rbp"], 8)
        found.addresses |= general("rbp", write=False)
        found.writes |= general("rbp", write=True)
        found.moves = None
    elif mnemonic == "pop":
        name = insn.reg_name(insn.operands[0].reg)
        found.memory |= bytes_at(stack_pointer, 8)
        found.writes |= general(name, write=True)
        found.moves = {(_GENERAL[name][0], i): (stack_pointer + i,) for i in range(8)}
    else:
        found.memory |= bytes_at(stack_pointer, 8)


def _string(insn: capstone.CsInsn, mnemonic: str, registers: dict[str, int]) -> Effects | None:
    found = Effects()
    repeated = insn.prefix[0] in (0xF2, 0xF3)
    if repeated and registers["rcx"] == 0:
        return None
    size = _STRING_SIZES[mnemonic[4]]
    pointers = ["rdi"]
    found.stores |= bytes_at(registers["rdi"], size)
    if mnemonic.startswith("movs"):
        pointers.append("rsi")
        found.memory |= bytes_at(registers["rsi"], size)
    else:
        found.values |= general({1: "al", 2: "ax", 4: "eax", 8: "rax"}[size], write=False)
    for name in [*pointers, *(["rcx"] if repeated else [])]:
        found.values |= general(name, write=False)
        found.writes |= general(name, write=True)
    return found
