"""What machine code tells of variables: compared, passed on, stepped."""

from __future__ import annotations

from pathlib import Path

import pytest

from whyperf.debuginfo import describe
from whyperf.debuginfo.code_uses import CodeUses, uses_at
from whyperf.debuginfo.operands import Immediate, Memory, instructions

from .building import run
from .oracle import table_of

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


def test_operands() -> None:
    # mov eax, [rbp - 4]; add qword ptr [rsp + rcx*8 + 0x10], 1; movsd xmm1, [rip + 8]; ret
    code = bytes.fromhex("8b45fc 488344cc1001 f20f100d08000000 c3")
    load, add, wide, end = instructions(code, 0x1000)
    assert load.operands == (0, Memory((6,), -4, False))
    assert add.operands == (Memory((7, 2), 16, False), Immediate(1))
    assert wide.operands == (33, Memory((), 8, True)) and wide.end == 0x1000 + 17
    assert (end.mnemonic, end.operands, end.target) == ("ret", (), None)
