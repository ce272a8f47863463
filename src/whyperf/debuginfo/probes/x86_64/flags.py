"""Whether the processor's flags are used behind a place. Counting changes all of them but the carry flag."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from whyperf.debuginfo.machines.x86_64.control import is_call, is_stop

_LOOKED_AT = 100
_READ = ("j", "set", "cmov", "fcmov", "adc", "sbb", "rcl", "rcr", "adox", "lahf", "pushf", "cmc", "into", "salc")
_NO_FLAGS_READ = frozenset({"jmp", "jrcxz", "jecxz", "jcxz", "setssbsy"})
_READ_EXACTLY = frozenset({"loope", "loopne", "loopz", "loopnz"})
# To compilers the flags are one register: what sets some of them leaves nothing of what was there before.
_SETTING = """cmp test add sub and or xor neg inc dec shl sal shr sar rol ror shld shrd imul mul div idiv bt bts btr btc
    bsf bsr tzcnt lzcnt popcnt andn bextr blsi blsr blsmsk bzhi xadd cmpxchg comisd comiss ucomisd ucomiss vcomisd
    vcomiss vucomisd vucomiss ptest vptest vtestps vtestpd fcomi fcompi fucomi fucompi fcomip fucomip sahf popfq"""
_WRITTEN = frozenset(_SETTING.split())


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
