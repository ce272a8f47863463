"""Functions that left by a jump, against what the running program itself says of its calls."""

from __future__ import annotations

import platform
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from tests.debuginfo.building import Builder, run
from tests.debuginfo.conftest import Describe
from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.control_flow.function_flow import TimedFlows
from whyperf.debuginfo.control_flow.tail_jumps import Calls, TailJumps
from whyperf.debuginfo.machines.aarch64 import AARCH64
from whyperf.debuginfo.machines.machine import Machine
from whyperf.debuginfo.machines.x86_64 import X86_64

AMPLE_S = 60.0
FOUND = {"middle", "outer", "either", "twice", "computed", "by_cases", "again", "stays"}

Called = dict[tuple[int, ...], list[list[str]]]


def _happened(program: Path) -> Called:
    """By stack, innermost first: what was called on the way to it, outermost first, each time."""
    found: Called = defaultdict(list)
    for line in run(program).splitlines():
        stack, _, way = line.partition("|")
        found[tuple(int(word, 0) for word in stack.split())].append(way.split())
    return found


def _jumps(binary: Binary, stack: tuple[int, ...], budget_s: float = AMPLE_S) -> list[list[tuple[int, int]]]:
    """For each pair of neighbours: file and address of each jump, innermost first."""
    inner = [stack[0], *(address - 1 for address in stack[1:-1])]
    outer = [address - 1 for address in stack[1:]]
    here = np.zeros(len(outer), np.int32)
    calls = Calls(here, np.array(outer, np.uint64), here, np.array(inner, np.uint64))
    return [list(jumps) for jumps in TailJumps({0: TimedFlows(binary, budget_s)}).of(calls)]


def _name(binary: Binary, address: int) -> str:
    places = binary.resolve([address])
    return binary.functions.names[int(places.function[-1])]


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("level", ["-O1", "-O2", "-O3"])
def test_who_is_named_was_called_every_time(build: Builder, described: Describe, compiler: str, level: str) -> None:
    # GIVEN jumps to one function and to several, by cases, by a pointer, to itself, and calls that are none
    program = build.jumps(level, "-g", "-rdynamic", compiler=compiler)
    binary = described(program)
    seen: set[str] = set()
    for stack, times in _happened(program).items():
        # main's own caller is in another file
        in_main = next(at for at, address in enumerate(stack) if _name(binary, address - (at > 0)) == "main")
        jumps = _jumps(binary, stack[: in_main + 1])
        named = [_name(binary, address) for between in reversed(jumps) for _, address in reversed(between)]
        on_stack = {_name(binary, address - 1) for address in stack[1:in_main]}
        for way in times:
            # THEN whoever is named was called, in this order
            at = iter(name for name in way if name not in on_stack)
            assert all(name in at for name in named), (stack, named, way)
            # AND the first that was called in a call is named, unless it is in the stack itself
            assert (way[0] in named) or way[0] in on_stack if way else not named
            seen |= {name for name in named if name in way}
    # Without optimisation nothing jumps; at -O1 gcc does not jump either.
    assert seen | {"stays"} == FOUND or (seen == set() and level == "-O1"), seen


def test_the_jump_is_at_its_own_line(build: Builder, described: Describe) -> None:
    program = build.jumps("-O2", "-g", "-rdynamic")
    binary = described(program)
    source = (Path(__file__).parent.parent / "programs" / "jumps.c").read_text().splitlines()
    shown: dict[str, set[str]] = defaultdict(set)
    for stack in _happened(program):
        in_main = next(at for at, address in enumerate(stack) if _name(binary, address - (at > 0)) == "main")
        for between in _jumps(binary, stack[: in_main + 1]):
            for _, address in between:
                places = binary.resolve([address])
                shown[_name(binary, address)].add(source[int(places.line[-1]) - 1].strip())
    # THEN it is the line of the jump, and where one of several jumps may have been it, that of the function
    assert shown["middle"] == {"leaf(number * 2);"}
    assert shown["outer"] == {"middle(number + 1);"}
    assert shown["computed"] == {"pointer(number);"}
    assert shown["either"] == {"JUMPS static void either(int number) {"}


def test_without_time_or_code_nobody_is_named(build: Builder, described: Describe) -> None:
    program = build.jumps("-O2", "-g", "-rdynamic")
    stacks = [stack[:3] for stack in _happened(program)]
    assert any(any(_jumps(described(program), stack)) for stack in stacks)
    assert not any(any(_jumps(described(program), stack, budget_s=0.0)) for stack in stacks)
    gone = described(program)
    missing = Binary(gone.path, gone.build_id, gone.debug, "", gone.code, None)
    assert not any(any(_jumps(missing, stack)) for stack in stacks)


