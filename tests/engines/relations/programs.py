"""Programs whose relations change, after the figures of the paper."""

from __future__ import annotations

from tests.engines.made import Made
from tests.engines.relations.machine import Code, Machine, Value


def cursors(plans: int, *, deletes: int = 60, option: int | None = None) -> Made:
    """MongoDB-57221: restore() searches once per query plan, also for plans that were given up.

    `option`: all of it happens in an arm of a test of an option at the start, in another arm for another option.
    """
    machine = Machine()
    with machine.call("main"):
        if option is None:
            _delete(machine, plans, deletes)
        else:
            test = machine.test(machine.constant(option, line=3), line=3)
            with machine.arm(test, line=4 + option):
                _delete(machine, plans, deletes)
    return machine.recording()


def _delete(machine: Machine, plans: int, deletes: int) -> None:
    machine.store("plans", machine.constant(plans, line=11), line=11)
    for _ in machine.rounds(deletes, machine.constant(deletes, line=12), line=12):
        with machine.call("restore", line=13):
            limit = machine.load("plans", line=20)
            for _ in machine.rounds(limit.value, limit, line=20):
                with machine.call("cursor_search", line=21):
                    test = machine.test(machine.constant(0, line=30), line=31)
                    with machine.arm(test, line=32), machine.call("evict", line=32):
                        machine.constant(0, line=40)


def collector(fake: int, *, objects: int = 30, rounds: int = 12, by_setter: bool = False) -> Made:
    """Go-909 (Figure 1): constants that look like pointers keep objects from being freed.

    `by_setter`: one function stores the bits of an object, for marking and for clearing.
    """
    machine = Machine()
    with machine.call("main"):
        for slot in range(objects):
            machine.store(("constant", slot), machine.constant(slot if slot < fake else -1, line=5), line=5)
        for _ in machine.rounds(rounds, line=6):
            for number in machine.rounds(objects, line=7):
                with machine.call("new", line=7):
                    _allocate(machine, number)
            with machine.call("mark", line=8):
                _mark(machine, objects, by_setter)
            with machine.call("sweep", line=9):
                _sweep(machine, objects, by_setter)
    return machine.recording()


def _set_bits(machine: Machine, number: int, bits: Value, line: int, by_setter: bool) -> None:
    if by_setter:
        with machine.call("set_bits", line=line):
            machine.store(("bits", number), bits, line=60)
    else:
        machine.store(("bits", number), bits, line=line)


def _allocate(machine: Machine, number: int) -> None:
    used = machine.load(("used", number), line=11)
    test = machine.test(used, line=11)
    if not used.value:
        with machine.arm(test, line=12):
            machine.update("heap_size", 64, line=13, watched=True)
            machine.store(("used", number), machine.constant(1, line=14), line=14)
    if number % 5 == 0:
        machine.store(("root", number), machine.constant(number, line=15), line=15)
    else:
        machine.store(("root", number), machine.constant(-1, line=16), line=16)


def _mark(machine: Machine, objects: int, by_setter: bool) -> None:
    for slot in machine.rounds(2 * objects, line=20):
        space = "root" if slot < objects else "constant"
        pointer = machine.load((space, slot % objects), line=21)
        test = machine.test(pointer, line=22)
        if pointer.value >= 0:
            with machine.arm(test, line=23):
                _set_bits(machine, pointer.value, machine.constant(1, line=24), 25, by_setter)


def _sweep(machine: Machine, objects: int, by_setter: bool) -> None:
    for number in machine.rounds(objects, line=30):
        bits = machine.load(("bits", number), line=31)
        test = machine.test(bits, line=32)
        if bits.value:
            with machine.arm(test, line=33):
                _set_bits(machine, number, machine.constant(0, line=33), 33, by_setter)
        elif machine.memory["used", number].value:
            with machine.arm(test, line=35):
                machine.store(("used", number), machine.constant(0, line=36), line=36)
                machine.update("heap_size", -64, line=37, watched=True)


