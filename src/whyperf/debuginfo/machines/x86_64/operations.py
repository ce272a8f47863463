"""What instructions of x86-64 do, read from the disassembler's text: many times faster than its details."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from whyperf.debuginfo.machines.operations import VECTOR, Does, Effect, Immediate, Memory, Operand, Operation
from whyperf.debuginfo.machines.x86_64.implied import IMPLIED

_FRAME, _STACK = 6, 7
_COUNT, _FROM, _TO = 2, 4, 5
_WORD = 8
_PREFIXES = ("lock ", "rep ", "repe ", "repne ")
_NAMES = ("ax", "dx", "cx", "bx", "si", "di", "bp", "sp")
_NUMBER = re.compile(r"-?(0x[0-9a-f]+|\d+)")
_PART = re.compile(r"([+-]?)\s*([a-z]\w*|0x[0-9a-f]+|\d+)(?:\*(\d))?")
_COPIES = ("mov", "vmov", "stos", "lods")
_CONVERTS = ("cvt", "vcvt")
_SCALARS = {"sd": 8, "ss": 4, "movq": 8, "movd": 4}
_CONVERSION = re.compile(r"v?cvtt?(s[ds]|si|p[ds])2(s[ds]|u?si|p[ds])")
_JOINS = frozenset({"punpcklqdq", "unpcklpd", "movlhps", "movhps", "movhpd"})
_COMPARES = ("cmp", "test", "ucomis", "comis", "bt", "scas", "vucomis", "vcomis")
_KEEPS_FLAGS = (
    *(
        *_COPIES,
        *_CONVERTS,
        "lea",
        "push",
        "pop",
        "set",
        "cmov",
        "j",
        "call",
        "nop",
        "not",
        "endbr",
        "leave",
        "cdq",
        "cqo",
        "xchg",
    ),
    *("bswap", "cwd", "prefetch", "pause", "cpuid", "rdtsc", "mulx", "rorx", "sarx", "shlx", "shrx", "ret"),
)
_DOES_NOTHING = ("nop", "endbr", "ret", "prefetch", "clflush", "pause", "ud", "hlt", "lfence", "mfence", "sfence")
_BYTES = {"byte": 1, "word": 2, "dword": 4, "qword": 8, "tbyte": 10, "xmmword": 16, "ymmword": 32}
_STRING = ("stos", "lods", "scas")
_REPEATED_STORES = ("movs", "stos")


def operation(mnemonic: str, operands: str, _end: int) -> Operation:
    return _operation(mnemonic, operands)


@lru_cache(maxsize=1 << 16)
def _operation(mnemonic: str, operands: str) -> Operation:
    name = mnemonic.rpartition(" ")[2] if mnemonic.startswith(_PREFIXES) else mnemonic
    texts = operands.split(", ") if operands else []
    read = tuple(_operand(one) for one in texts)
    sizes = _scalar_sizes(name, tuple(_sizes().get(one, 0) for one in texts))
    vectors = bool(read) and isinstance(read[0], int) and read[0] >= VECTOR
    return Operation(
        read,
        _effects(name, read, sizes),
        sets_flags=not name.startswith(_KEEPS_FLAGS) and not vectors,
        grows=_grows(name, read),
        frame=0 if name == "mov" and read == (_FRAME, _STACK) else None,
        unwinds=_unwinds(name, read),
        sizes=sizes,
        repeats=_COUNT if mnemonic.startswith("rep ") and name.startswith(_REPEATED_STORES) else None,
    )


def _scalar_sizes(name: str, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Of vector registers, where an instruction uses only the lowest number in them."""
    conversion = _CONVERSION.match(name)
    kind = name[-4:] if name[-4:] in _SCALARS else name[-2:]
    source, target = conversion.groups() if conversion else (kind, kind)
    kinds = (target, *[source] * (len(sizes) - 1))
    return tuple(_SCALARS.get(one, size) if size > _WORD else size for one, size in zip(kinds, sizes, strict=False))


def _effects(name: str, operands: tuple[Operand, ...], sizes: tuple[int, ...]) -> tuple[Effect, ...]:
    if (implied := IMPLIED.get(name)) is not None and (name != "imul" or len(operands) == 1):
        return implied(operands, sizes)
    if name.startswith(_COMPARES):
        return (Effect(Does.COMPARE, None, operands), *_stepped(name, operands))
    if not operands or name.startswith(_DOES_NOTHING):
        return ()
    does, sources = _made_of(name, operands)
    return (Effect(does, operands[0], sources, sizes[0]), *_stepped(name, operands))


