"""Last writers by single-stepping: what the Valgrind tool must say of the same binary."""

from __future__ import annotations

import os
from dataclasses import dataclass

from tests.dependences.operands import Effects, Place, decode, effects
from tests.dependences.single_step import steps


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


def trace(program: str, entry: int, most: int = 20000) -> list[OracleEvent]:
    """The events from the first call of the function at `entry` to its return, numbered from 1 as the tool does."""
    code = _Code()
    writer: dict[Place, int] = {}
    events: list[OracleEvent] = []

    def producers(places: set[Place] | set[int]) -> frozenset[int]:
        return frozenset(writer[place] for place in places if place in writer)

    for step in steps(program, entry, most):
        insn = code.at(step.registers["rip"], step.memory)
        found = effects(insn, step.registers)  # type: ignore[arg-type]
        if found is None:
            continue
        events.append(_event(insn, found, producers))
        for place in (*found.writes, *found.stores):
            writer[place] = len(events)
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
