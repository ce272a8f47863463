"""What machine code tells of variables: compared, passed on, stepped."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.debuginfo.building import run
from tests.debuginfo.oracle import table_of
from whyperf.debuginfo.describe import describe
from whyperf.debuginfo.machines import AARCH64, X86_64, Machine
from whyperf.debuginfo.machines.machine import FlowStep
from whyperf.debuginfo.machines.operations import Does, Effect, Immediate, Memory, Operation
from whyperf.debuginfo.variable_tables.code_uses import CodeUses, uses_at

_PROGRAM = """
#include <stdlib.h>
struct list { struct list *next; long weight; long unused; };
volatile long sink;
long limit_of_all = 5;
__attribute__((noinline)) long passed(long value, long other) { return value ^ other; }
__attribute__((noinline)) long counted(long from, long bound, long innocent) {
    long sum = 0;
    for (long i = from; i < bound; i++) {
        sum += i;
        sink = sum;
    }
    return sum + innocent;
}
__attribute__((noinline)) long walked(struct list *here, long floor) {
    long total = 0;
    while (here) {
        if (here->weight > floor)
            total += here->weight;
        here = here->next;
    }
    return total;
}
__attribute__((noinline)) long chosen(long flag, long given, long kept) {
    if (flag == 7)
        return passed(given, 3);
    if (sink > limit_of_all)
        sink = kept;
    return kept;
}
int main(int count, char **words) {
    struct list last = {0, 4, 1}, first = {&last, 2, 1};
    return (int)(counted(0, count, 2) + walked(&first, count) + chosen(count, 2, 3)) & words[0][0];
}
"""


def _uses(program: Path, budget_s: float = 10.0) -> tuple[dict[tuple[str, str], set[str]], CodeUses]:
    table = table_of(program, program.parent / "tables")
    binary = describe(str(program), cache=program.parent / "tables" / "cache", debug_folders=())
    found = uses_at(binary, table, binary.code.scope_entry[binary.code.scope_parent < 0], budget_s)
    names, variables = list(binary.functions.names), table.variables
    owners = [names[row] if row >= 0 else "" for row in variables.function.tolist()]
    return {
        (owner, variables.name[number]): set(found.uses.get(number, ())) for number, owner in enumerate(owners)
    }, found


def _built(folder: Path, compiler: str, level: str) -> Path:
    (folder / "program.c").write_text(_PROGRAM)
    run(compiler, "-g", level, "-fno-tree-vectorize", folder / "program.c", "-o", folder / "program")
    return folder / "program"


_TRUTH: dict[tuple[str, str], set[str]] = {
    ("counted", "i"): {"condition", "loop"},
    ("counted", "bound"): {"condition"},
    ("counted", "innocent"): set(),
    ("counted", "sum"): set(),
    ("walked", "here"): {"condition", "loop"},
    ("walked", "here->weight"): {"condition"},
    ("walked", "here->unused"): set(),
    ("walked", "floor"): {"condition"},
    ("walked", "total"): set(),
    ("chosen", "flag"): {"condition"},
    ("chosen", "given"): {"argument"},
    ("chosen", "kept"): set(),
    ("", "limit_of_all"): {"condition"},
}


@pytest.mark.parametrize(("compiler", "level"), [("gcc", "-O0"), ("gcc", "-O2"), ("clang", "-O0")])
def test_uses_are_those_of_the_source(tmp_path: Path, compiler: str, level: str) -> None:
    uses, _ = _uses(_built(tmp_path, compiler, level))
    assert {variable: uses[variable] for variable in _TRUTH} == _TRUTH


def test_where_a_compiler_lets_go_of_variables_early_nothing_wrong_is_said(tmp_path: Path) -> None:
    uses, _ = _uses(_built(tmp_path, "clang", "-O2"))
    assert all(uses.get(variable, set()) <= truth for variable, truth in _TRUTH.items())
    assert sum(bool(uses.get(variable)) for variable in _TRUTH) >= 4


def test_what_there_is_no_time_for_is_counted(tmp_path: Path) -> None:
    _, found = _uses(_built(tmp_path, "gcc", "-O0"), budget_s=0.0)
    assert found.uses == {} and found.unread > 4


def _operations(machine: Machine, code: bytes) -> list[tuple[str, Operation]]:
    rows = machine.decoded(code, 0x1000).rows
    return [(name, machine.operation(name, operands, start + size)) for start, size, name, operands in rows]


def test_operands() -> None:
    # mov eax, [rbp - 4]; add qword ptr [rsp + rcx*8 + 0x10], 1; movsd xmm1, [rip + 8]; ret
    code = bytes.fromhex("8b45fc 488344cc1001 f20f100d08000000 c3")
    (_, load), (_, add), (_, wide), (name, end) = _operations(X86_64, code)
    assert load.operands == (0, Memory((6,), -4, False))
    assert add.operands == (Memory((7, 2), 16, False), Immediate(1))
    assert wide.operands == (33, Memory((), 8, True))
    assert [start + size for start, size, _, _ in X86_64.decoded(code, 0x1000).rows][2] == 0x1000 + 17
    assert (name, end.operands) == ("ret", ()) and X86_64.step(name) is FlowStep.STOP


def _words(*words: int) -> bytes:
    return b"".join(word.to_bytes(4, "little") for word in words)


def test_operations_of_aarch64() -> None:
    # ldur w0, [x29, #-4]; ldr d1, [x0, x2, lsl #3]; str xzr, [sp, #16]; ret
    code = _words(0xB85FC3A0, 0xFC627801, 0xF9000BFF, 0xD65F03C0)
    load, wide, store, end = (operation for _, operation in _operations(AARCH64, code))
    assert load.operands == (0, Memory((29,), -4, False))
    assert wide.operands == (33, Memory((0, 2), 0, False))
    assert store.effects == (Effect(Does.COPY, Memory((31,), 16, False), (Immediate(0),)),)
    assert end == Operation(())


def test_a_part_of_a_vector_register_of_aarch64_is_no_memory() -> None:
    # dup v2.2d, v5.d[0]; ret
    lane, _ = (operation for _, operation in _operations(AARCH64, _words(0x4E0804A2, 0xD65F03C0)))
    assert lane.operands and not any(isinstance(one, Memory) for one in lane.operands)


def test_what_moves_the_stack_of_aarch64() -> None:
    # stp x29, x30, [sp, #-32]!; add x29, sp, #16; sub sp, sp, #1, lsl #12; ldp x29, x30, [sp], #32
    code = _words(0xA9BE7BFD, 0x910043FD, 0xD14007FF, 0xA8C27BFD)
    push, frame, reserve, pop = (operation for _, operation in _operations(AARCH64, code))
    # THEN displacements count from where the stack ends afterwards
    assert [(one.target, one.sources) for one in push.effects] == [
        (Memory((31,), 0, False), (29,)),
        (Memory((31,), 8, False), (30,)),
    ]
    assert push.grows == 32 and frame.frame == 16 and reserve.grows == 4096
    assert [(one.target, one.sources) for one in pop.effects] == [
        (29, (Memory((31,), -32, False),)),
        (30, (Memory((31,), -24, False),)),
    ]
    assert pop.grows == -32


def test_values_that_aarch64_makes() -> None:
    # ldr x0, [x1], #8; ldp w2, w3, [x0, #8]; csel x0, x1, x2, eq; cinc w0, w1, ne; ccmp w1, #3, #0, ne;
    # ldadd w1, w2, [x3]; subs w1, w2, #3
    code = _words(0xF8408420, 0x29410C02, 0x9A820020, 0x1A810420, 0x7A431820, 0xB8210062, 0x71000C41)
    stepping, pair, chosen, counted, again, atomic, less = (one for _, one in _operations(AARCH64, code))
    assert stepping.effects == (
        Effect(Does.COPY, 0, (Memory((1,), 0, False),)),
        Effect(Does.COMPUTE, 1, (1,)),
    )
    assert [(one.target, one.sources[0]) for one in pair.effects] == [
        (2, Memory((0,), 8, False)),
        (3, Memory((0,), 12, False)),
    ]
    assert chosen.effects[0].does is Does.CHOOSE and chosen.effects[0].sources[:2] == (1, 2)
    assert counted.effects[0].does is Does.CHOOSE_COMPUTED
    assert again.effects == (Effect(Does.COMPARE_TOO, None, (1, Immediate(3))),)
    assert [one.target for one in atomic.effects] == [2, Memory((3,), 0, False)]
    assert less.sets_flags and less.effects == (Effect(Does.COMPUTE, 1, (2, Immediate(3))),)


def test_globals_of_aarch64_are_found_by_their_whole_address() -> None:
    # adrp x0, 0x1000; ldr w1, [x0, #16]; add x0, x0, #32; cbz x3, .
    code = _words(0x90000000, 0xB9401001, 0x91008000, 0xB4000003)
    _, (_, load), (name, address), (_, test) = _operations(AARCH64, code)
    assert load.operands == (1, Memory((), 0x1010 - 0x1008, True))
    assert name == "adr" and address.effects == (Effect(Does.TAKE_ADDRESS, 0, (Memory((), 0x1020 - 0x100C, True),)),)
    assert test.tested == (3,)
