"""Functions of stripped programs come from their unwind tables."""

from __future__ import annotations

import platform
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.debuginfo.building import Builder, run
from tests.debuginfo.conftest import Describe
from tests.debuginfo.reading import chains
from whyperf.debuginfo.code_maps.unwind_index import unwind_ranges
from whyperf.debuginfo.elf_files.elf import read_elf

# Where jumps may lead to is marked by instructions.
MARKED = {"x86_64": ("-fcf-protection",), "aarch64": ("-mbranch-protection=standard",)}
NO_UNWIND_ROWS = ("_init", "call_weak_fn")  # the C library's start-up code


def _stripped(program: Path, copy: Path) -> Path:
    shutil.copy(program, copy)
    run("strip", "--strip-all", copy)
    return copy


def _unwind_entries(path: Path) -> set[tuple[int, int]]:
    text = run("readelf", "--debug-dump=frames", "-W", path)
    return {(int(low, 16), int(high, 16)) for low, high in re.findall(r"FDE .* pc=(\w+)\.\.(\w+)", text)}


def _linkage(path: Path) -> list[tuple[int, int]]:
    sections = re.findall(r"\] (\.plt\S*) +\S+ +(\w+) \w+ (\w+)", run("readelf", "-SW", path))
    return [(int(low, 16), int(low, 16) + int(size, 16)) for _, low, size in sections]


@pytest.mark.parametrize("file", ["/usr/bin/sort", "/bin/bash"])
def test_ranges_are_those_that_readelf_shows(file: str) -> None:
    if not Path(file).exists():
        pytest.skip(f"{file} is not installed")
    elf = read_elf(Path(file))
    assert elf is not None
    found = unwind_ranges(elf)
    stubs = _linkage(Path(file))
    expected = {entry for entry in _unwind_entries(Path(file)) if not any(a <= entry[0] < b for a, b in stubs)}
    assert len(expected) > 100
    assert set(zip(found.low.tolist(), found.high.tolist(), strict=True)) == expected


@pytest.mark.parametrize("flags", [("-O2",), ("-O2", "-no-pie"), ("-O1", *MARKED[platform.machine()], "-Wl,-z,now")])
def test_a_stripped_program_has_the_functions_it_had_before(
    build: Builder, described: Describe, tmp_path: Path, flags: tuple[str, ...]
) -> None:
    # GIVEN the functions before stripping
    whole = build.c(*flags)
    sizes = re.findall(r"^(\w+) (\w+) [tT] (\w+)$", run("nm", "-S", whole), re.M)
    program = _stripped(whole, tmp_path / "bare")

    # WHEN
    binary = described(program)

    # THEN every one is a function called by its start, from its first to its last byte
    assert binary.debug == "none"
    assert {"mill_grind", "main"} <= {name for _, _, name in sizes}
    for start, size, name in sizes:
        if name in NO_UNWIND_ROWS:
            continue
        low, high = int(start, 16), int(start, 16) + int(size, 16)
        first, last = chains(binary, np.array([low, high - 1], np.uint64))
        assert first == last == [(f"bare+{low:#x}", "", 0)], name
    # THEN stubs stay nameless, and blocks are the same as with symbols
    for low, _ in _linkage(program):
        assert chains(binary, np.array([low], np.uint64)) == [[]]
    with_symbols = described(whole)
    [row] = with_symbols.function_at("mill_grind")
    [entry] = with_symbols.entry_addresses(row)
    assert binary.entry_addresses(binary.function_at(f"bare+{entry:#x}")[0]) == [entry]
    inside = np.arange(entry, entry + 40, dtype=np.uint64)
    assert binary.block_of(inside).max() > 0
    assert binary.block_of(inside).tolist() == with_symbols.block_of(inside).tolist()


def test_what_symbols_cover_stays_theirs(build: Builder, described: Describe, tmp_path: Path) -> None:
    library = _stripped(build.c("-O2", "-shared", "-fPIC"), tmp_path / "library")
    binary = described(library)
    names = binary.functions.names.to_list()
    [exported] = [binary.entry_addresses(row) for row in binary.function_at("mill_grind")]
    assert binary.debug == "symbols"
    assert f"library+{exported[0]:#x}" not in names
    assert any(name.startswith("library+0x") for name in names)


@pytest.mark.parametrize("at", range(0, 40, 3))
def test_a_damaged_index_invents_nothing(build: Builder, tmp_path: Path, at: int) -> None:
    program = _stripped(build.c("-O2"), tmp_path / "bare")
    elf = read_elf(program)
    assert elf is not None
    sound = unwind_ranges(elf)
    content = bytearray(program.read_bytes())
    offset = elf.file_offset(elf.unwind_index[0])
    assert offset is not None
    content[offset + at] ^= 0x55
    program.write_bytes(content)
    damaged = unwind_ranges(elf)
    assert set(damaged.low.tolist()) <= set(sound.low.tolist())
