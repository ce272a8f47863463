"""Last writers by single-stepping: what the Valgrind tool must say of the same binary."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tests.architecture import HERE
from tests.collect.dependences.effects import Effects, Place
from tests.collect.dependences.single_step import steps
from whyperf.collect.architecture import X86_64

if HERE is X86_64:
    from tests.collect.dependences.x86_operands import decode, effects
else:
    from tests.collect.dependences.arm_operands import decode, effects


@dataclass(frozen=True)
class OracleEvent:
    address: int
    registers: frozenset[int]
    memory: frozenset[int]
    old: frozenset[int]
    addresses: frozenset[int]
    text: str = ""


class _Code:
    def __init__(self) -> None:
        self._known: dict[int, object] = {}

    def at(self, address: int, memory: int) -> object:
        if address not in self._known:
            self._known[address] = decode(os.pread(memory, 16, address), address)
        return self._known[address]


def trace(program: str, entry: int, is_selected: Callable[[int], bool], most: int = 20000) -> list[OracleEvent]:
    """From the first call of the function at `entry` to its return: events of the selected addresses, numbered from 1
    as the tool does; values pass through the others."""
    code = _Code()
    writers: dict[Place, frozenset[int]] = {}
    events: list[OracleEvent] = []

    def producers(places: Iterable[Place]) -> frozenset[int]:
        return frozenset[int]().union(*(writers.get(place, ()) for place in places))

    for step in steps(program, entry, most):
        insn = code.at(step.pc, step.memory)
        found = effects(insn, step.registers)  # type: ignore[arg-type]
        if found is None:
            continue
        written = (*found.writes, *found.stores)
        if is_selected(step.pc):
            events.append(_event(insn, found, producers))
            writers.update(dict.fromkeys(written, frozenset({len(events)})))
        elif found.moves is not None:
            writers.update({place: producers(sources) for place, sources in found.moves.items()})
        else:
            writers.update(dict.fromkeys(written, producers((*found.values, *found.memory))))
    return events


def _event(insn, found: Effects, producers) -> OracleEvent:  # type: ignore[no-untyped-def]
    loaded = producers(found.memory)
    return OracleEvent(
        insn.address,
        producers(found.values),
        frozenset() if found.in_place else loaded,
        loaded if found.in_place else frozenset(),
        producers(found.addresses),
        f"{insn.mnemonic} {insn.op_str}",
    )
