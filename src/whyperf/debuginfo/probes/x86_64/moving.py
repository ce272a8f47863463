"""Instructions that may run elsewhere than where they were: each is decoded again where it is put, and compared."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cache
from typing import Any

import capstone
from capstone import x86

from whyperf.debuginfo.machines.x86_64.control import relative_target
from whyperf.recording.schemas.call_tables import NotCounted

_STACK_REGISTERS = frozenset({x86.X86_REG_RSP, x86.X86_REG_ESP, x86.X86_REG_SP, x86.X86_REG_SPL, x86.X86_REG_SS})
_FLOW = frozenset(
    {
        capstone.CS_GRP_JUMP,
        capstone.CS_GRP_CALL,
        capstone.CS_GRP_RET,
        capstone.CS_GRP_INT,
        capstone.CS_GRP_IRET,
        capstone.CS_GRP_PRIVILEGE,
    }
)
# Ordinary computing: what is not here stays where it is.
_GENERAL = """mov movabs movzx movsx movsxd lea xor add sub and or test cmp inc dec neg not shl shr sar imul push nop
    cdq cqo cdqe cwde cbw bt bswap"""
_VECTOR = """movss movsd movaps movups movapd movupd movdqa movdqu movq movd movhps movlps pxor xorps xorpd andps andpd
    cvtsi2sd cvtsi2ss cvtss2sd cvtsd2ss addsd subsd mulsd divsd addss subss mulss divss comisd comiss ucomisd ucomiss
    punpcklqdq unpcklps unpcklpd"""
_CONDITIONS = "e ne a ae b be g ge l le s ns o no p np"
_MOVABLE = frozenset(
    (
        *_GENERAL.split(),
        *_VECTOR.split(),
        *(f"{verb}{condition}" for verb in ("cmov", "set") for condition in _CONDITIONS.split()),
    )
)
_DISTANCE = struct.Struct("<i")
_INDIRECT = 0xFF
_CALL_EXTENSION, _JUMP_EXTENSION, _EXTENSION_BITS = 0x10, 0x20, 0x38
_PREFIXES = frozenset({0x3E, 0xF2, *range(0x40, 0x50)})  # notrack, bnd, REX


@dataclass(frozen=True)
class MovedInstruction:
    """An instruction that can be put elsewhere."""

    address: int
    content: bytes
    near: int | None = None
    """What it finds relative to itself."""
    distance_at: int = 0
    """Where in it that distance is."""

    def placed_at(self, address: int) -> bytes:
        """Its bytes there, so that it still finds what it found. The distance fits: it is corrected once more later."""
        if self.near is None:
            return self.content
        distance = _DISTANCE.pack(_wrapped(self.near - address - len(self.content)))
        return self.content[: self.distance_at] + distance + self.content[self.distance_at + _DISTANCE.size :]


def _wrapped(distance: int) -> int:
    return (distance + (1 << 31)) % (1 << 32) - (1 << 31)


def movable(address: int, content: bytes, *, stack_is_lower: bool) -> MovedInstruction | NotCounted:
    """`stack_is_lower`: where it is put, a return address lies on top of the stack."""
    one = _detailed(content, address)
    if one is None or one.mnemonic not in _MOVABLE or _FLOW.intersection(one.groups):
        return NotCounted.NOT_MOVABLE
    if stack_is_lower and _touches_stack(one):
        return NotCounted.STACK
    return located(one)


def copied(address: int, content: bytes) -> MovedInstruction | NotCounted:
    """Any instruction but those that lead elsewhere or into the system."""
    one = _detailed(content, address)
    if one is None or _FLOW.intersection(one.groups):
        return NotCounted.NOT_MOVABLE
    return located(one)


def pointer_jump(address: int, content: bytes, *, is_call: bool) -> MovedInstruction | NotCounted:
    """A call or jump through a pointer; a call must not find the pointer by way of the stack."""
    one = _detailed(content, address)
    at = _opcode_at(content)
    extension = _CALL_EXTENSION if is_call else _JUMP_EXTENSION
    if one is None or at is None or content[at + 1] & _EXTENSION_BITS != extension:
        return NotCounted.NOT_MOVABLE
    if is_call and any(_STACK_REGISTERS.intersection(_registers(operand)) for operand in one.operands):
        return NotCounted.STACK
    return located(one)


def as_jump(call: MovedInstruction) -> MovedInstruction:
    """`jmp *x` for `call *x`, of the same length."""
    at = _opcode_at(call.content)
    assert at is not None
    content = bytearray(call.content)
    content[at + 1] ^= _CALL_EXTENSION ^ _JUMP_EXTENSION
    return MovedInstruction(call.address, bytes(content), call.near, call.distance_at)


def relative_part(address: int, content: bytes) -> MovedInstruction | NotCounted:
    """Any instruction with its distance."""
    one = _detailed(content, address)
    return NotCounted.NOT_MOVABLE if one is None else located(one)


def located(one: Any) -> MovedInstruction | NotCounted:
    """With its distance, if it has one and it is beyond doubt where: capstone says so, and the instruction decoded
    at another address, with that distance changed, finds the same."""
    near = relative_target(one.op_str, one.address + one.size)
    if near is None:
        return MovedInstruction(one.address, bytes(one.bytes))
    at = one.encoding.disp_offset
    distance = _DISTANCE.pack(_wrapped(near - one.address - one.size))
    if one.encoding.disp_size != _DISTANCE.size or bytes(one.bytes[at : at + _DISTANCE.size]) != distance:
        at = bytes(one.bytes).find(distance)  # capstone is wrong about some SSE instructions
        if bytes(one.bytes).count(distance) != 1:
            return NotCounted.NOT_MOVABLE
    moved = MovedInstruction(one.address, bytes(one.bytes), near, at)
    return moved if all(_finds_the_same(one, moved, by) for by in (0x10203, -0x1020304)) else NotCounted.NOT_MOVABLE


def _finds_the_same(one: Any, moved: MovedInstruction, by: int) -> bool:
    address = max(one.address + by, 0)
    other = _detailed(moved.placed_at(address), address)
    return (
        other is not None
        and (other.id, other.size) == (one.id, one.size)
        and relative_target(other.op_str, address + other.size) == moved.near
        and _without_distance(other.op_str) == _without_distance(one.op_str)
    )


def _without_distance(operands: str) -> str:
    before, _, after = operands.partition("[rip")
    return before + "[]" + after.partition("]")[2]


def _touches_stack(one: Any) -> bool:
    if one.mnemonic == "push":
        return True
    read, written = one.regs_access()
    return bool(_STACK_REGISTERS.intersection((*read, *written)))


def _registers(operand: Any) -> tuple[int, ...]:
    if operand.type == x86.X86_OP_REG:
        return (operand.reg,)
    return (operand.mem.base, operand.mem.index) if operand.type == x86.X86_OP_MEM else ()


def _opcode_at(content: bytes) -> int | None:
    """Of a call or jump through a pointer: behind prefixes."""
    at = 0
    while at < len(content) and content[at] in _PREFIXES:
        at += 1
    return at if at + 1 < len(content) and content[at] == _INDIRECT else None


def _detailed(content: bytes, address: int) -> Any | None:
    """The one instruction that these bytes are; None if they are not exactly one."""
    found = next(_decoder().disasm(content, address, 1), None)
    return found if found is not None and found.size == len(content) else None


@cache
def _decoder() -> Any:
    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    decoder.detail = True
    return decoder
