"""The instructions that end a basic block.

Capstone's Python objects cost ten microseconds an instruction. Its C function is called once per stretch of code
instead, and the array that it returns is looked at as columns.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import capstone
import numpy as np
import numpy.typing as npt
from capstone import x86_const

_DIRECT_TARGET = re.compile(rb"(0x[0-9a-f]+|[0-9]+)\0")
_GOES_ON, _ENDS, _CALLS = 0, 1, 2
_ENDING = re.compile(r"X86_INS_(J[A-Z]+|LJMP|LOOP[A-Z]*|RET[A-Z]*|IRET[A-Z]*|UD[012]|HLT)")
_CALLING = re.compile(r"X86_INS_L?CALL")


@dataclass(frozen=True)
class Branching:
    """A jump, a call or the end of a path."""

    end: int
    """The address after it."""
    target: int | None
    """None for indirect ones and for returns."""
    is_call: bool


def branching_instructions(content: bytes, address: int) -> Iterator[Branching]:
    """In order; bytes that are no instructions are passed over."""
    instructions = _decoded(content, address)
    kind = _kinds()[instructions["id"]]
    chosen = kind != _GOES_ON
    rows, calls = instructions[chosen], (kind[chosen] == _CALLS).tolist()
    ends = (rows["address"] + rows["size"]).tolist()
    for end, operands, call in zip(ends, rows["operands"].tolist(), calls, strict=True):
        # After the terminating zero comes what was in memory before.
        direct = _DIRECT_TARGET.match(operands + b"\0")
        yield Branching(end, int(direct[1], 0) if direct else None, call)


@cache
def _kinds() -> npt.NDArray[np.uint8]:
    """By instruction number."""
    kinds = np.full(x86_const.X86_INS_ENDING + 1, _GOES_ON, np.uint8)
    for name, number in vars(x86_const).items():
        if _ENDING.fullmatch(name):
            kinds[number] = _ENDS
        elif _CALLING.fullmatch(name):
            kinds[number] = _CALLS
    return kinds


@cache
def _decoder() -> Any:
    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    decoder.skipdata = True
    return decoder


@cache
def _layout() -> np.dtype[Any]:
    instruction = capstone._cs_insn
    return np.dtype(
        {
            "names": ["id", "address", "size", "operands"],
            "formats": ["<u4", "<u8", "<u2", "S160"],
            "offsets": [getattr(instruction, field).offset for field in ("id", "address", "size", "op_str")],
            "itemsize": ctypes.sizeof(instruction),
        }
    )


def _decoded(content: bytes, address: int) -> npt.NDArray[Any]:
    found = ctypes.POINTER(capstone._cs_insn)()
    library = capstone._cs
    count = library.cs_disasm(_decoder().csh, content, len(content), address, 0, ctypes.byref(found))
    if not count:
        return np.zeros(0, _layout())
    try:
        memory = ctypes.string_at(found, count * _layout().itemsize)
    finally:
        library.cs_free(found, count)
    return np.frombuffer(memory, _layout())
