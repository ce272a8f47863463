"""Chains of inlined functions and lines, against other implementations on real compilers' output."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tests.debuginfo.building import Builder, run
from tests.debuginfo.conftest import Describe
from tests.debuginfo.reading import addresses_within, by_addr2line, by_llvm, chains, comparable

FLAGS = [
    ("-O0", "-gdwarf-5"),
    ("-O2", "-gdwarf-4"),
    ("-O2", "-gdwarf-5"),
    ("-O3", "-gdwarf-5"),
    ("-O2", "-g", "-flto"),
    ("-O2", "-g", "-ffunction-sections", "-Wl,--gc-sections"),
    ("-O1", "-g", "-no-pie"),
]
NAMES = ["-".join(flags).replace("/", "") for flags in FLAGS]


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("flags", FLAGS, ids=NAMES)
def test_c_agrees_with_llvm(build: Builder, described: Describe, compiler: str, flags: tuple[str, ...]) -> None:
    # GIVEN
    if compiler == "clang" and "-flto" in flags:
        flags = tuple(flag for flag in flags if flag != "-flto")
    program = build.c(*flags, compiler=compiler)

    # WHEN
    binary = described(program)
    addresses = addresses_within(binary)

    # THEN
    assert binary.debug == "full"
    assert len(addresses) > 200
    assert comparable(_with_source(chains(binary, addresses))) == comparable(_with_source(by_llvm(program, addresses)))


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("flags", [("-O0", "-g"), ("-O2", "-gdwarf-4"), ("-O2", "-gdwarf-5"), ("-O3", "-gdwarf-5")])
def test_cxx_agrees_with_llvm(build: Builder, described: Describe, compiler: str, flags: tuple[str, ...]) -> None:
    # GIVEN templates, lambdas, exceptions, deep inlining
    program = build.cxx(*flags, compiler=compiler)

    # WHEN
    binary = described(program)
    addresses = addresses_within(binary, 1500)
    found = chains(binary, addresses)

    # THEN
    assert comparable(_with_source(found)) == comparable(_with_source(by_llvm(program, addresses)))
    assert "-O0" in flags or max(map(len, found)) > 3


def test_c_agrees_with_addr2line(build: Builder, described: Describe) -> None:
    # GIVEN a plain build, on which binutils is right about inlined functions too
    program = build.c("-O2", "-g")
    binary = described(program)
    addresses = addresses_within(binary)

    # THEN
    theirs = by_addr2line(program, addresses)
    assert comparable(_with_source(chains(binary, addresses))) == comparable(_with_source(theirs))


def test_physical_functions_agree_with_gdb(build: Builder, described: Describe, tmp_path: Path) -> None:
    # GIVEN
    program = build.cxx("-O2", "-g")
    binary = described(program)
    addresses = addresses_within(binary, 100)[:150]

    # WHEN
    script = tmp_path / "script"
    script.write_text("\n".join(f"info symbol {hex(address)}" for address in addresses.tolist()))
    output = run("gdb", "-q", "-nx", "-batch", "-x", script, program).splitlines()
    symbols = [line for line in output if " in section " in line]

    # THEN every address is in the function that gdb's symbols say, which may have been split or cloned
    assert len(symbols) == len(addresses)
    for symbol, chain in zip(symbols, chains(binary, addresses), strict=True):
        physical = chain[-1][0]
        last = re.sub(r"<.*", "", physical).rpartition("::")[2]
        assert last in symbol, (symbol, physical)


def test_split_off_parts_and_clones_are_their_function(build: Builder, described: Describe) -> None:
    # GIVEN mill_grind.cold and sieve.constprop.0
    program = build.c("-O2", "-g", "-freorder-blocks-and-partition")
    symbols = {
        name: int(address, 16)
        for address, _, name in (line.split() for line in run("nm", program).splitlines() if len(line.split()) == 3)
    }
    assert {"mill_grind.cold", "sieve.constprop.0"} <= set(symbols)

    # WHEN
    binary = described(program)
    cold, clone = chains(binary, np.array([symbols["mill_grind.cold"], symbols["sieve.constprop.0"]], np.uint64))

    # THEN
    assert cold[-1][0] == "mill_grind"
    assert clone[-1][0] == "sieve"
    assert binary.functions.names.to_list().count("mill_grind") == 1
    [grind] = binary.function_at("mill_grind")
    assert binary.entry_addresses(grind) == [symbols["mill_grind"]]


def test_static_functions_of_the_same_name_are_told_apart(build: Builder, described: Describe) -> None:
    # GIVEN one in mill.c and one in other.c
    binary = described(build.c("-O2", "-g"))

    # WHEN
    candidates = binary.function_at("same_name")

    # THEN
    functions = binary.functions
    assert sorted(functions.files[i].rpartition("/")[2] for i in candidates) == ["mill.c", "other.c"]


def test_overloads_have_an_order(build: Builder, described: Describe) -> None:
    binary = described(build.cxx("-O0", "-g"))
    candidates = binary.function_at("overloaded")
    functions = binary.functions
    assert [functions.names[i] for i in candidates] == ["shop::overloaded"] * 2
    assert sorted(functions.order[candidates].tolist()) == [0, 1]
    first, second = sorted(candidates, key=lambda i: functions.order[i])
    assert functions.lines[first] < functions.lines[second]


def test_functions_without_an_own_copy_are_marked(build: Builder, described: Describe) -> None:
    binary = described(build.c("-O2", "-g"))
    functions = binary.functions
    [twice], [main] = binary.function_at("twice"), binary.function_at("main")
    assert functions.inlined[twice] and not functions.inlined[main]
    assert binary.entry_addresses(twice) == []
    assert functions.files[twice].endswith("programs/mill.h")
    assert functions.lines[twice] == 1


def test_unknown_addresses_have_no_places(build: Builder, described: Describe) -> None:
    binary = described(build.c("-O2", "-g"))
    places = binary.resolve(np.array([0, 1, 2**40, 2**64 - 1], np.uint64))
    assert places.start.tolist() == [0, 0, 0, 0, 0]


def _with_source(found: list[list[tuple[str, str, int]]]) -> list[list[tuple[str, str, int]]]:
    """Chains with a source: what start-up code of the C library is called is no matter of debug information."""
    return [chain if any(line for _, _, line in chain) else [] for chain in found]
