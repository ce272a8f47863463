"""Basic blocks, against a second reading of the code by objdump."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.debuginfo.building import Builder, run
from tests.debuginfo.conftest import Describe
from whyperf.debuginfo.binary import Binary

INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\t(.*)$")
JUMP = re.compile(r"j\w+|b|br|b\.\w+|cbn?z|tbn?z")
STOP = re.compile(r"ret\w?|ud2|hlt|udf|brk")
TARGET = re.compile(r"\s([0-9a-f]+) <")


def _expected_blocks(path: Path, ranges: list[tuple[int, int]], never_return: set[int]) -> dict[int, int]:
    """Block of every instruction; `ranges` has the part with the entry first."""
    code = {}
    for low, high in ranges:
        text = run("objdump", "-d", "--no-show-raw-insn", f"--start-address={low}", f"--stop-address={high}", path)
        code |= {int(m[1], 16): m[2] for line in text.splitlines() if (m := INSTRUCTION.match(line))}
    addresses = sorted(code)
    following = dict(pairwise(addresses))
    leaders = {low for low, _ in ranges}
    for address, text in code.items():
        operation = text.replace("notrack ", "").replace("bnd ", "").split()[0]
        target = int(found[1], 16) if (found := TARGET.search(text)) else None
        if JUMP.fullmatch(operation):
            leaders |= {target} & set(code)
        calls = operation in ("call", "bl")
        stops = JUMP.fullmatch(operation) or STOP.fullmatch(operation) or (calls and target in never_return)
        if stops and address in following:
            leaders.add(following[address])
    part = {a: next(i for i, (low, high) in enumerate(ranges) if low <= a < high) for a in addresses}
    blocks, number = {}, -1
    for address in sorted(addresses, key=lambda a: (part[a], a)):
        number += address in leaders
        blocks[address] = number
    return blocks


def _ranges(binary: Binary, function: int) -> list[tuple[int, int]]:
    code, [entry] = binary.code, binary.entry_addresses(function)
    [scope] = np.flatnonzero((code.scope_entry == entry) & (code.scope_parent < 0))
    mine = code.body_scope == scope
    found = list(zip(code.body_low[mine].tolist(), code.body_high[mine].tolist(), strict=True))
    return sorted(found, key=lambda r: (not r[0] <= entry < r[1], r[0]))


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_blocks_agree_with_objdump(build: Builder, described: Describe, compiler: str, level: str) -> None:
    # GIVEN
    program = build.c(level, "-g", compiler=compiler)
    binary = described(program)
    never_return = {a for i in binary.function_at("give_up") for a in binary.entry_addresses(i)}

    for name in ("main", "mill_grind", "sieve"):
        for function in binary.function_at(name):
            if not binary.entry_addresses(function):
                continue  # inlined
            # WHEN
            expected = _expected_blocks(program, _ranges(binary, function), never_return)
            found = binary.block_of(np.array(list(expected), np.uint64))

            # THEN
            assert found.tolist() == list(expected.values()), name
            assert found.max() > 1


def test_the_part_with_the_entry_comes_first(build: Builder, described: Describe) -> None:
    # GIVEN a function whose cold part lies before its hot one
    binary = described(build.c("-O2", "-g", "-freorder-blocks-and-partition"))
    [grind] = binary.function_at("mill_grind")
    (hot, _), (cold, _) = _ranges(binary, grind)
    assert cold < hot

    # THEN
    first, in_cold = binary.block_of(np.array([hot, cold], np.uint64))
    assert first == 0 and in_cold > 1


def test_symbols_suffice_and_unknown_addresses_have_no_block(build: Builder, described: Describe) -> None:
    binary = described(build.c("-O2"))
    [main] = binary.function_at("main")
    [entry] = binary.entry_addresses(main)
    assert binary.block_of(np.array([entry, 0, 2**63], np.uint64)).tolist() == [0, -1, -1]
    assert binary.block_of(np.zeros(0, np.uint64)).tolist() == []