BEFORE = """\
int get_key_info(struct key *key) {
  key->size = key->stored;
  return 0;
}
void reconcile(struct page *page) {
  for (i = 0; i < page->keys; i++) {
    get_key_info(&page->key[i]);
    if (page->key[i].size)
      copy(&page->key[i]);
    else
      build_key(&page->key[i]);
"""
AFTER = BEFORE.replace("  return 0;\n", "  if (key->prefix)\n    key->size = 0;\n  return 0;\n")


def keys(*, forgets: bool, text: str | None = None) -> Made:
    """MongoDB-44991 (Figure 6): a release sets a size to nought, and every key is built again. Two builds."""
    shift = 2 if forgets else 0
    text = text if text is not None else AFTER if forgets else BEFORE
    machine = Machine(Code("bb" if forgets else "aa", text=text))
    with machine.call("main"):
        for number in machine.rounds(80, line=50 + shift):
            machine.store(("stored", number), machine.constant(number % 10, line=51 + shift), line=51 + shift)
        with machine.call("reconcile", line=52 + shift):
            for number in machine.rounds(80, line=6 + shift):
                with machine.call("get_key_info", line=7 + shift):
                    machine.store(("size", number), machine.load(("stored", number), line=2), line=2)
                    if forgets:
                        with machine.arm(machine.test(machine.constant(1, line=3), line=3), line=4):
                            machine.store(("size", number), machine.constant(0, line=4), line=4)
                size = machine.load(("size", number), line=8 + shift)
                test = machine.test(size, line=8 + shift)
                called = "copy" if size.value else "build_key"
                line = (9 if size.value else 11) + shift
                with machine.arm(test, line=line), machine.call(called, line=line):
                    machine.constant(0, line=30)
    return machine.recording()


def printer(*, padded: bool, numbers: int = 100) -> Made:
    """`seq --equal-width`: the fast way ends the program, so that the slow one is never come to."""
    machine = Machine()
    main = machine.call("main")
    main.__enter__()
    width = machine.constant(int(padded), line=5)
    machine.store("equal_width", width, line=5)
    test = machine.test(machine.load("equal_width", line=7), line=7)
    if not padded:
        with machine.arm(test, line=8), machine.call("fast", line=8):
            for _ in range(numbers):
                machine.constant(0, line=20)
            return machine.recording()
    with machine.call("print_numbers", line=10):
        for _ in machine.rounds(numbers, line=30):
            with machine.call("format", line=31):
                for _ in range(20):
                    machine.constant(0, line=40)
    return machine.recording()


def recursive(branches: int, depth: int = 4) -> Made:
    """A tree is walked; each node visits so many of its children."""
    machine = Machine()

    def visit(level: int, fanout: Value) -> None:
        with machine.call("visit", line=11):
            if level:
                for _ in machine.rounds(branches, fanout, line=11):
                    visit(level - 1, fanout)

    with machine.call("main"):
        for _ in machine.rounds(10, line=5):
            visit(depth, machine.constant(branches, line=4))
    return machine.recording()


def account(rounds: int, *, written_at: int) -> Made:
    """Each round adds to a balance and takes less from it again, if a flag is set that was written somewhere else."""
    machine = Machine()
    with machine.call("main"):
        machine.store("flag", machine.constant(1, line=written_at), line=written_at)
        for _ in machine.rounds(rounds, machine.constant(rounds, line=7), line=7):
            machine.update("balance", 10, line=8, watched=True)
            test = machine.test(machine.load("flag", line=9), line=9)
            with machine.arm(test, line=10):
                machine.update("balance", -4, line=11, watched=True)
    return machine.recording()


