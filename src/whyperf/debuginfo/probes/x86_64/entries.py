"""The first instructions of a function, as many as make room for a jump."""

from __future__ import annotations

from whyperf.debuginfo.probes.plan_file import OLD_BYTES
from whyperf.debuginfo.probes.x86_64.moving import MovedInstruction, movable
from whyperf.debuginfo.probes.x86_64.survey import X86Function
from whyperf.recording.schemas.call_tables import NotCounted

_JUMP_BYTES = 5
_MARK = "endbr64"


def entry_run(function: X86Function) -> list[MovedInstruction] | NotCounted:
    """Behind the mark on which calls by pointers must land. What else may lead there is not looked at."""
    if not function.movable:
        return NotCounted.ENTERED
    run: list[MovedInstruction] = []
    size = 0
    for address, bytes_, _, _ in function.first[1:] if function.first[0][2] == _MARK else function.first:
        if size >= _JUMP_BYTES:
            break
        one = movable(address, function.bytes_of(address, bytes_), stack_is_lower=False)
        if isinstance(one, NotCounted):
            return one
        run.append(one)
        size += bytes_
    return run if _JUMP_BYTES <= size <= OLD_BYTES else NotCounted.TOO_SHORT
