"""References of x86-64 code: distances of four bytes, in jumps, calls and operands."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from whyperf.debuginfo.machines.machine import FlowStep
from whyperf.debuginfo.machines.x86_64 import control
from whyperf.debuginfo.probes.x86_64.moving import MovedInstruction, relative_part
from whyperf.debuginfo.transplants.references import FunctionCode, Lost, Reference, References, Use
from whyperf.debuginfo.transplants.refused import RefusedError

_DISTANCE = struct.Struct("<i")
_SHORT_BYTES = 3  # and less: the distance has one byte
_THREAD = re.compile(r"fs:\[?(\w*)")
_CANARY = 0x28
_SIZES = {"zmmword": 64, "ymmword": 32, "xmmword": 16, "qword": 8, "dword": 4, "word": 2}


def references(code: FunctionCode, _lost: Lost) -> References:
    found: list[Reference] = []
    thread = False
    for part in code.parts:
        rows = list(control.instructions(part.content, part.low))
        if not rows or rows[-1][0] + rows[-1][1] != part.high or any(row[2] == ".byte" for row in rows):
            raise RefusedError("not all of its code was understood")
        for start, size, mnemonic, operands in rows:
            if control.step(mnemonic) not in (FlowStep.NEXT, FlowStep.STOP):
                found += _leading(code, start, size, mnemonic, operands)
            if "[rip" in operands:
                found.append(_relative(start, part.content[start - part.low :][:size], mnemonic, operands))
            thread = thread or _uses_thread_pointer(operands)
    return References(found, thread)


def _leading(code: FunctionCode, start: int, size: int, mnemonic: str, operands: str) -> Iterator[Reference]:
    target = control.direct_target(operands)
    if target is None or (code.holds(target) and not control.is_call(mnemonic)):
        return
    use = Use.CALL if control.is_call(mnemonic) else Use.JUMP
    yield Reference(target, use, (start + size - _DISTANCE.size,), size <= _SHORT_BYTES)


def _relative(start: int, content: bytes, mnemonic: str, operands: str) -> Reference:
    one = relative_part(start, content)
    if not isinstance(one, MovedInstruction) or one.near is None:
        raise RefusedError(f"its instruction {mnemonic} at {start:#x} was not understood")
    use = Use.ADDRESS if mnemonic == "lea" else Use.ACCESS
    # The distance counts from the end of the instruction, which may be behind further bytes.
    size = next((size for word, size in _SIZES.items() if f"{word} ptr" in operands), 1)
    return Reference(one.near, use, (start + one.distance_at,), size=size)


def _uses_thread_pointer(operands: str) -> bool:
    found = _THREAD.search(operands)
    return found is not None and found[1] != hex(_CANARY)