def search(hosts: int, lines: int) -> Made:
    """A file of so many lines is read; every so many of them there is a host, compared with all hosts before it."""
    machine = Machine()
    with machine.call("main"):
        for line in machine.rounds(lines, machine.constant(lines, line=5), line=5):
            before, is_host = line * hosts // lines, line * hosts % lines < hosts
            test = machine.test(machine.constant(is_host, line=6), line=6)
            if is_host:
                with machine.arm(test, line=7), machine.call("find", line=7):
                    for _ in machine.rounds(before + 1, machine.constant(before, line=20), line=20):
                        with machine.call("compare", line=21):
                            machine.constant(0, line=30)
    return machine.recording()


def moved(lines: int, *, written_at: int) -> Made:
    """A loop over a text that is written elsewhere now; the more work in each round has nothing to do with that."""
    machine = Machine()
    with machine.call("main"):
        machine.store("lines", machine.constant(lines, line=written_at), line=written_at)
        for _ in machine.rounds(lines, machine.load("lines", line=6), line=7):
            for _ in machine.rounds(written_at, machine.constant(written_at, line=8), line=9):
                with machine.call("compare", line=10):
                    machine.constant(0, line=30)
    return machine.recording()


def retries(rounds: int, *, calls: int = 60) -> Made:
    """Every call tries so many times; the first attempt is cheap, the others go through all that failed before."""
    machine = Machine()
    with machine.call("main"):
        for _ in machine.rounds(calls, machine.constant(calls, line=3), line=3):
            with machine.call("attempt", line=4):
                for number in machine.rounds(rounds, machine.constant(rounds, line=10), line=11):
                    behind = 1 + 20 * number
                    for _ in machine.rounds(behind, machine.constant(behind, line=12), line=13):
                        with machine.call("compare", line=14):
                            machine.constant(0, line=30)
    return machine.recording()


def searches(entries: int) -> Made:
    """A list is searched by a function of the standard library, which the compiler inlined: its loop is unrolled."""
    machine = Machine()
    with machine.call("main"):
        machine.store("entries", machine.constant(entries, line=4), line=4)
        for _ in machine.rounds(40, line=5):
            with machine.call("find_row", line=6):
                limit = machine.load("entries", line=20)
                with machine.inlined("std::find<int*, int>", line=21):
                    for _ in machine.rounds(limit.value, limit, line=2050):
                        machine.test(machine.constant(0, line=2052), line=2054)
    return machine.recording()


def interpreted(indexed: bool) -> Made:
    """A database without an index: the planner emits a scan, and the interpreter's loop runs longer."""
    machine = Machine()
    with machine.call("main"):
        machine.store("index", machine.constant(int(indexed), line=4), line=4)
        for _ in machine.rounds(30, line=5):
            with machine.call("prepare", line=6):
                test = machine.test(machine.load("index", line=20), line=20)
                with machine.arm(test, line=21 if indexed else 24):
                    _emit(machine, 3, "code_search", 22) if indexed else _emit(machine, 200, "code_scan", 25)
            with machine.call("interpret", line=7):
                steps = machine.load("program", line=40)
                for _ in machine.rounds(steps.value, steps, line=41):
                    machine.constant(0, line=42)
    return machine.recording()


def _emit(machine: Machine, steps: int, emitter: str, line: int) -> None:
    with machine.call(emitter, line=line):
        value = machine.constant(steps, line=31 if emitter == "code_search" else 35)
        with machine.call("add_operation", line=32):
            machine.store("program", machine.compute(steps, value, line=37), line=38)


def rare_evictions(plans: int) -> Made:
    """As `cursors`, but the first search rarely evicts, at times that are not those of the samples' windows."""
    machine = Machine()
    with machine.call("main"):
        machine.store("plans", machine.constant(plans, line=11), line=11)
        for number in machine.rounds(250, machine.constant(250, line=12), line=12):
            with machine.call("restore", line=13):
                limit = machine.load("plans", line=20)
                for plan in machine.rounds(limit.value, limit, line=20):
                    test = machine.test(machine.constant(0, line=31), line=31)
                    if plan or number * number % 37 < 4:
                        with machine.arm(test, line=32), machine.call("evict", line=32):
                            machine.constant(0, line=40)
    return machine.recording()
