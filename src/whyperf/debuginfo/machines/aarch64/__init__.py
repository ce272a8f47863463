"""The code of 64-bit ARM."""

from __future__ import annotations

from whyperf.debuginfo.machines.aarch64 import addresses, control, memory, operations, words
from whyperf.debuginfo.machines.machine import Machine, MachineWords, Registers, Relocations
from whyperf.debuginfo.machines.operations import VECTOR

AARCH64 = Machine(
    name="aarch64",
    elf_number=183,
    rows=addresses.rows,
    decoded=addresses.decoded,
    step=control.step,
    is_trap=control.is_trap,
    direct_target=control.direct_target,
    call_before=control.call_before,
    fixed_address=control.fixed_address,
    indexed=memory.indexed,
    memory_use=memory.memory_use,
    uses_stack=memory.uses_stack,
    sets_frame=memory.sets_frame,
    operation=operations.operation,
    words=MachineWords(words.plain, words.condition, words.bytes_referred_to, words.referring),
    registers=Registers(
        frame=29,
        stack=31,
        arguments=(tuple(range(8)), tuple(range(VECTOR, VECTOR + 8))),
        lost_in_calls=frozenset(
            (*range(19), 30, *range(VECTOR, VECTOR + 8), *range(VECTOR + 16, VECTOR + 32)),
        ),
        results=(0, 1, *range(VECTOR, VECTOR + 4)),
        indirect_result=8,
        depth_at_entry=0,
        depth_of_frame=None,
    ),
    relocations=Relocations(
        absolute=257, copy=1024, global_data=1025, jump_slot=1026, relative=1027, chosen_when_loaded=1032
    ),
    watches_stop_behind=False,
    stub_bytes=24,
)
