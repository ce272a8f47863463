"""Which registers code of aarch64 changes, of those that calls may change."""

from __future__ import annotations

import re

from whyperf.debuginfo.machines.aarch64.addresses import rows as disassembled
from whyperf.debuginfo.machines.aarch64.control import direct_target, step
from whyperf.debuginfo.machines.aarch64.held import LOST_IN_CALLS, written
from whyperf.debuginfo.machines.machine import FlowStep
from whyperf.debuginfo.machines.operations import VECTOR
from whyperf.debuginfo.transplants.references import FunctionCode, WrittenReference

_VECTORS = re.compile(r"\b[vqdshb](\d+)\b")
_KEPT_VECTORS = range(8, 16)  # their lower halves
_BY_LINKERS = frozenset({16, 17, 30})  # calls change them in any case
LOST = LOST_IN_CALLS | {VECTOR + number for number in range(32) if number not in _KEPT_VECTORS}


def written_in(code: FunctionCode) -> WrittenReference:
    registers: set[int] = set(_BY_LINKERS)
    leads_to: set[int] = set()
    anywhere = False
    for address, _, mnemonic, operands in (row for part in code.parts for row in disassembled(part.content, part.low)):
        kind = step(mnemonic)
        if kind in (FlowStep.CALL, FlowStep.JUMP, FlowStep.BRANCH):
            target = direct_target(operands)
            if target is None:
                anywhere = anywhere or kind is FlowStep.CALL or address not in code.tables
            elif not code.holds(target):
                leads_to.add(target)
        elif kind is FlowStep.NEXT:
            registers |= written(mnemonic, operands)
            registers |= _vectors_written(mnemonic, operands)
    return WrittenReference(frozenset(one for one in registers if one in LOST), frozenset(leads_to), anywhere)


def _vectors_written(mnemonic: str, operands: str) -> set[int]:
    if mnemonic.startswith(("st", "cmp", "fcmp", "fccmp")):
        return set()
    values = operands.partition("[")[0]
    if mnemonic.startswith("ld") or "{" in values:
        return {VECTOR + int(number) for number in _VECTORS.findall(values)}
    found = _VECTORS.match(operands)
    return {VECTOR + int(found[1])} if found else set()