def test_addresses_that_follow_no_call_name_nobody(build: Builder, described: Describe) -> None:
    program = build.jumps("-O2", "-g", "-rdynamic")
    binary = described(program)
    listing = run("objdump", "-d", "--no-show-raw-insn", "-j", ".text", program)
    call = r"^\s*[0-9a-f]+:\t(?:bnd )?(?:call|bl)\s.*\n(?=\s*([0-9a-f]+):)"
    follow_calls = {int(address, 16) for address in re.findall(call, listing, re.MULTILINE)}
    bodies = zip(binary.code.body_low.tolist(), binary.code.body_high.tolist(), strict=True)
    everywhere = np.concatenate([np.arange(low, high, dtype=np.uint64) for low, high in bodies])
    leaf = np.full(len(everywhere), binary.entry_addresses(binary.function_at("leaf")[0])[0], np.uint64)
    here = np.zeros(len(everywhere), np.int32)
    found = TailJumps({0: TimedFlows(binary, AMPLE_S)}).of(Calls(here, everywhere, here, leaf))
    named = {address + 1 for address, jumps in zip(everywhere.tolist(), found, strict=True) if jumps}
    assert named and named <= follow_calls
    nowhere = np.array([0, 1, 2**64 - 1, 2**63], np.uint64)
    none = np.full(4, -1, np.int32)
    for file, inner in ((here[:4], none), (none, here[:4]), (here[:4], here[:4])):
        assert TailJumps({0: TimedFlows(binary, AMPLE_S)}).of(Calls(file, nowhere, inner, nowhere)) == [()] * 4


def test_a_call_of_an_address_that_no_file_has_names_nobody(tmp_path: Path, described: Describe) -> None:
    # GIVEN a call far below the first address, as data among code may look like one
    code = ".word 0x96000000" if platform.machine() == "aarch64" else ".byte 0xe8, 0, 0, 0, 0x80"
    source = f'__asm__(".text\\nodd: {code}\\nafter_odd: ret");\nint main(void) {{ return 0; }}\n'
    (tmp_path / "odd.c").write_text(source)
    run("gcc", "-O2", "-g", "-o", "odd", "odd.c", cwd=tmp_path)
    symbols = run("nm", tmp_path / "odd")
    after, main = (int(next(re.finditer(rf"^(\w+) . {name}$", symbols, re.M))[1], 16) for name in ("after_odd", "main"))
    here = np.zeros(1, np.int32)
    calls = Calls(here, np.array([after - 1], np.uint64), here, np.array([main], np.uint64))
    assert TailJumps({0: TimedFlows(described(tmp_path / "odd"), AMPLE_S)}).of(calls) == [()]


LIBRARY = """
__attribute__((noinline)) static int work(int number) { volatile int sum = number; return sum * 3; }
__attribute__((noinline)) static int prepare(int number) { volatile int kept = number; return work(kept + 1); }
int library_call(int number) { volatile int kept = number; return prepare(kept + 2); }
"""
PROGRAM = """
int library_call(int);
__attribute__((noinline)) static int hands_on(int number) { volatile int kept = number; return library_call(kept); }
int main(int count, char **words) { return hands_on(count) + library_call(count) > 100; }
"""


def test_jumps_are_followed_into_another_file(tmp_path: Path, described: Describe) -> None:
    # GIVEN a program that calls a library's function, once directly and once by a jump; it jumps on twice
    (tmp_path / "library.c").write_text(LIBRARY)
    (tmp_path / "program.c").write_text(PROGRAM)
    run("gcc", "-O2", "-g", "-shared", "-fPIC", "-o", "library.so", "library.c", cwd=tmp_path)
    run("gcc", "-O2", "-g", "-o", "program", "program.c", "./library.so", cwd=tmp_path)
    files = [described(tmp_path / name) for name in ("program", "library.so")]
    work = files[1].entry_addresses(files[1].function_at("work")[0])[0]
    listing = run("objdump", "-d", "--no-show-raw-insn", tmp_path / "program")
    main = listing[listing.index("<main>:") :]
    call = r"(?:call|bl)\s+[0-9a-f]+ <(hands_on|library_call@plt)[^>]*>\n\s*([0-9a-f]+):"
    returns = {name: int(address, 16) for name, address in re.findall(call, main)}
    # WHEN somebody is seen at the end of it
    place = np.array([returns["hands_on"] - 1, returns["library_call@plt"] - 1], np.uint64)
    calls = Calls(np.zeros(2, np.int32), place, np.ones(2, np.int32), np.full(2, work + 1, np.uint64))
    found = TailJumps({number: TimedFlows(one, AMPLE_S) for number, one in enumerate(files)}).of(calls)
    # THEN all who jumped are named
    named = [[_name(files[file], address) for file, address in jumps] for jumps in found]
    assert named == [["prepare", "library_call", "hands_on"], ["prepare", "library_call"]]


@pytest.mark.parametrize(
    ("machine", "code", "target"),
    [
        (AARCH64, "94000002", 0x1000 - 4 + 8),
        (AARCH64, "97fffffe", 0x1000 - 4 - 8),
        (AARCH64, "14000002", None),  # a jump
        (AARCH64, "d63f0020", None),  # by a register
        (X86_64, "9090e810000000", 0x1010),
        (X86_64, "90e8f0ffffff", 0x0FF0),
        (X86_64, "ff15f0ffffff", None),  # through memory
        (X86_64, "e8", None),
        (AARCH64, "", None),
    ],
)
def test_the_call_that_ends_there(machine: Machine, code: str, target: int | None) -> None:
    content = bytes.fromhex(code)
    assert machine.call_before(content if machine is X86_64 else content[::-1], 0x1000) == target
