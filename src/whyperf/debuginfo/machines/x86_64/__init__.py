"""The code of x86-64, 64-bit mode."""

from __future__ import annotations

from whyperf.debuginfo.machines.machine import Machine, MachineWords, Registers, Relocations
from whyperf.debuginfo.machines.operations import VECTOR
from whyperf.debuginfo.machines.x86_64 import control, memory, operations, words

X86_64 = Machine(
    name="x86-64",
    elf_number=62,
    rows=control.instructions,
    decoded=control.decoded,
    step=control.step,
    is_trap=control.is_trap,
    direct_target=control.direct_target,
    call_before=control.call_before,
    fixed_address=control.relative_target,
    indexed=memory.indexed,
    memory_use=memory.memory_use,
    uses_stack=memory.uses_stack,
    sets_frame=memory.sets_frame,
    operation=operations.operation,
    words=MachineWords(words.plain, words.condition, words.bytes_referred_to, words.referring),
    registers=Registers(
        frame=6,
        stack=7,
        arguments=((5, 4, 1, 2, 8, 9), tuple(range(VECTOR, VECTOR + 8))),
        lost_in_calls=frozenset((0, 1, 2, 4, 5, 8, 9, 10, 11, *range(VECTOR, VECTOR + 16))),
        results=(0, 1, VECTOR, VECTOR + 1),
        indirect_result=None,
        depth_at_entry=8,
        depth_of_frame=16,
    ),
    relocations=Relocations(absolute=1, copy=5, global_data=6, jump_slot=7, relative=8, chosen_when_loaded=37),
    watches_stop_behind=True,
    stub_bytes=16,
)
