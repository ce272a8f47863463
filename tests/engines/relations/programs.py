"""Programs whose relations change, after the figures of the paper."""

from __future__ import annotations

from tests.engines.made import Made
from tests.engines.relations.machine import SAME, Code, Machine


def cursors(plans: int, *, deletes: int = 60, code: Code = SAME) -> Made:
    """MongoDB-57221: restore() searches once per query plan, also for plans that were given up."""
    machine = Machine(code)
    with machine.call("main"):
        machine.store("plans", machine.constant(plans, line=11), line=11)
        with machine.loop(line=12) as loop:
            limit = machine.constant(deletes, line=12)
            for number in range(deletes):
                with loop.iteration():
                    with machine.call("restore", line=13):
                        _restore(machine, number)
                    machine.test(limit, line=12)
    return machine.recording()


def _restore(machine: Machine, number: int) -> None:
    with machine.loop(line=20) as loop:
        step = machine.constant(0, line=20)
        for plan in range(machine.memory["plans"].value):
            with loop.iteration():
                with machine.call("cursor_search", line=21):
                    dead = machine.compute(number % 3, line=30)
                    test = machine.test(dead, line=31)
                    with machine.arm(test, line=32), machine.call("evict", line=32):
                        for _ in range(8):
                            machine.constant(0, line=40)
                step = machine.compute(plan + 1, step, line=20)
                machine.test(step, machine.load("plans", line=20), line=20)


def collector(fake: int, *, objects: int = 30, rounds: int = 12, code: Code = SAME) -> Made:
    """Go-909 (Figure 1): constants that look like pointers keep objects from being freed."""
    machine = Machine(code)
    with machine.call("main"):
        for slot in range(objects):
            machine.store(("constant", slot), machine.constant(slot if slot < fake else -1, line=5), line=5)
        with machine.loop(line=6) as loop:
            for _ in range(rounds):
                with loop.iteration():
                    for number in range(objects):
                        with machine.call("new", line=7):
                            if not machine.memory.get(("used", number), _NOTHING).value:
                                test = machine.test(line=11)
                                with machine.arm(test, line=12):
                                    machine.update("heap_size", 64, line=13, watched=True)
                                    machine.store(("used", number), machine.constant(1, line=14), line=14)
                            if number % 5 == 0:
                                machine.store(("root", number), machine.constant(number, line=15), line=15)
                    with machine.call("mark", line=8):
                        _mark(machine, objects)
                    with machine.call("sweep", line=9):
                        _sweep(machine, objects)
    return machine.recording()


class _Nothing:
    value = 0


_NOTHING = _Nothing()


def _mark(machine: Machine, objects: int) -> None:
    with machine.loop(line=20) as loop:
        for space in ("root", "constant"):
            for slot in range(objects):
                with loop.iteration():
                    pointer = machine.load((space, slot), line=21) if (space, slot) in machine.memory else None
                    if pointer is None:
                        pointer = machine.constant(-1, line=21)
                    test = machine.test(pointer, line=22)
                    if pointer.value < 0:
                        continue
                    with machine.arm(test, line=23):
                        bits = machine.constant(1, line=24)
                        machine.store(("bits", pointer.value), bits, line=25)


def _sweep(machine: Machine, objects: int) -> None:
    with machine.loop(line=30) as loop:
        for number in range(objects):
            with loop.iteration():
                bits = machine.load(("bits", number), line=31) if ("bits", number) in machine.memory else None
                if bits is None:
                    bits = machine.constant(0, line=31)
                test = machine.test(bits, line=32)
                if bits.value:
                    machine.store(("bits", number), machine.constant(0, line=33), line=33)
                    continue
                if machine.memory[("used", number)].value:
                    with machine.arm(test, line=35):
                        machine.store(("used", number), machine.constant(0, line=36), line=36)
                        machine.update("heap_size", -64, line=37, watched=True)