def _made_of(name: str, operands: tuple[Operand, ...]) -> tuple[Does, tuple[Operand, ...]]:
    """What is done to the first operand, and with what."""
    does, sources = Does.COMPUTE, operands
    if name.startswith("set"):
        does = Does.SET_BY_FLAGS
    elif name.startswith("cmov"):
        does = Does.CHOOSE
    elif name == "lea":
        does, sources = Does.TAKE_ADDRESS, operands[1:2]
    elif joined := _joined(name, operands):
        does, sources = Does.JOIN, joined
    elif name.startswith(_COPIES):
        does, sources = Does.COPY, operands[-1:]
    elif name.startswith(_CONVERTS):
        sources = tuple(one for one in operands[1:] if not isinstance(one, Immediate))[-1:]
    elif name == "sbb" and operands[0] == operands[-1]:
        does = Does.SET_BY_FLAGS
    elif name in ("adc", "sbb"):
        does = Does.CHOOSE_COMPUTED
    elif name in ("xor", "sub", "pxor", "xorps") and operands[0] == operands[-1]:
        does = Does.CLEAR
    elif len(operands) > 2 and (name == "imul" or name[0] == "v"):
        sources = operands[1:]
    return does, sources


def _joined(name: str, operands: tuple[Operand, ...]) -> tuple[Operand, ...]:
    """What becomes the lower and the upper half of a vector register; empty: something else is done."""
    bare = name.removeprefix("v")
    if bare == "pinsrq" and operands[-1] == Immediate(1):
        return operands[-3:-1]
    return operands[-2:] if bare in _JOINS and isinstance(operands[0], int) else ()


def _stepped(name: str, operands: tuple[Operand, ...]) -> tuple[Effect, ...]:
    """Registers that string instructions step along."""
    if not name.startswith(_STRING) and not all(isinstance(one, Memory) for one in operands[:2]):
        return ()
    return tuple(Effect(Does.COMPUTE, one, (one,), _WORD) for one in (_COUNT, _FROM, _TO)) if len(operands) == 2 else ()


def _grows(name: str, operands: tuple[Operand, ...]) -> int:
    if name in ("push", "pop"):
        return _WORD if name == "push" else -_WORD
    if operands and operands[0] == _STACK and isinstance(last := operands[-1], Immediate) and name in ("sub", "add"):
        return last.value if name == "sub" else -last.value
    return 0


def _unwinds(name: str, operands: tuple[Operand, ...]) -> int | None:
    if name == "leave":
        return _WORD
    if name == "mov" and operands == (_STACK, _FRAME):
        return 0
    if name == "lea" and operands[0] == _STACK and isinstance(from_frame := operands[1], Memory):
        return from_frame.displacement if from_frame.registers == (_FRAME,) else None
    return None


def _operand(text: str) -> Operand:
    if _NUMBER.fullmatch(text):
        return Immediate(int(text, 0))
    if "[" not in text:
        return _registers().get(text)
    if ":" in text:  # thread-local
        return None
    displacement, scale, registers = 0, 1, []
    for sign, name, times in _PART.findall(text[text.index("[") + 1 : text.index("]")]):
        if name[0].isdigit():
            displacement += int(name, 0) * (-1 if sign == "-" else 1)
        elif name != "rip":
            registers.append(_registers().get(name, -1))
            scale = int(times) if times else 1
    return Memory(tuple(registers), displacement, "rip" in text, scale, _BYTES.get(text.partition(" ")[0], 0))


@cache
def _sizes() -> dict[str, int]:
    found: dict[str, int] = {}
    for name in _NAMES:
        short = name[0] + "l" if name[1] == "x" else name + "l"
        found |= {f"r{name}": 8, f"e{name}": 4, name: 2, short: 1}
    for number in range(8, 16):
        found |= {f"r{number}": 8, f"r{number}d": 4, f"r{number}w": 2, f"r{number}b": 1}
    return found | {f"{kind}mm{number}": size for kind, size in (("x", 16), ("y", 32)) for number in range(16)}


@cache
def _registers() -> dict[str, int]:
    found: dict[str, int] = {}
    for number, name in enumerate(_NAMES):
        short = name[0] + "l" if name[1] == "x" else name + "l"
        found |= dict.fromkeys((f"r{name}", f"e{name}", name, short), number)
    for number in range(8, 16):
        found |= dict.fromkeys((f"r{number}", f"r{number}d", f"r{number}w", f"r{number}b"), number)
    return found | {f"{kind}mm{number}": VECTOR + number for kind in "xy" for number in range(16)}
