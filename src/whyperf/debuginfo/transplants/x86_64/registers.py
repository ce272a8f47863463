"""Which registers code of x86-64 changes, of those that calls may change."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import capstone

from whyperf.debuginfo.machines.machine import FlowStep
from whyperf.debuginfo.machines.operations import VECTOR
from whyperf.debuginfo.machines.x86_64 import control
from whyperf.debuginfo.transplants.references import FunctionCode, WrittenReference

_NAMES = ("a", "d", "c", "b", "si", "di", "bp", "sp")
_GENERAL = re.compile(r"[re]?(a|b|c|d)[xlh]$|[re]?(si|di|bp|sp)l?$|r(\d+)[dwb]?$")
_VECTOR = re.compile(r"[xyz]mm(\d+)$")
LOST = frozenset((0, 1, 2, 4, 5, *range(8, 12), *range(VECTOR, VECTOR + 16)))


def written_in(code: FunctionCode) -> WrittenReference:
    registers: set[int] = set()
    leads_to: set[int] = set()
    anywhere = False
    for part in code.parts:
        for one in _decoder().disasm(part.content, part.low):
            mnemonic = one.mnemonic.rpartition(" ")[2]
            kind = control.step(mnemonic)
            if kind in (FlowStep.CALL, FlowStep.JUMP, FlowStep.BRANCH):
                target = control.direct_target(one.op_str)
                if target is None:
                    anywhere = anywhere or kind is FlowStep.CALL or one.address not in code.tables
                elif not code.holds(target):
                    leads_to.add(target)
            else:
                registers |= {_number(one.reg_name(register)) for register in one.regs_access()[1]}
    return WrittenReference(frozenset(registers & LOST), frozenset(leads_to), anywhere)


@cache
def _number(name: str) -> int:
    """DWARF's; -1 for flags and the like."""
    if found := _VECTOR.match(name):
        return VECTOR + int(found[1])
    found = _GENERAL.match(name)
    if not found:
        return -1
    return int(found[3]) if found[3] else _NAMES.index(found[1] or found[2])


@cache
def _decoder() -> Any:
    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    decoder.detail = True
    return decoder
