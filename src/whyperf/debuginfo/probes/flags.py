"""Whether the processor's flags are used behind a place. Counting changes all of them but the carry flag."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from whyperf.debuginfo.instructions import is_call, is_stop

_LOOKED_AT = 32
_READ = ("j", "set", "cmov", "fcmov", "adc", "sbb", "rcl", "rcr", "adox", "lahf", "pushf", "cmc", "into", "salc")
_NO_FLAGS_READ = frozenset({"jmp", "jrcxz", "jecxz", "jcxz", "setssbsy"})
_READ_EXACTLY = frozenset({"loope", "loopne", "loopz", "loopnz"})
# Those that set all that counting changes, whatever their operands are.
_COMPARING = """cmp test add sub and or xor neg inc dec comisd comiss ucomisd ucomiss vcomisd vcomiss vucomisd vucomiss
    ptest vptest popcnt xadd cmpxchg"""
_WRITTEN = frozenset(_COMPARING.split())


def flags_are_used(mnemonics: Iterable[str]) -> bool:
    """By the instructions that come next, jumps followed, as far as they are known; too far ahead to tell means yes."""
    for number, mnemonic in enumerate(mnemonics):
        kind = _kind(mnemonic)
        if kind is not None:
            return kind
        if number >= _LOOKED_AT:
            return True
    return False


@cache
def _kind(mnemonic: str) -> bool | None:
    """True: reads flags; False: they are not needed any more; None: neither."""
    mnemonic = mnemonic.rpartition(" ")[2]  # behind `lock` or `rep`
    if mnemonic in _READ_EXACTLY or (mnemonic.startswith(_READ) and mnemonic not in _NO_FLAGS_READ):
        return True
    # No flags are passed to functions, nor back from them.
    if mnemonic in _WRITTEN or is_call(mnemonic) or is_stop(mnemonic):
        return False
    return None
