"""Binaries without debug information, the vDSO, and names as symbols give them."""

from __future__ import annotations

import ctypes
import platform
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.debuginfo.building import Builder, needed, run
from tests.debuginfo.conftest import Describe
from tests.debuginfo.reading import addresses_within, chains
from whyperf.debuginfo.describe import describe

ASSEMBLY = """
    .text
    .globl sized, sizeless, after, main
    .type sized, @function
sized:
    nop
    nop
    ret
    .size sized, SIZE
    .type sizeless, @function
sizeless:
    nop
    ret
after:
    nop
    ret
    .type main, @function
main:
    nop
    ret
    .size main, . - main
    .section .note.GNU-stack,"",@progbits
"""
INSTRUCTION_BYTES = {"x86_64": 1, "aarch64": 4}  # of those above
VDSO_CLOCK = {"x86_64": "clock_gettime", "aarch64": "__kernel_clock_gettime"}


def _symbols(path: Path, *options: str) -> dict[str, tuple[int, int]]:
    lines = (line.split() for line in run("nm", "-S", *options, path).splitlines())
    return {parts[3]: (int(parts[0], 16), int(parts[1], 16)) for parts in lines if len(parts) == 4}


def test_a_symbol_owns_its_size_and_no_more(build: Builder, described: Describe, tmp_path: Path) -> None:
    # GIVEN
    source = tmp_path / "code.s"
    unit = INSTRUCTION_BYTES[platform.machine()]
    source.write_text(ASSEMBLY.replace("SIZE", str(2 * unit)))
    run("gcc", source, "-o", tmp_path / "code")
    addresses = {
        p[2]: int(p[0], 16) for p in (line.split() for line in run("nm", tmp_path / "code").splitlines()) if len(p) == 3
    }

    # WHEN
    binary = described(tmp_path / "code")
    start = addresses["sized"]
    inside = np.arange(start, start + 7 * unit, unit, dtype=np.uint64)
    names = [chain[0][0] if chain else None for chain in chains(binary, inside)]

    # THEN a size is taken at its word, a function without one ends at the next symbol, a mere label owns nothing
    assert binary.debug == "symbols"
    assert names == ["sized", "sized", None, "sizeless", "sizeless", None, None]


def test_a_stripped_library_keeps_its_exported_functions(build: Builder, described: Describe, tmp_path: Path) -> None:
    # GIVEN
    library = Path(shutil.copy(build.c("-O2", "-g", "-shared", "-fPIC"), tmp_path / "library"))
    run("strip", "--strip-all", library)
    exported = _symbols(library, "-D", "--defined-only")

    # WHEN
    binary = described(library)

    # THEN
    assert binary.debug == "symbols"
    for name in ("mill_grind", "other_file"):
        low, size = exported[name]
        first, last, after = chains(binary, np.array([low, low + size - 1, low + size + 15], np.uint64))
        assert first == last == [(name, "", 0)]
        assert not after or after[0][0] != name
        [function] = binary.function_at(name)
        assert binary.entry_addresses(function) == [low]
    assert not binary.function_at("sieve")


def test_clones_without_debug_information_are_their_function(build: Builder, described: Describe) -> None:
    # GIVEN symbols only: mill_grind.cold, sieve.constprop.0 and two static functions of one name
    binary = described(build.c("-O2"))
    names = binary.functions.names.to_list()

    # THEN
    assert binary.debug == "symbols"
    assert not [name for name in names if "." in name]
    assert names.count("mill_grind") == 1 and names.count("sieve") == 1
    assert sorted(binary.functions.order[i] for i in binary.function_at("same_name")) == [0, 1]
    assert all(len(binary.entry_addresses(i)) == 1 for i in binary.function_at("same_name"))


def test_cxx_symbols_are_named_as_debug_information_names_them(build: Builder, described: Describe) -> None:
    # GIVEN
    bare, full = described(build.cxx("-O0")), described(build.cxx("-O0", "-g"))

    # WHEN
    of_program = {name for name in full.functions.names if name.startswith("shop::") and "lambda" not in name}
    of_symbols = set(bare.functions.names)

    # THEN
    assert {"shop::Clerk::serve", "shop::Basket<int>::total", "shop::(anonymous namespace)::hidden"} <= of_program
    assert of_program <= of_symbols
    assert "shop::Basket<int>::total::{lambda(int const&)#1}::operator()" in of_symbols


