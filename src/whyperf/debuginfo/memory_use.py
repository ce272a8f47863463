"""Whether an instruction reads or writes memory, by its text: decoding with operand details costs 30 times as much."""

from __future__ import annotations

from whyperf.recording.deep_tables import MemoryUse

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
