"""What becomes of 64-bit ARM's call frame information."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.native.unwind.binutils import libraries, rules_of_binutils, saved_words
from tests.native.unwind.building import MACHINE, NATIVE, NO_SEARCH_FOR_LEAKS, SANITIZERS, compile_driver
from tests.native.unwind.rows import LOST, Kind, Row, Section, cie, rows_of, sleb, uleb
from whyperf.collect import _stacks

FP, LR, SP = 29, 30, 31
START = 0x1000
Compile = Callable[[Section], list[Row]]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    target = tmp_path_factory.mktemp("section") / "section"
    tables = [str(NATIVE / "stacks" / "tables.c")]
    driver = compile_driver(target, "section", *SANITIZERS, sources=tables, machine="aarch64")

    def compile_section(section: Section) -> list[Row]:
        command = [driver, str(section.address), "0"]
        done = subprocess.run(
            command, input=section.bytes, capture_output=True, check=True, env=os.environ | NO_SEARCH_FOR_LEAKS
        )
        return rows_of(done.stdout, "aarch64")

    return compile_section


def one_function(program: bytes, letters: str = "zR") -> Section:
    section = Section()
    # CFA = sp: how every function begins.
    at = section.add_cie(cie(letters, initial=bytes([0x0C, SP, 0]), code_align=4, return_column=LR))
    section.add_fde(at, START, 0x100, program)
    return section


def advance(instructions: int) -> bytes:
    return bytes([0x40 | instructions])


def offset(register: int, words: int) -> bytes:
    return bytes([0x80 | register]) + uleb(words)


def saved(**words: int) -> tuple[int, ...]:
    """By register name, in words from the CFA."""
    return tuple(words.get(f"x{number}", 0) for number in range(19, 31))


ENTERED = Row(START, Kind.OFFSET, SP, 0, saved())
DONE = Row(START + 0x100, Kind.NONE, saved=saved())


def test_frame_record_and_saved_register(compiled: Compile) -> None:
    # GIVEN stp x29, x30, [sp, -48]!; mov x29, sp; str x19, [sp, 16]; ...; ldp x29, x30, [sp], 48
    program = (
        *(advance(1), b"\x0e\x30", offset(FP, 6), offset(LR, 5)),
        *(advance(2), offset(19, 4)),
        *(advance(20), bytes([0xC0 | FP, 0xC0 | LR, 0xC0 | 19, 0x0E, 0])),
    )
    # THEN each instruction has its row, and the return address is x30's
    assert compiled(one_function(b"".join(program))) == [
        ENTERED,
        Row(START + 4, Kind.OFFSET, SP, 48, saved(x29=-6, x30=-5)),
        Row(START + 12, Kind.OFFSET, SP, 48, saved(x19=-4, x29=-6, x30=-5)),
        Row(START + 92, Kind.OFFSET, SP, 0, saved()),
        DONE,
    ]


def test_registers_at_the_bottom_of_a_large_frame(compiled: Compile) -> None:
    program = bytes([0x0E]) + uleb(40_000) + offset(FP, 5000) + offset(LR, 4999) + offset(28, 4880) + offset(27, 4800)
    rows = compiled(one_function(program))
    # THEN they count from the lowest, as far as a byte reaches
    assert rows[0] == Row(START, Kind.OFFSET, SP, 40_000, saved(x27=LOST, x28=-4880, x29=-5000, x30=-4999))


def test_return_address_that_cannot_be_found(compiled: Compile) -> None:
    program = (
        bytes([0x07, LR])  # undefined: the outermost frame
        + (advance(1) + bytes([0x06, LR, 0x07, 19]))  # restored; x19 undefined
        + (advance(1) + bytes([0x09, LR, 9]))  # in another register
        + (advance(1) + offset(LR, 40_000) + offset(FP, 2))  # too far away for a row
        + (advance(1) + bytes([0x08, LR, 0x0F]) + uleb(2) + b"\x8f" + sleb(16))  # again in x30; CFA = sp + 16
        + (advance(1) + bytes([0x0C, 64, 8]))  # from a register that is none
    )
    assert compiled(one_function(program)) == [
        Row(START, Kind.END, saved=saved()),
        Row(START + 4, Kind.OFFSET, SP, 0, saved(x19=LOST)),
        Row(START + 8, Kind.RULE, saved=saved()),
        Row(START + 16, Kind.OFFSET, SP, 16, saved(x19=LOST, x29=-2)),
        Row(START + 20, Kind.RULE, saved=saved()),
        DONE,
    ]


def test_signed_return_addresses_change_nothing(compiled: Compile) -> None:
    program = advance(1) + b"\x2d" + advance(1) + b"\x0e\x10" + offset(FP, 2) + offset(LR, 1) + advance(1) + b"\x2d"
    assert compiled(one_function(program, letters="zRB")) == [
        ENTERED,
        Row(START + 8, Kind.OFFSET, SP, 16, saved(x29=-2, x30=-1)),
        DONE,
    ]


def test_signal_frame(compiled: Compile) -> None:
    assert compiled(one_function(b"", letters="zRS")) == [Row(START, Kind.SIGNAL, saved=saved()), DONE]


@pytest.mark.skipif(MACHINE != "aarch64", reason="needs libraries for 64-bit ARM")
@pytest.mark.parametrize("library", libraries(), ids=lambda path: path.name)
def test_every_row_of_a_library_is_binutils_row(library: Path) -> None:
    by_address = {row.address: row for row in rows_of(_stacks.compile_file(library), "aarch64")}
    addresses = sorted(by_address)
    compared = at = 0
    for address, cfa, rules in sorted(rules_of_binutils(library), key=lambda rule: rule[0]):
        # WHEN readelf could say it in registers and offsets
        found = re.fullmatch(r"(sp|x\d+)\+(\d+)", cfa)
        if not found or address == 0 or not re.fullmatch(r"u|s|c-\d+", rules.get("ra", "u")):
            continue
        while at + 1 < len(addresses) and addresses[at + 1] <= address:
            at += 1
        row = by_address[addresses[at]]
        # The first frame of a program or thread: readelf writes "u" for undefined, too.
        if row.kind == Kind.END:
            continue
        # THEN so do we
        names = [*(f"x{number}" for number in range(19, 30)), "ra"]
        words = tuple(saved_words(rules.get(name, "u")) for name in names)
        number = SP if found[1] == "sp" else int(found[1][1:])
        assert (row.kind, row.reg, row.offset) == (Kind.OFFSET, number, int(found[2])), hex(address)
        assert row.saved == tuple(LOST if word is None else word for word in words), hex(address)
        compared += 1
    assert compared > 500
