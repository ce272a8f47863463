"""What instructions of aarch64 do, read from the disassembler's text as `addresses` writes it."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache, lru_cache

from whyperf.debuginfo.machines.aarch64.control import is_test, step
from whyperf.debuginfo.machines.aarch64.memory import memory_use
from whyperf.debuginfo.machines.machine import FlowStep
from whyperf.debuginfo.machines.operations import VECTOR, Does, Effect, Immediate, Memory, Operand, Operation
from whyperf.recording.schemas.deep_tables import MemoryUse

_FRAME, _STACK = 29, 31
_OPERAND = re.compile(r"\[[^]]*\]!?|\{[^}]*\}[^,]*|[^,\s][^,]*")
_NUMBER = re.compile(r"#(-?(?:0x[0-9a-f]+|\d+))")
_SHIFT = re.compile(r"lsl #(\d+)")
_BYTES = {"b": 1, "h": 2, "w": 4, "x": 8, "s": 4, "d": 8, "q": 16, "v": 16}
_SCALED = re.compile(r"(?:lsl|[su]xt[wx]) #(\d)")
_COMPARES = frozenset({"cmp", "cmn", "tst", "fcmp", "fcmpe"})
_COMPARES_TOO = frozenset({"ccmp", "ccmn", "fccmp", "fccmpe"})
_CHOICES = frozenset({"csel", "fcsel"})
_COMPUTED_CHOICES = frozenset({"csinc", "csinv", "csneg", "cinc", "cinv", "cneg"})
_COPIES = frozenset(
    {
        "mov",
        "fmov",
        "movi",
        "movn",
        "movz",
        "umov",
        "smov",
        "dup",
        "mrs",
        "sxtb",
        "sxth",
        "sxtw",
        "uxtb",
        "uxth",
        "uxtw",
    }
)
_CONVERTS = ("scvtf", "ucvtf", "fcvt")
_KEEPS_PART = frozenset({"movk", "bfi", "bfxil", "bfc", "ins", "mla", "mls", "fmla", "fmls"})
_SETS_FLAGS = frozenset({"adds", "subs", "ands", "bics", "negs", "adcs", "sbcs", "ngcs"})
_DOES_NOTHING = frozenset(
    {"nop", "hint", "bti", "svc", "dmb", "dsb", "isb", "prfm", "prfum", "msr", "yield", "xpaclri", "clrex", ".byte"}
)
_Effects = tuple[Effect, ...]


def operation(mnemonic: str, operands: str, end: int) -> Operation:
    found = _operation(mnemonic, operands)
    return _relative(found, end) if "[0x" in operands else found


def _relative(found: Operation, end: int) -> Operation:
    """Fixed addresses as distances from the next instruction."""

    def moved(operand: Operand) -> Operand:
        fixed = isinstance(operand, Memory) and not operand.registers
        if not fixed or not isinstance(operand, Memory):
            return operand
        return replace(operand, displacement=operand.displacement - end, by_instruction=True)

    effects = (replace(one, target=moved(one.target), sources=tuple(map(moved, one.sources))) for one in found.effects)
    return replace(found, operands=tuple(map(moved, found.operands)), effects=tuple(effects))


@lru_cache(maxsize=1 << 16)
def _operation(mnemonic: str, text: str) -> Operation:
    texts = _OPERAND.findall(text)
    operands = tuple(_operand(one) for one in texts)
    return replace(_of_operands(mnemonic, texts, operands), sizes=tuple(map(_size, texts)))


def _size(text: str) -> int:
    """Bytes of a register; 0 of others."""
    if text in ("sp", "xzr"):
        return 8
    return _BYTES.get(text[0], 0) if text.partition(".")[0] in _registers() else 4 if text == "wzr" else 0


def _of_operands(mnemonic: str, texts: list[str], operands: tuple[Operand, ...]) -> Operation:
    if is_test(mnemonic):
        return Operation(operands, tested=operands[:1])
    if step(mnemonic) is not FlowStep.NEXT or mnemonic in _DOES_NOTHING or not operands:
        return Operation(operands)
    if mnemonic != "adr" and any(one[0] == "[" for one in texts):  # v5.d[0] is a part of a register
        return _accessing(mnemonic, texts, operands)
    number = _number_added(mnemonic, texts, operands)
    if number is not None and operands[0] == _STACK:
        if operands[1] == _FRAME:
            return Operation(operands, unwinds=number)
        return Operation(operands, grows=-number)
    return Operation(
        operands,
        _effects(mnemonic, operands, number, _size(texts[0])),
        sets_flags=mnemonic in _SETS_FLAGS,
        frame=number if operands[:2] == (_FRAME, _STACK) else None,
    )


def _number_added(mnemonic: str, texts: list[str], operands: tuple[Operand, ...]) -> int | None:
    """To the second operand: none is to what is copied."""
    if mnemonic == "mov" and len(operands) == 2 and isinstance(operands[1], int):
        return 0
    if mnemonic not in ("add", "sub") or len(operands) < 3 or not isinstance(number := operands[2], Immediate):
        return None
    shift = _SHIFT.fullmatch(texts[3]) if len(texts) > 3 else None
    value = number.value << (int(shift[1]) if shift else 0)
    return value if mnemonic == "add" else -value


def _effects(mnemonic: str, operands: tuple[Operand, ...], number: int | None, size: int) -> _Effects:
    if mnemonic in _COMPARES:
        return (Effect(Does.COMPARE, None, operands),)
    if mnemonic in _COMPARES_TOO:
        return (Effect(Does.COMPARE_TOO, None, operands[:2]),)
    target, sources = operands[0], operands[1:]
    does = Does.COMPUTE
    if mnemonic in ("cset", "csetm"):
        does = Does.SET_BY_FLAGS
    elif mnemonic in _CHOICES or mnemonic in _COMPUTED_CHOICES:
        does = Does.CHOOSE if mnemonic in _CHOICES else Does.CHOOSE_COMPUTED
    elif mnemonic == "adr":
        does = Does.TAKE_ADDRESS
    elif number is not None and isinstance(sources[0], int) and (number or sources[0] == _STACK):
        if sources[0] != target:
            does, sources = Does.TAKE_ADDRESS, (Memory((sources[0],), number, False),)
    elif mnemonic in _COPIES:
        does, sources = Does.COPY, sources[:1]
    elif mnemonic.startswith(_CONVERTS):
        sources = sources[:1]
    elif mnemonic in _KEEPS_PART:
        sources = operands
    return (Effect(does, target, sources, size),)


def _accessing(mnemonic: str, texts: list[str], operands: tuple[Operand, ...]) -> Operation:
    at = next(row for row, text in enumerate(texts) if text[0] == "[")
    memory, values = operands[at], operands[:at]
    if not isinstance(memory, Memory):
        return Operation(operands)
    size = _accessed(mnemonic, texts[mnemonic.startswith(("stxr", "stlxr"))])
    moved, place, grows = _moved(texts[at:], replace(memory, size=size))
    use = memory_use(mnemonic, "[")
    wide = [_size(one) for one in texts[:at]]
    effects: list[Effect] = []
    if use == MemoryUse.READS | MemoryUse.WRITES:
        effects = [Effect(Does.COPY, values[-1], (place,), wide[-1]), Effect(Does.COMPUTE, place, (place, *values))]
    elif use == MemoryUse.READS:
        effects = [Effect(Does.COPY, one, (_behind(place, size * row),), wide[row]) for row, one in enumerate(values)]
    elif use == MemoryUse.WRITES and "xr" in mnemonic:
        effects = [Effect(Does.CLEAR, values[0], (), wide[0]), Effect(Does.COPY, place, values[1:2])]
    elif use == MemoryUse.WRITES:
        effects = [Effect(Does.COPY, _behind(place, size * row), (one,)) for row, one in enumerate(values)]
    return Operation(operands, (*effects, *moved), grows=grows)


def _accessed(mnemonic: str, text: str) -> int:
    """Bytes of memory, for each register."""
    if mnemonic == "ldpsw" or mnemonic.endswith("sw"):
        return 4
    if mnemonic.startswith(("ld", "st", "swp", "cas")):
        if mnemonic.endswith("b"):
            return 1
        if mnemonic.endswith("h"):
            return 2
    return _size(text) or 8


def _moved(texts: list[str], memory: Memory) -> tuple[_Effects, Memory, int]:
    """What becomes of the base, where memory is counted from where the stack ends then, and by how much that grows."""
    base = memory.registers[0] if memory.registers else None
    if texts[0].endswith("!"):
        by, place = memory.displacement, memory
    elif len(texts) > 1:
        number = _NUMBER.fullmatch(texts[1])
        by, place = _signed(number[1]) if number else 0, memory
    else:
        return (), memory, 0
    if base == _STACK:
        return (), replace(place, displacement=place.displacement - by), -by
    return (Effect(Does.COMPUTE, base, (base,), 8),), place, 0


def _signed(text: str) -> int:
    """As the disassembler writes some negative numbers: of 64 bits."""
    value = int(text, 0)
    return value - (1 << 64) if value >> 63 == 1 else value


def _behind(memory: Memory, distance: int) -> Memory:
    return replace(memory, displacement=memory.displacement + distance) if distance else memory


def _operand(text: str) -> Operand:
    number = _NUMBER.fullmatch(text)
    if number:
        return Immediate(_signed(number[1]))
    if text[0] != "[":
        return Immediate(0) if text in ("xzr", "wzr") else _registers().get(text.partition(".")[0])
    parts = text[1 : text.index("]")].split(", ")
    if parts[0].startswith("0x"):
        return Memory((), int(parts[0], 0), False)
    registers = [_registers().get(part, -1) for part in parts if part[0] in "xws" and not part.startswith("sxt")]
    numbers = [int(found[1], 0) for part in parts if (found := _NUMBER.fullmatch(part))]
    scaled = _SCALED.fullmatch(parts[-1])
    return Memory(tuple(registers), sum(numbers), False, 1 << int(scaled[1]) if scaled else 1)


@cache
def _registers() -> dict[str, int]:
    found = {"sp": _STACK, "wsp": _STACK}
    for number in range(31):
        found |= {f"x{number}": number, f"w{number}": number}
    for number in range(32):
        found |= {f"{kind}{number}": VECTOR + number for kind in "bhsdqv"}
    return found
