"""Stores to a member, wherever in a binary: all that write as many bytes as far behind a pointer.

Only a list of candidates: whose structure a pointer belongs to is not asked.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from whyperf.debuginfo.basic_blocks.blocks import parts_of
from whyperf.debuginfo.slices.definitions import Definition, MemoryOperand
from whyperf.debuginfo.slices.module import ModuleCode
from whyperf.recording.schemas.deep_tables import MemoryUse


def stores_to_member(module: ModuleCode, member: MemoryOperand, budget_s: float) -> list[Definition]:
    """`member`: as one instruction reads it. Code is read for as long as there is time."""
    found: dict[Definition, None] = {}
    deadline = time.monotonic() + budget_s
    for scope in module.whole_functions():
        if time.monotonic() > deadline:
            break
        for address in _candidates(module, scope):
            slicer = module.slicer_at(address)
            if slicer is None or address not in slicer.function.row:
                continue
            for one in slicer.stores(address):
                if _is_like(one.memory, member):
                    found[one] = None
    return list(found)


def _is_like(store: MemoryOperand | None, member: MemoryOperand) -> bool:
    if store is None or store.index is not None:
        return False
    if member.base is None:
        return store.base is None and store.displacement <= member.displacement < store.displacement + store.size
    overlaps = store.displacement <= member.displacement < store.displacement + max(store.size, 1)
    return store.base is not None and overlaps and store.size >= member.size


def _candidates(module: ModuleCode, scope: int) -> Iterator[int]:
    """Instructions that write to memory, by their text, which is fast."""
    machine, image = module.binary.machine, module.image
    if machine is None or image is None:
        return
    for low, high in parts_of(module.binary.code, scope).ranges:
        content = image.read(low, high - low)
        for start, _size, mnemonic, operands in machine.rows(content, low):
            if "[" in operands and machine.memory_use(mnemonic, operands) & MemoryUse.WRITES:
                yield start
