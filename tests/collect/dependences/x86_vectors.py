"""Vector instructions of x86-64: which units of four bytes of the result come from which of the inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import capstone
from capstone import x86 as x

from tests.collect.dependences.effects import Effects, Place, UnknownInstructionError
from tests.collect.dependences.x86_operands import address_of, general

_VECTOR = {f"{kind}mm{n}": (f"mm{n}", size // 4) for kind, size in (("x", 16), ("y", 32)) for n in range(16)}

Unit = tuple[int, int]
"""A source operand's number, and a unit of it."""
Shape = Callable[[int, int], Sequence[set[Unit] | None]]
"""From the number of units of a register and the immediate operand: what each unit of the result is made of, sources
numbered from 0. None: the unit stays what it was; missing units become 0."""


def _all(sources: int) -> Shape:
    return lambda units, _: [{(s, u) for s in range(sources) for u in range(units)}] * units


def _same(units: int, _: int) -> Sequence[set[Unit]]:
    return [{(0, u)} for u in range(units)]


def _per_half(select: Callable[[int], Sequence[Unit]]) -> Shape:
    """The same within each half of 16 bytes."""
    return lambda units, imm: [{(s, 4 * half + u)} for half in range(units // 4) for s, u in select(imm)]


def _shuffle(imm: int) -> Sequence[Unit]:
    return [(0, imm >> (2 * i) & 3) for i in range(4)]


_SHAPES: dict[str, Shape] = {
    **dict.fromkeys(["movaps", "movups", "movapd", "movupd", "movdqa", "movdqu", "lddqu", "movntdq", "movntps"], _same),
    "unpcklps": _per_half(lambda _: [(0, 0), (1, 0), (0, 1), (1, 1)]),
    "unpckhps": _per_half(lambda _: [(0, 2), (1, 2), (0, 3), (1, 3)]),
    "unpcklpd": _per_half(lambda _: [(0, 0), (0, 1), (1, 0), (1, 1)]),
    "unpckhpd": _per_half(lambda _: [(0, 2), (0, 3), (1, 2), (1, 3)]),
    "shufps": _per_half(
        lambda imm: [(0, imm & 3), (0, imm >> 2 & 3), (1, imm >> 4 & 3), (1, imm >> 6 & 3)]
    ),
    "pshufd": _per_half(_shuffle),
    "permilps": _per_half(_shuffle),
    "movddup": _per_half(lambda _: [(0, 0), (0, 1), (0, 0), (0, 1)]),
    "movlhps": lambda _units, _imm: [{(0, 0)}, {(0, 1)}, {(1, 0)}, {(1, 1)}],
    "movhlps": lambda _units, _imm: [{(1, 2)}, {(1, 3)}, {(0, 2)}, {(0, 3)}],
    "permq": lambda _, imm: [{(0, 2 * (imm >> (2 * i) & 3) + h)} for i in range(4) for h in range(2)],
    "perm2i128": lambda _, imm: [
        set() if imm >> (4 * i + 3) & 1 else {(imm >> (4 * i + 1) & 1, 4 * (imm >> (4 * i) & 1) + u)}
        for i in range(2)
        for u in range(4)
    ],
    "extracti128": lambda _, imm: [{(0, 4 * (imm & 1) + u)} for u in range(4)],
    "inserti128": lambda _, imm: [
        {(1, u % 4)} if u // 4 == imm & 1 else {(0, u)} for u in range(8)
    ],
    "pblendd": lambda units, imm: [{(imm >> u & 1, u)} for u in range(units)],
    "broadcastss": lambda units, _: [{(0, 0)}] * units,
    "broadcastsd": lambda units, _: [{(0, u % 2)} for u in range(units)],
    "broadcasti128": lambda units, _: [{(0, u % 4)} for u in range(units)],
}  # fmt: skip
_ALIASES = {
    "punpckldq": "unpcklps", "punpckhdq": "unpckhps", "punpcklqdq": "unpcklpd", "punpckhqdq": "unpckhpd",
    "permpd": "permq", "perm2f128": "perm2i128", "extractf128": "extracti128", "insertf128": "inserti128",
    "blendps": "pblendd", "pbroadcastd": "broadcastss", "pbroadcastq": "broadcastsd", "broadcastf128": "broadcasti128",
}  # fmt: skip
_WHOLE_UNARY = {"cvtdq2ps", "cvttps2dq", "cvtps2dq", "sqrtps", "sqrtpd", "pabsd"}
_WHOLE_BINARY = {
    "addps",
    "addpd",
    "subps",
    "subpd",
    "mulps",
    "mulpd",
    "divps",
    "divpd",
    "minps",
    "minpd",
    "maxps",
    "maxpd",
    "andps",
    "andpd",
    "orps",
    "orpd",
    "xorps",
    "xorpd",
    "andnps",
    "andnpd",
    "paddd",
    "paddq",
    "paddw",
    "paddb",
    "psubd",
    "psubq",
    "psubb",
    "psubw",
    "pmuludq",
    "pmulld",
    "pmuldq",
    "pand",
    "por",
    "pxor",
    "pandn",
    "pcmpeqd",
    "pcmpeqq",
    "pcmpeqb",
    "pcmpeqw",
    "pcmpgtd",
    "pcmpgtq",
    "pcmpgtb",
    "pcmpgtw",
    "pminsd",
    "pmaxsd",
    "pminud",
    "pmaxud",
    "pslld",
    "psllq",
    "psrld",
    "psrlq",
    "psrad",
    "psllvd",
    "psrlvd",
    "psravd",
    "psllvq",
    "psrlvq",
    "haddpd",
    "haddps",
    "phaddd",
    "permd",
    "permps",
    "pshufb",
    "cmppd",
    "cmpps",
    "cmpltpd",
    "cmplepd",
    "cmpeqpd",
    "cmpltps",
    "cmpleps",
}
_SELF = {"pxor", "xorps", "xorpd", "psubd", "psubq", "pcmpeqd", "pcmpeqq", "pcmpeqb", "pcmpeqw"}
_SCALAR_BINARY = {
    f"{op}{kind}": 2 if kind == "sd" else 1
    for op in ["add", "sub", "mul", "div", "min", "max"]
    for kind in ("sd", "ss")
}
_SCALAR_INTO = {"cvtsi2sd": 2, "cvtsi2ss": 1, "cvtss2sd": 2, "cvtsd2ss": 1, "sqrtsd": 2, "sqrtss": 1}
_TO_GENERAL = {"cvttsd2si": 2, "cvtsd2si": 2, "cvttss2si": 1, "cvtss2si": 1}
_COMPARE = {"comisd": 2, "ucomisd": 2, "comiss": 1, "ucomiss": 1}
_WIDEN = {"cvtdq2pd": 2, "cvtps2pd": 2, "pmovsxdq": 2, "pmovzxdq": 2}


class _Operands:
    """The explicit operands of one instruction, as places."""

    def __init__(self, insn: capstone.CsInsn, registers: dict[str, int], found: Effects) -> None:
        self.insn, self.registers, self.found = insn, registers, found
        self.all = [op for op in insn.operands if op.type != x.X86_OP_IMM]
        immediates = [op.imm for op in insn.operands if op.type == x.X86_OP_IMM]
        self.immediate = immediates[0] & 0xFF if immediates else 0

    def is_memory(self, index: int) -> bool:
        return bool(self.all[index].type == x.X86_OP_MEM)

    def is_vector(self, index: int) -> bool:
        return not self.is_memory(index) and self.insn.reg_name(self.all[index].reg) in _VECTOR

    def units(self, index: int) -> int:
        if self.is_memory(index):
            return max(1, self.all[index].size // 4)
        return _VECTOR[self.insn.reg_name(self.all[index].reg)][1]

    def places(self, index: int, units: set[int]) -> set[Place]:
        operand = self.all[index]
        if self.is_memory(index):
            address, _ = address_of(self.insn, operand, self.registers)
            return {address + 4 * unit + i for unit in units for i in range(4)}
        name = self.insn.reg_name(operand.reg)
        return {(_VECTOR[name][0], 4 * unit + i) for unit in units for i in range(4)}

    def address(self, index: int) -> None:
        if self.is_memory(index):
            self.found.addresses |= address_of(self.insn, self.all[index], self.registers)[1]

    def read(self, index: int, units: set[int]) -> None:
        self.address(index)
        if not self.is_memory(index) and not self.is_vector(index):
            self.found.values |= general(self.insn.reg_name(self.all[index].reg), write=False)
        elif self.is_memory(index):
            self.found.memory |= {place for place in self.places(index, units) if isinstance(place, int)}
        else:
            self.found.values |= self.places(index, units)

    def keep_rest(self, changed: set[int]) -> None:
        """AVX: the units of 16 bytes that are not `changed` come from operand 1, the upper 16 bytes are cleared."""
        same = self.insn.reg_name(self.all[0].reg) == self.insn.reg_name(self.all[1].reg)
        rest = set(range(4)) - changed
        if not same:
            self.read(1, rest)
        self.write(0, set(range(8)) - (rest if same else set()))

    def write(self, index: int, units: set[int]) -> None:
        self.address(index)
        if not self.is_memory(index) and not self.is_vector(index):
            self.found.writes |= general(self.insn.reg_name(self.all[index].reg), write=True)
        elif self.is_memory(index):
            self.found.stores |= {place for place in self.places(index, units) if isinstance(place, int)}
        else:
            self.found.writes |= self.places(index, units)


def vector_effects(insn: capstone.CsInsn, mnemonic: str, registers: dict[str, int], found: Effects) -> None:
    operands = _Operands(insn, registers, found)
    avx = mnemonic.startswith("v")
    name = mnemonic[1:] if avx else mnemonic
    cleared = 8 if avx else 4
    if name in _COMPARE or name == "ptest":
        # capstone does not know the flags of their AVX forms.
        found.writes |= {(letter, 0) for letter in "CPAZSO"}
    if name in _COMPARE:
        operands.read(0, set(range(_COMPARE[name])))
        operands.read(1, set(range(_COMPARE[name])))
    elif name in _TO_GENERAL:
        operands.read(1, set(range(_TO_GENERAL[name])))
        operands.write(0, set())
    elif name in ("movd", "movq"):
        size = 1 if name == "movd" else 2
        operands.read(1, set(range(size)))
        operands.write(0, set(range(cleared)) if operands.is_vector(0) else set(range(size)))
    elif name in ("movss", "movsd"):
        _move_scalar(operands, 1 if name == "movss" else 2, avx=avx)
    elif name in ("movlps", "movlpd", "movhps", "movhpd"):
        _move_half(operands, 0 if name[3] == "l" else 2, avx=avx)
    elif name in ("movmskpd", "movmskps", "pmovmskb"):
        operands.read(1, set(range(operands.units(1))))
        operands.write(0, set())
    elif name in ("ptest",):
        operands.read(0, set(range(operands.units(0))))
        operands.read(1, set(range(operands.units(1))))
    elif name in ("pinsrd", "pinsrq", "pextrd", "pextrq"):
        _insert_or_extract(operands, name, avx=avx)
    elif name in ("psrldq", "pslldq"):
        _shift_bytes(operands, name, avx=avx)
    elif name in _SCALAR_BINARY:
        low = set(range(_SCALAR_BINARY[name]))
        operands.read(len(operands.all) - 1, low)
        operands.read(1 if avx else 0, low)
        if avx:
            operands.keep_rest(low)
        else:
            operands.write(0, low)
    elif name in _SCALAR_INTO:
        wide = name in ("cvtss2sd", "sqrtss")
        last = len(operands.all) - 1
        operands.read(last, {0} if wide or (operands.is_memory(last) and operands.units(last) == 1) else {0, 1})
        if avx:
            operands.keep_rest(set(range(_SCALAR_INTO[name])))
        else:
            operands.write(0, set(range(_SCALAR_INTO[name])))
    elif name in _WIDEN:
        operands.read(1, set(range(operands.units(0) // 2)))
        operands.write(0, set(range(cleared)))
    elif name in ("cvtpd2ps", "cvttpd2dq"):
        operands.read(1, set(range(operands.units(1))))
        operands.write(0, set(range(cleared)))
    elif name in ("pblendvb", "blendvps", "blendvpd"):
        for index in range(1 if avx else 0, len(operands.all)):
            operands.read(index, set(range(operands.units(0))))
        if not avx:
            # The mask; capstone does not count it among the operands.
            found.values |= {("mm0", i) for i in range(16)}
        operands.write(0, set(range(cleared)))
    else:
        _shaped(operands, name, avx=avx)


def _shaped(operands: _Operands, name: str, *, avx: bool) -> None:
    shape = _SHAPES.get(_ALIASES.get(name, name))
    if shape is None:
        if name not in _WHOLE_UNARY | _WHOLE_BINARY:
            raise UnknownInstructionError(f"{operands.insn.mnemonic} {operands.insn.op_str}")
        shape = _all(1 if name in _WHOLE_UNARY else 2)
    # Instructions of two operands read their first one too, unless they have only one source.
    one_source = shape is _same or name in _WHOLE_UNARY or _ALIASES.get(name, name) in (
        "pshufd", "permilps", "movddup", "permq", "extracti128", "broadcastss", "broadcastsd", "broadcasti128",
    )  # fmt: skip
    count = len(operands.all)
    sources = [count - 1] if one_source else [1, 2] if count == 3 else [0, 1]
    if not one_source and count == 2 and avx:
        # A shift by a constant: vpsrld x, y, 3.
        sources = [1, 1]
    elif not one_source and count == 1:
        sources = [0, 0]
    result = list(shape(operands.units(0), operands.immediate))
    same = (
        name in _SELF
        and len({operands.insn.reg_name(operands.all[s].reg) for s in sources if not operands.is_memory(s)}) == 1
        and not any(map(operands.is_memory, sources))
    )
    written: set[int] = set()
    for unit, parts in enumerate(result):
        places = {place for s, u in parts or () for place in operands.places(sources[s], {u})}
        if operands.is_vector(0) and places == operands.places(0, {unit}):
            continue
        written.add(unit)
        if same:
            continue
        for s, u in parts or ():
            operands.read(sources[s], {u})
    if operands.is_vector(0) and avx:
        written |= set(range(len(result), 8))
    operands.write(0, written)
    for index in range(count):
        operands.address(index)
    if shape is _same:
        # The tool follows vector registers by units of four bytes.
        operands.found.moves = {
            place: tuple(operands.places(sources[0], {unit}))
            for unit in range(operands.units(0))
            for place in operands.places(0, {unit})
        }


def _move_scalar(operands: _Operands, size: int, *, avx: bool) -> None:
    low = set(range(size))
    if len(operands.all) == 3:
        operands.read(2, low)
        operands.keep_rest(low)
    elif operands.is_memory(0):
        operands.read(1, low)
        operands.write(0, low)
    elif operands.is_memory(1):
        operands.read(1, low)
        operands.write(0, set(range(8 if avx else 4)))
    else:
        operands.read(1, low)
        operands.write(0, low)


def _move_half(operands: _Operands, first: int, *, avx: bool) -> None:
    half = {first, first + 1}
    if operands.is_memory(0):
        operands.read(1, half)
        operands.write(0, {0, 1})
        return
    operands.read(len(operands.all) - 1, {0, 1})
    if avx:
        operands.keep_rest(half)
    else:
        operands.write(0, half)


def _insert_or_extract(operands: _Operands, name: str, *, avx: bool) -> None:
    size = 1 if name.endswith("d") else 2
    units = {size * operands.immediate + i for i in range(size)}
    if name.startswith("pextr"):
        operands.read(1, units)
        operands.write(0, set(range(size)))
        return
    operands.read(len(operands.all) - 1, set(range(size)))
    if avx:
        operands.keep_rest(units)
    else:
        operands.write(0, units)


def _shift_bytes(operands: _Operands, name: str, *, avx: bool) -> None:
    source = 1 if avx and len(operands.all) > 1 else 0
    units, by = operands.units(0), operands.immediate
    kept = [u for half in range(0, units, 4) for u in range(half, half + 4)
            if (4 * (u - half) + 3 >= by if name == "psrldq" else 4 * (u - half) < 16 - by)]  # fmt: skip
    operands.read(source, set(kept))
    operands.write(0, set(range(8 if avx else 4)))
