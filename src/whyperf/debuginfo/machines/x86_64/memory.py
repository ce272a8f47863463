"""What instructions of x86-64 do to memory, by their text: decoding with operand details costs 30 times as much."""

from __future__ import annotations

import re

from whyperf.recording.schemas.deep_tables import MemoryUse

_NONE = MemoryUse(0)
_BOTH = MemoryUse.READS | MemoryUse.WRITES
_IMPLICIT = {
    "push": MemoryUse.WRITES,
    "pushfq": MemoryUse.WRITES,
    "call": MemoryUse.WRITES,
    "pop": MemoryUse.READS,
    "popfq": MemoryUse.READS,
    "ret": MemoryUse.READS,
    "leave": MemoryUse.READS,
}
_ADDRESS_ONLY = ("lea", "nop", "prefetch", "clflush", "clwb", "endbr", "invlpg")
# With memory as their first operand these only look at it ...
_LOOKS = (
    *("cmp", "test", "bt", "jmp", "call", "push", "mul", "div", "imul", "idiv", "scas", "lods", "ldmxcsr", "verr"),
    *("comis", "ucomis", "vcomis", "vucomis", "ptest", "vptest", "vtest", "vldmxcsr", "ltr", "lgdt", "lidt", "lldt"),
    *("fld", "fild", "fadd", "fsub", "fmul", "fdiv", "fcom", "fucom", "ficom", "fiadd", "fisub", "fimul", "fidiv"),
    *("frstor", "fxrstor", "xrstor"),
)
# ... and these only fill it. All others do both.
_FILLS = (
    *("mov", "vmov", "set", "stos", "pop", "pextr", "vpextr", "extract", "vextract", "stmxcsr", "vstmxcsr"),
    *("vcvtps2ph", "maskmov", "vmaskmov", "vpmaskmov", "fst", "fist", "fnst", "fnsave", "fxsave", "xsave"),
)
_UPDATES = ("bts", "btr", "btc", "cmpxchg")
_STRING_PREFIXES = ("rep ", "repe ", "repne ", "repz ", "repnz ", "lock ")
_INDEXED = re.compile(r"\[(?:\w+ \+ )?\w+\*([48])(?: \+ (0x[0-9a-f]+))?\]")
_BY_STACK = frozenset({"push", "pop", "call", "ret", "leave", "enter", "pushfq", "popfq"})


def memory_use(mnemonic: str, operands: str) -> MemoryUse:
    """Without telling whose memory; what the stack's own instructions do counts."""
    name = mnemonic.rpartition(" ")[2] if mnemonic.startswith(_STRING_PREFIXES) else mnemonic
    use = _IMPLICIT.get(name, _NONE)
    if "[" not in operands or name.startswith(_ADDRESS_ONLY):
        return use
    first, _, rest = operands.partition(",")
    if "[" in rest:
        use |= MemoryUse.READS
    if "[" in first:
        use |= _of_first(name)
    return use


def _of_first(name: str) -> MemoryUse:
    if name.startswith(_UPDATES):
        return _BOTH
    if name.startswith(_LOOKS):
        return MemoryUse.READS
    return MemoryUse.WRITES if name.startswith(_FILLS) else _BOTH


def uses_stack(mnemonic: str, operands: str, frame: bool) -> bool:
    return mnemonic in _BY_STACK or "[rsp" in operands or (frame and "[rbp" in operands)


def sets_frame(mnemonic: str, operands: str) -> bool:
    return mnemonic == "mov" and operands == "rbp, rsp"


def indexed(operands: str) -> tuple[int, int | None] | None:
    found = _INDEXED.search(operands)
    return None if found is None else (int(found[1]), int(found[2], 0) if found[2] else None)