@pytest.mark.parametrize("mangling", ["legacy", "v0"])
def test_rust_names(build: Builder, described: Describe, mangling: str) -> None:
    # GIVEN
    needed("rustc")
    flags = ["-O", "-C", f"symbol-mangling-version={mangling}"]
    if mangling == "legacy" and "nightly" not in run("rustc", "--version"):
        flags = ["-O"]  # what stable compilers still do without asking, and refuse to be asked for
    full = described(build.rust(*flags, "-g"))
    bare = described(build.rust(*flags, "-C", "strip=debuginfo"))

    # THEN
    price = "<shop::shop::Basket<u64> as shop::shop::Price>::price"
    total = "<shop::shop::Basket<u64>>::total" if mangling == "v0" else "shop::shop::Basket<T>::total"
    for binary in (full, bare):
        names = set(binary.functions.names)
        assert {price, total, "shop::main"} <= names
        assert not [name for name in names if name.startswith("_ZN") and name.endswith("E")]


def test_rust_lines(build: Builder, described: Describe) -> None:
    needed("rustc")
    binary = described(build.rust("-O", "-g"))
    found = [
        chain for chain in chains(binary, addresses_within(binary, 2000)) if chain and chain[-1][1].endswith("shop.rs")
    ]
    assert any(chain[-1][0].endswith("price") and chain[-1][2] in (18, 19) for chain in found)


def test_the_vdso_is_read_from_memory() -> None:
    # GIVEN where this process has it
    libc = ctypes.CDLL(None)
    libc.getauxval.restype = ctypes.c_ulong
    at_sysinfo_ehdr = 33
    if not libc.getauxval(at_sysinfo_ehdr):
        pytest.skip("this kernel maps no vDSO")

    # WHEN
    binary = describe("[vdso]")

    # THEN
    assert binary.debug == "symbols"
    name = VDSO_CLOCK[platform.machine()]
    [function] = binary.function_at(name)
    [entry] = binary.entry_addresses(function)
    assert chains(binary, np.array([entry], np.uint64))[0][0][0] == name


def test_uprobe_offsets(build: Builder, described: Describe) -> None:
    # GIVEN
    program = build.c("-O2", "-g")
    binary = described(program)
    [grind] = binary.function_at("mill_grind")
    [entry] = binary.entry_addresses(grind)

    # WHEN
    offset = binary.file_offset(entry)

    # THEN the bytes there are the function's
    text = next(
        line.split() for line in run("readelf", "-SW", program).replace("[ ", "[").splitlines() if " .text " in line
    )
    address, section_offset = int(text[3], 16), int(text[4], 16)
    assert offset == entry - address + section_offset
    assert binary.file_offset(2**50) == -1


@pytest.mark.parametrize(
    ("content", "note"),
    [
        (b"", "not a readable 64-bit ELF file"),
        (b"#!/bin/sh\n", "not a readable"),
        (b"\x7fELF\x02\x01" + b"\xff" * 300, ""),
    ],
)
def test_what_is_no_binary_says_nothing(described: Describe, tmp_path: Path, content: bytes, note: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    binary = described(path)
    assert binary.debug == "none" and len(binary.functions) == 0
    assert note in binary.note
    assert binary.block_of(np.array([0, 4096], np.uint64)).tolist() == [-1, -1]


@pytest.mark.parametrize("path", ["/nonexistent", "/", "/dev/zero", "", "[heap]", "//anon", "\0", "/tmp/x (deleted)"])
def test_odd_paths_say_nothing(described: Describe, path: str) -> None:
    assert described(path).debug == "none"
    assert described(path, "00" * 20).debug == "none"


def test_hints(build: Builder, described: Describe) -> None:
    full, bare = described(build.c("-g")), described(build.c("-O1"))
    assert full.missing_debug_hint() == ""
    assert "compile it with -g" in bare.missing_debug_hint()
    if shutil.which("dpkg"):
        shell = Path(needed("sh"))
        hint = described(shell).missing_debug_hint()
        assert "-dbg" in hint and "install " in hint
