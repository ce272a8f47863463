"""What becomes of x86-64's call frame information: every rule by hand, whole libraries against binutils, programs at
random."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.native.unwind.binutils import libraries, rules_of_binutils, saved_words
from tests.native.unwind.building import MACHINE, NATIVE, NO_SEARCH_FOR_LEAKS, SANITIZERS, compile_driver
from tests.native.unwind.rows import DWARF, LOST, SAVED, Kind, Row, Section, cie, entry, rows_of, sleb, uleb
from whyperf.collect import _stacks

RBX, RBP, RSP, R10, R12, RIP = (DWARF[name] for name in ("rbx", "rbp", "rsp", "r10", "r12", "rip"))
START = 0x1000
Compile = Callable[..., list[Row]]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    target = tmp_path_factory.mktemp("section") / "section"
    driver = compile_driver(
        target, "section", *SANITIZERS, sources=[str(NATIVE / "stacks" / "tables.c")], machine="x86_64"
    )

    def compile_section(section: Section, *, entry: int = 0) -> list[Row]:
        command = [driver, str(section.address), str(entry)]
        done = subprocess.run(
            command, input=section.bytes, capture_output=True, check=True, env=os.environ | NO_SEARCH_FOR_LEAKS
        )
        return rows_of(done.stdout, "x86_64")

    return compile_section


def one_function(program: bytes, **of_cie: object) -> Section:
    section = Section()
    section.add_fde(section.add_cie(cie(**of_cie)), START, 0x100, program)  # type: ignore[arg-type]
    return section


def expression(*ops: int | bytes) -> bytes:
    block = b"".join(bytes([op]) if isinstance(op, int) else op for op in ops)
    return uleb(len(block)) + block


def advance(size: int) -> bytes:
    return bytes([0x40 | size])


ENTERED = Row(START, Kind.OFFSET, RSP, 8)
DONE = Row(START + 0x100, Kind.NONE)


def test_push_and_frame_pointer(compiled: Compile) -> None:
    # GIVEN push %rbp; mov %rsp,%rbp; push %rbx; ...; leave
    program = (
        *(advance(1), b"\x0e\x10", bytes([0x80 | RBP, 2])),
        *(advance(3), bytes([0x0D, RBP])),
        *(advance(1), bytes([0x80 | RBX, 3])),
        *(b"\x03\x80\x00", bytes([0xC0 | RBX, 0x0C, RSP, 8])),
    )
    # THEN each instruction has its row
    assert compiled(one_function(b"".join(program))) == [
        ENTERED,
        Row(START + 1, Kind.OFFSET, RSP, 16, (0, -2, 0, 0, 0, 0)),
        Row(START + 4, Kind.OFFSET, RBP, 16, (0, -2, 0, 0, 0, 0)),
        Row(START + 5, Kind.OFFSET, RBP, 16, (-3, -2, 0, 0, 0, 0)),
        Row(START + 0x85, Kind.OFFSET, RSP, 8, (0, -2, 0, 0, 0, 0)),
        DONE,
    ]


def test_remembered_rules_come_back(compiled: Compile) -> None:
    program = b"\x0a" + advance(1) + b"\x0e\x20" + bytes([0x80 | R12, 2]) + advance(1) + b"\x0b"
    assert compiled(one_function(program)) == [
        ENTERED,
        Row(START + 1, Kind.OFFSET, RSP, 32, (0, 0, -2, 0, 0, 0)),
        Row(START + 2, Kind.OFFSET, RSP, 8),
        DONE,
    ]


@pytest.mark.parametrize(
    "program",
    [b"\x0b", b"\x0a" * 17, b"\x3f", b"\x0c\x63\x08", b"\x0f\x7f\x77", b"\x0e\xff\xff\xff\xff\xff\x7f"],
    ids=["restore-without-remember", "remember-too-often", "unknown", "register-99", "block-too-long", "huge-offset"],
)
def test_nonsense_is_a_rule_that_cannot_be_expressed(program: bytes, compiled: Compile) -> None:
    assert compiled(one_function(advance(4) + program)) == [ENTERED, Row(START + 4, Kind.RULE), DONE]


def test_realigned_stack(compiled: Compile) -> None:
    # GIVEN lea 8(%rsp),%r10; and; push -8(%r10); push %rbp; mov %rsp,%rbp; push %r12; push %r10
    program = (
        *(advance(5), bytes([0x0C, R10, 0])),
        *(advance(7), bytes([0x10, RBP]), expression(0x76, sleb(0))),
        *(advance(4), bytes([0x0F]), expression(0x76, sleb(-16), 0x06)),
        *(bytes([0x10, R12]), expression(0x76, sleb(-8))),
    )
    # THEN saved registers count from rbp + 8, because no distance from there to the CFA is known
    assert compiled(one_function(b"".join(program))) == [
        ENTERED,
        Row(START + 5, Kind.OFFSET, R10, 0),
        Row(START + 12, Kind.REALIGN, R10, 0, (0, -1, 0, 0, 0, 0)),
        Row(START + 16, Kind.DEREF, RBP, -16, (0, -1, -2, 0, 0, 0)),
        DONE,
    ]


@pytest.mark.parametrize(
    ("block", "row"),
    [
        (expression(0x77, sleb(24)), Row(START, Kind.OFFSET, RSP, 24)),
        (expression(0x77, sleb(88), 0x06, 0x23, uleb(8)), Row(START, Kind.DEREF_PLUS, RSP, 88 << 8 | 8)),
        (expression(0x76, sleb(-88), 0x06, 0x23, uleb(16)), Row(START, Kind.DEREF_PLUS, RBP, -88 * 256 | 16)),
        (expression(0x77, 8, 0x80, 0, 0x3F, 0x1A, 0x3B, 0x2A, 0x33, 0x24, 0x22), Row(START, Kind.PLT, RSP, 11)),
        (expression(0x77, 8, 0x79, 0, 0x22), Row(START, Kind.RULE)),
        (expression(0x77, sleb(8), 0x06, 0x06), Row(START, Kind.RULE)),
    ],
)
def test_cfa_expressions(block: bytes, row: Row, compiled: Compile) -> None:
    assert compiled(one_function(b"\x0f" + block)) == [row, DONE]


def test_return_address_and_lost_registers(compiled: Compile) -> None:
    program = (
        bytes([0x07, RIP])  # undefined: the outermost frame
        + (advance(1) + bytes([0x06, RIP, 0x07, RBX]))  # restored; rbx undefined
        + (advance(1) + bytes([0x05, RBX]) + uleb(200))  # too far below the CFA for a row
        + (advance(1) + bytes([0x08, RBX, 0x11, RBP]) + sleb(2))  # same value again; rbp at CFA - 16
        + (advance(1) + bytes([0x2F, RBP]) + uleb(2))  # above the CFA
        + (advance(1) + bytes([0x14, RSP, 0, 0x2E, 32]))  # rsp = CFA + 0: as always; size of arguments
        + (advance(1) + bytes([0x09, RIP, 2]))  # the return address is in a register
    )
    assert compiled(one_function(program)) == [
        Row(START, Kind.END),
        Row(START + 1, Kind.OFFSET, RSP, 8, (LOST, 0, 0, 0, 0, 0)),
        Row(START + 3, Kind.OFFSET, RSP, 8, (0, -2, 0, 0, 0, 0)),
        Row(START + 4, Kind.OFFSET, RSP, 8, (0, LOST, 0, 0, 0, 0)),
        Row(START + 6, Kind.RULE),
        DONE,
    ]


def test_signal_frame(compiled: Compile) -> None:
    # GIVEN the C library's signal trampoline: registers relative to rsp
    program = bytes([0x0F]) + expression(0x77, sleb(160), 0x06)
    program += b"".join(bytes([0x10, reg]) + expression(0x77, sleb(at)) for reg, at in ((RSP, 160), (RIP, 168)))
    assert compiled(one_function(program, letters="zRS")) == [Row(START, Kind.SIGNAL), DONE]
    # AND something else that calls itself one
    assert compiled(one_function(b"", letters="zRS")) == [Row(START, Kind.RULE), DONE]


@pytest.mark.parametrize("encoding", [0x00, 0x01, 0x02, 0x03, 0x04, 0x09, 0x0A, 0x0B, 0x0C, 0x10, 0x1A, 0x1B, 0x1C])
def test_pointer_encodings(encoding: int, compiled: Compile) -> None:
    section = Section()
    at = section.add_cie(cie(augmentation=bytes([encoding])))
    section.add_fde(at, START, 0x100, b"", encoding)
    assert compiled(section) == [ENTERED, DONE]


@pytest.mark.parametrize("encoding", [0x9B, 0x3B, 0x2B, 0x0D], ids=["indirect", "datarel", "textrel", "unknown"])
def test_addresses_that_cannot_be_told_are_passed_over(encoding: int, compiled: Compile) -> None:
    section = Section()
    section.add_fde(section.add_cie(cie(augmentation=bytes([encoding]))), START, 0x100, b"", 0x0B)
    section.add_fde(section.add_cie(cie()), START + 0x200, 0x10, b"")
    assert compiled(section) == [Row(START + 0x200, Kind.OFFSET, RSP, 8), Row(START + 0x210, Kind.NONE)]


def test_augmentations(compiled: Compile) -> None:
    # GIVEN a personality routine (pcrel, 4 bytes), a language area, and C++'s usual letters
    section = Section()
    at = section.add_cie(cie("zPLR", b"\x9b" + bytes(4) + b"\x1b\x1b"))
    section.add_fde(at, START, 0x100, b"")
    assert compiled(section) == [ENTERED, DONE]
    # AND one whose meaning is unknown, or whose return address is elsewhere
    assert compiled(one_function(b"", letters="zRX")) == []
    assert compiled(one_function(b"", return_column=7)) == []
    assert compiled(one_function(b"", version=4)) == []


def test_functions_out_of_order_with_gaps_and_overlaps(compiled: Compile) -> None:
    section = Section()
    at = section.add_cie(cie())
    section.add_fde(at, 0x5000, 0x10, b"")
    section.add_fde(at, 0x3000, 0x40, advance(8) + b"\x0e\x20")
    section.add_fde(at, 0x5010, 0x10, advance(4) + b"\x0e\x18")  # right after the first
    section.add_fde(at, 0x3020, 0x40, advance(0x30) + b"\x0e\x10")  # half inside the second
    section.add_fde(at, 0, 0x40, b"")  # dropped by the linker
    assert compiled(section) == [
        Row(0x3000, Kind.OFFSET, RSP, 8),
        Row(0x3008, Kind.OFFSET, RSP, 32),
        Row(0x3040, Kind.OFFSET, RSP, 8),
        Row(0x3050, Kind.OFFSET, RSP, 16),
        Row(0x3060, Kind.NONE),
        Row(0x5000, Kind.OFFSET, RSP, 8),
        Row(0x5014, Kind.OFFSET, RSP, 24),
        Row(0x5020, Kind.NONE),
    ]


def test_reading_ends_at_the_terminator(compiled: Compile) -> None:
    section = one_function(b"")
    section.bytes += bytes(4)
    section.add_fde(0, 0x9000, 0x10, b"")
    assert compiled(section) == [ENTERED, DONE]


def test_set_loc_and_wide_advances(compiled: Compile) -> None:
    section = Section()
    at = section.add_cie(cie(augmentation=b"\x03"))
    program = b"\x01" + (START + 8).to_bytes(4, "little") + b"\x0e\x10\x02\x10\x0e\x18\x04\x20\x00\x00\x00\x0e\x20"
    section.add_fde(at, START, 0x100, program, 0x03)
    offsets = [(row.address - START, row.offset) for row in compiled(section)]
    assert offsets == [(0, 8), (8, 16), (0x18, 24), (0x38, 32), (0x100, 0)]


def test_code_from_a_module_s_entry_on_ends_stacks(compiled: Compile) -> None:
    section = Section()
    at = section.add_cie(cie())
    section.add_fde(at, 0x1000, 0x10, b"")
    section.add_fde(at, 0x1080, 0x10, b"")
    # GIVEN an entry that no function covers
    kinds = [(row.address, row.kind) for row in compiled(section, entry=0x1020)]
    assert kinds == [
        *((0x1000, Kind.OFFSET), (0x1010, Kind.NONE)),
        *((0x1020, Kind.END), (0x1080, Kind.OFFSET), (0x1090, Kind.NONE)),
    ]
    # AND one that has its own rows
    assert Kind.END not in {row.kind for row in compiled(section, entry=0x1084)}


def test_empty_sections(compiled: Compile) -> None:
    section = Section()
    for section.bytes in (b"", b"\0", bytes(4), b"\xff" * 40, entry(b"abc")):
        assert compiled(section) == []


# Programs at random against a twin that does what DWARF's text says.
_OPS = st.one_of(
    st.tuples(st.just("advance"), st.integers(1, 63)),
    st.tuples(st.just("offset"), st.sampled_from([RBX, RBP, R12, 13, 14, 15, 0, 9]), st.integers(2, 100)),
    st.tuples(st.just("restore"), st.sampled_from([RBX, RBP, R12])),
    st.tuples(st.just("cfa"), st.sampled_from([RSP, RBP, R10]), st.integers(0, 4000)),
    st.tuples(st.just("cfa-offset"), st.integers(0, 4000)),
    st.tuples(st.just("cfa-register"), st.sampled_from([RSP, RBP])),
    st.tuples(st.just("undefined"), st.sampled_from([RBX, RBP, 14])),
    st.tuples(st.just("same"), st.sampled_from([RBX, RBP, 14])),
    st.tuples(st.just("remember")),
    st.tuples(st.just("restore-state")),
)


def assemble(ops: list[tuple]) -> bytes:  # type: ignore[type-arg]
    out = bytearray()
    for name, *values in ops:
        match name:
            case "advance":
                out += advance(values[0])
            case "offset":
                out += bytes([0x80 | values[0]]) + uleb(values[1])
            case "restore":
                out.append(0xC0 | values[0])
            case "cfa":
                out += bytes([0x0C, values[0]]) + uleb(values[1])
            case "cfa-offset":
                out += b"\x0e" + uleb(values[0])
            case "cfa-register":
                out += bytes([0x0D, values[0]])
            case "undefined":
                out += bytes([0x07, values[0]])
            case "same":
                out += bytes([0x08, values[0]])
            case "remember":
                out.append(0x0A)
            case "restore-state":
                out.append(0x0B)
    return bytes(out)


def interpret(ops: list[tuple]) -> dict[int, Row]:  # type: ignore[type-arg]
    """The rule at every address of a function."""
    at, reg, offset = START, RSP, 8
    saved: dict[int, int] = {}
    states: list[tuple[int, int, dict[int, int]]] = []
    numbers = [DWARF[name] for name in SAVED]
    table: dict[int, Row] = {}
    for name, *values in [*ops, ("advance", START + 0x1000)]:
        match name:
            case "advance":
                row = Row(0, Kind.OFFSET, reg, offset, tuple(saved.get(number, 0) for number in numbers))
                table |= dict.fromkeys(range(at, min(at + values[0], START + 0x1000)), row)
                at += values[0]
            case "offset":
                saved[values[0]] = -values[1]
            case "restore" | "same":
                saved.pop(values[0], None)
            case "cfa":
                reg, offset = values
            case "cfa-offset":
                offset = values[0]
            case "cfa-register":
                reg = values[0]
            case "undefined":
                saved[values[0]] = LOST
            case "remember":
                states.append((reg, offset, dict(saved)))
            case "restore-state":
                reg, offset, saved = states.pop()
    return table


def balanced(ops: list[tuple]) -> list[tuple]:  # type: ignore[type-arg]
    """Without restores of what was never remembered, and remembering no deeper than compilers do."""
    depth, kept = 0, []
    for op in ops:
        change = {"remember": 1, "restore-state": -1}.get(op[0], 0)
        if 0 <= depth + change <= 16:
            depth += change
            kept.append(op)
    return kept


@settings(max_examples=100, deadline=None)
@given(ops=st.lists(_OPS, max_size=40).map(balanced))
def test_random_programs(ops: list[tuple], compiled: Compile) -> None:  # type: ignore[type-arg]
    section = Section()
    section.add_fde(section.add_cie(cie()), START, 0x1000, assemble(ops))
    rows = compiled(section)
    # THEN the row that holds at each address is the twin's
    expected = interpret(ops)
    bounds = [row.address for row in rows[1:]]
    assert rows[0].address == START
    assert rows[-1] == Row(START + 0x1000, Kind.NONE)
    for row, end in zip(rows, bounds, strict=False):
        for address in (row.address, end - 1):
            twin = expected[address]
            assert (row.kind, row.reg, row.offset, row.saved) == (twin.kind, twin.reg, twin.offset, twin.saved)
    # AND there is a row wherever the twin changes
    changes = [a for a in range(START + 1, START + 0x1000) if expected[a] != expected[a - 1]]
    assert bounds[:-1] == changes


@pytest.mark.skipif(MACHINE != "x86_64", reason="needs libraries for x86-64")
@pytest.mark.parametrize("library", libraries(), ids=lambda path: path.name)
def test_every_row_of_a_library_is_binutils_row(library: Path) -> None:
    rows = rows_of(_stacks.compile_file(library), "x86_64")
    by_address = {row.address: row for row in rows}
    addresses = sorted(by_address)
    compared = 0
    at = 0
    for address, cfa, rules in sorted(rules_of_binutils(library), key=lambda rule: rule[0]):
        # WHEN readelf could say it in registers and offsets
        found = re.fullmatch(r"(r\w+)\+(\d+)", cfa)
        if not found or rules.get("ra") != "c-8" or rules.get("rsp", "u") != "u" or address == 0:
            continue
        while at + 1 < len(addresses) and addresses[at + 1] <= address:
            at += 1
        row = by_address[addresses[at]]
        if row.kind == Kind.RULE and "exp" in rules.values():
            continue
        # THEN so do we
        expected = tuple(_saved(rules.get(name, "u")) for name in SAVED)
        assert (row.reg, row.offset) == (DWARF[found[1]], int(found[2])), hex(address)
        assert row.kind == Kind.OFFSET, hex(address)
        assert row.saved == expected, hex(address)
        compared += 1
    assert compared > 500


def _saved(rule: str) -> int:
    words = saved_words(rule)
    return words if words is not None and words >= -128 else LOST
