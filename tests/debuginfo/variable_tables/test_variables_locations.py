"""Every kind of location, from DWARF written by hand, to the table, to the value."""

from __future__ import annotations

import struct

import pytest

from tests.debuginfo.evaluate import Frame, evaluate, evaluate_fields
from tests.debuginfo.handmade import (
    AARCH64,
    CALLER,
    DATA,
    PROBE,
    TYPES,
    X86_64,
    Argument,
    Target,
    Variable,
    build,
    sleb,
    uleb,
)
from tests.debuginfo.oracle import table_of
from whyperf.debuginfo.variable_tables.making import VariablesTable
from whyperf.debuginfo.variable_tables.table import LocationKind

CFA, RBP, RSP, PAIR, BIAS, TLS = 0x7FFE0000, 0x7FFE1000, 0x7FFD0000, 0x5550000, 0x10000, 0x600000
MEMORY = {
    CFA - 24: struct.pack("<i", -7),
    CFA - 32: struct.pack("<q", PAIR),
    RBP - 8: struct.pack("<i", 1234),
    RSP + 16: struct.pack("<q", -(2**40)),
    RSP + 32: struct.pack("<iiq", 11, 12, 13),
    PAIR: struct.pack("<iiq", 21, -22, 2**33),
    DATA + BIAS: struct.pack("<d", 2.5),
    TLS + 24: struct.pack("<i", 99),
}
STACK_VALUE = b"\x9f"


def read_memory(address: int, size: int) -> bytes | None:
    for start, content in MEMORY.items():
        if start <= address and address + size <= start + len(content):
            return content[address - start : address - start + size]
    return None


def fbreg(offset: int) -> bytes:
    return b"\x91" + sleb(offset)


def piece(size: int) -> bytes:
    return b"\x93" + uleb(size)


def typed(operator: int, name: str) -> bytes:
    return bytes([operator]) + uleb(TYPES[name])


class Hand:
    """What is written and read on a machine; registers have the numbers of x86-64."""

    def __init__(self, target: Target) -> None:
        self.target = target

    def number(self, number: int) -> int:
        return self.target.register.get(number, number)

    def reg(self, number: int) -> bytes:
        return bytes([0x50 + self.number(number)])

    def vector(self, number: int) -> bytes:
        """In the short form, where there is one."""
        whole = self.target.first_vector + number
        return bytes([0x50 + whole]) if whole < 32 and number % 2 else b"\x90" + uleb(whole)

    def breg(self, number: int, offset: int) -> bytes:
        return bytes([0x70 + self.number(number)]) + sleb(offset)

    def entry(self, number: int) -> bytes:
        return b"\xf3\x01" + self.reg(number)

    def frame(self) -> Frame:
        kept = self.number
        caller = Frame(
            registers={kept(3): 77, kept(6): RBP, kept(7): RSP + 0x100, kept(12): 2**40 + 5}, cfa=RBP + 16, bias=BIAS
        )
        registers = {number: 1000 + number for number in range(self.target.first_vector - 1)}
        registers |= {0: 2**64 - 5, 1: 0xFFFFFFFF00000003, 5: PAIR, kept(6): RBP, kept(7): RSP, 8: (44 << 32) | 33}
        return Frame(
            registers=registers,
            cfa=CFA,
            bias=BIAS,
            thread_local_block=TLS,
            vectors={2: struct.pack("<dd", 6.25, 0), 3: struct.pack("<ffff", 1.5, 0, 0, 0)},
            return_address=self.target.call_returns + BIAS,
            caller=caller,
        )

    def cases(self) -> list[tuple[str, bytes, LocationKind, float]]:
        return [
            # Registers and memory.
            ("int", self.reg(0), LocationKind.REGISTER, -5),
            ("word", self.reg(0), LocationKind.REGISTER, 2**64 - 5),
            ("unsigned", self.reg(1), LocationKind.REGISTER, 3),
            ("double", self.vector(2), LocationKind.VECTOR, 6.25),
            ("float", self.vector(3), LocationKind.VECTOR, 1.5),
            ("int", fbreg(-24), LocationKind.AT_CFA, -7),
            ("long", self.breg(7, 16), LocationKind.AT_REGISTER, -(2**40)),
            ("double", b"\x03" + struct.pack("<Q", DATA), LocationKind.AT_ADDRESS, 2.5),
            ("int", self.breg(5, 4), LocationKind.AT_REGISTER, -22),
            ("int", b"\x92" + uleb(5) + sleb(4), LocationKind.AT_REGISTER, -22),
            # Computed values.
            ("long", fbreg(-100) + STACK_VALUE, LocationKind.CFA_PLUS, CFA - 100),
            ("long", self.breg(7, 40) + STACK_VALUE, LocationKind.REGISTER_PLUS, RSP + 40),
            ("word", b"\x03" + struct.pack("<Q", DATA) + STACK_VALUE, LocationKind.ADDRESS, DATA + BIAS),
            ("int", b"\x39" + STACK_VALUE, LocationKind.CONSTANT, 9),
            ("int", b"\x09\xfe" + STACK_VALUE, LocationKind.CONSTANT, -2),
            ("double", b"\x9e\x08" + struct.pack("<d", 0.125), LocationKind.CONSTANT, 0.125),
            # Expressions.
            ("int", fbreg(-32) + b"\x06\x23\x04", LocationKind.EXPRESSION, -22),
            ("long", self.breg(8, 0) + b"\x08\x20\x25" + STACK_VALUE, LocationKind.EXPRESSION, 44),
            ("long", self.breg(0, 0) + b"\x31\x1a" + STACK_VALUE, LocationKind.EXPRESSION, 1),
            ("long", self.breg(0, 0) + b"\x32\x1b" + STACK_VALUE, LocationKind.EXPRESSION, -2),
            ("long", b"\x3a\x33\x1d" + STACK_VALUE, LocationKind.EXPRESSION, 1),
            ("long", self.breg(0, 0) + b"\x32\x26" + STACK_VALUE, LocationKind.EXPRESSION, -2),
            ("long", self.breg(0, 0) + b"\x19\x12\x1e" + STACK_VALUE, LocationKind.EXPRESSION, 25),
            ("int", self.breg(0, 0) + b"\x30\x2d" + STACK_VALUE, LocationKind.EXPRESSION, 1),
            ("int", self.breg(0, 0) + b"\x30\x2b" + STACK_VALUE, LocationKind.EXPRESSION, 0),
            ("int", b"\x31\x32\x33\x17\x1c\x1c" + STACK_VALUE, LocationKind.EXPRESSION, 4),
            ("int", b"\x35\x36\x14\x13\x16\x1c" + STACK_VALUE, LocationKind.EXPRESSION, 1),
            ("int", b"\x35\x36\x15\x01\x1c" + STACK_VALUE, LocationKind.EXPRESSION, 1),
            ("long", self.breg(5, 4) + b"\x94\x04" + STACK_VALUE, LocationKind.EXPRESSION, 2**32 - 22),
            ("long", self.breg(0, 0) + b"\x20\x1f" + STACK_VALUE, LocationKind.EXPRESSION, -4),
            # Typed operators: the same word as a signed and as an unsigned 32-bit number.
            (
                "long",
                self.breg(1, -4) + typed(0xF7, "int") + typed(0xF7, "long") + STACK_VALUE,
                LocationKind.EXPRESSION,
                -1,
            ),
            (
                "long",
                self.breg(1, -4) + typed(0xF7, "unsigned") + typed(0xF7, "long") + STACK_VALUE,
                LocationKind.EXPRESSION,
                2**32 - 1,
            ),
            (
                "long",
                b"\xa5" + uleb(1) + uleb(TYPES["unsigned"]) + b"\xf7\x00" + STACK_VALUE,
                LocationKind.EXPRESSION,
                3,
            ),
            # Pieces.
            ("int", self.reg(1) + piece(4), LocationKind.REGISTER, 3),
            # Entry values.
            ("int", self.entry(5) + STACK_VALUE, LocationKind.ENTRY, 42),
            ("int", self.entry(4) + STACK_VALUE, LocationKind.ENTRY, 77),
            ("long", self.entry(1) + STACK_VALUE, LocationKind.ENTRY, RBP - 64),
            ("long", self.entry(2) + b"\x23\x03" + STACK_VALUE, LocationKind.EXPRESSION, 2**40 + 8),
        ]

    def unreadable(self) -> list[tuple[str, bytes]]:
        return [
            ("nothing was passed in it", self.entry(9) + STACK_VALUE),
            ("a register that the call destroyed", self.entry(8) + STACK_VALUE),
            ("division by zero", self.breg(0, 0) + b"\x30\x1b" + STACK_VALUE),
            ("memory that is not there", b"\x38\x06" + STACK_VALUE),
        ]

    def unlisted(self) -> list[tuple[str, bytes]]:
        return [
            ("a jump", b"\x31\x28\x00\x00\x32" + STACK_VALUE),
            ("a segment register", b"\x90" + uleb(50)),
            ("two pieces of one number", self.reg(0) + piece(2) + self.reg(1) + piece(2)),
            ("an empty stack", b"\x22" + STACK_VALUE),
            ("a stack too deep", b"\x31" * 17 + STACK_VALUE),
            ("code behind the value", b"\x31" + STACK_VALUE + b"\x31"),
            ("an unsigned 64-bit division", self.breg(0, 0) + typed(0xF7, "word") + b"\x12\x1b" + STACK_VALUE),
            ("a conversion to floating point", self.breg(0, 0) + typed(0xF7, "double") + STACK_VALUE),
        ]

    def arguments(self) -> list[Argument]:
        return [
            Argument(5, b"\x08\x2a"),
            Argument(4, self.breg(3, 0)),
            Argument(1, fbreg(-64)),
            Argument(2, self.breg(12, 0)),
            Argument(8, self.breg(8, 0)),
        ]


HANDS = {target.name: Hand(target) for target in (X86_64, AARCH64)}
UNREADABLE = [why for why, _ in HANDS["x86-64"].unreadable()]
UNLISTED = [why for why, _ in HANDS["x86-64"].unlisted()]


@pytest.fixture(scope="module", params=list(HANDS))
def hand(request: pytest.FixtureRequest) -> Hand:
    return HANDS[request.param]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory, hand: Hand) -> VariablesTable:
    folder = tmp_path_factory.mktemp("handmade")
    variables = [Variable(f"case{i}", kind, expression) for i, (kind, expression, _, _) in enumerate(hand.cases())]
    variables += [Variable(f"unreadable{i}", "long", expression) for i, (_, expression) in enumerate(hand.unreadable())]
    variables += [Variable(f"unlisted{i}", "int", expression) for i, (_, expression) in enumerate(hand.unlisted())]
    variables += [
        Variable("number", "int", constant=-3),
        Variable("real", "double", constant=struct.pack("<d", 1.75)),
        Variable("in_registers", "pair", hand.reg(8) + piece(8) + hand.reg(7) + piece(8)),
        Variable("halves", "pair", hand.reg(8) + piece(4) + hand.reg(0) + piece(4) + piece(8)),
        Variable("on_stack", "pair", hand.breg(7, 32)),
        Variable("pointer", "pair *", hand.reg(5)),
        Variable("pointer_to_number", "int *", hand.reg(5)),
        Variable("spilled", "pair *", fbreg(-32)),
        Variable("never_assigned", "int", fbreg(-24), whole_scope=True),
    ]
    program = build(
        folder,
        hand.target,
        variables,
        of_caller=[Variable("by_rbp", "int", fbreg(-8))],
        of_file=[
            Variable("shared", "double", b"\x03" + struct.pack("<Q", DATA), whole_scope=True),
            Variable("own", "int", b"\x0e" + struct.pack("<Q", 24) + b"\x9b", whole_scope=True),
        ],
        arguments=hand.arguments(),
    )
    return table_of(program, folder)


def listed(table: VariablesTable, address: int) -> dict[str, int]:
    """Locations by variable name."""
    return {table.variables.name[table.locations[row]["variable"]]: row for row in table.at(address)}


@pytest.mark.parametrize("number", range(len(HANDS[X86_64.name].cases())))
def test_a_value_is_read_wherever_it_is(hand: Hand, table: VariablesTable, number: int) -> None:
    _, _, kind, expected = hand.cases()[number]
    location = listed(table, PROBE + 8)[f"case{number}"]
    assert table.locations[location]["kind"] == kind
    assert evaluate(table, location, hand.frame(), read_memory) == expected


@pytest.mark.parametrize("number", range(len(UNREADABLE)), ids=UNREADABLE)
def test_what_cannot_be_known_is_no_value(hand: Hand, table: VariablesTable, number: int) -> None:
    location = listed(table, PROBE + 8)[f"unreadable{number}"]
    assert evaluate(table, location, hand.frame(), read_memory) is None


@pytest.mark.parametrize("number", range(len(UNLISTED)), ids=UNLISTED)
def test_what_the_table_cannot_say_is_not_listed(hand: Hand, table: VariablesTable, number: int) -> None:
    assert f"unlisted{number}" not in listed(table, PROBE + 8)


def test_constants_and_structures(hand: Hand, table: VariablesTable) -> None:
    rows = listed(table, PROBE + 8)
    expected = {
        "number": -3,
        "real": 1.75,
        "in_registers.a": 33,
        "in_registers.b": 44,
        "in_registers.c": RSP,
        "halves.a": 33,
        "halves.b": -5,
        "on_stack.a": 11,
        "on_stack.b": 12,
        "on_stack.c": 13,
        "pointer": PAIR,
        "spilled": PAIR,
    }
    assert {name: evaluate(table, rows[name], hand.frame(), read_memory) for name in expected} == expected
    assert "halves.c" not in rows


def test_fields_behind_pointers(hand: Hand, table: VariablesTable) -> None:
    rows, names = listed(table, PROBE + 8), table.variables.name

    def behind(pointer: str, address: int) -> dict[str, int | float | None]:
        return {names[row]: value for row, value in evaluate_fields(table, rows[pointer], address, read_memory)}

    assert behind("pointer", PAIR) == {"pointer->a": 21, "pointer->b": -22, "pointer->c": 2**33}
    assert behind("pointer_to_number", PAIR) == {"*pointer_to_number": 21}
    assert behind("pointer", 0) == dict.fromkeys(["pointer->a", "pointer->b", "pointer->c"])
    assert behind("pointer", 0x1234) == dict.fromkeys(["pointer->a", "pointer->b", "pointer->c"])


def test_a_frame_base_may_be_a_register(hand: Hand, table: VariablesTable) -> None:
    location = listed(table, CALLER + 8)["by_rbp"]
    assert table.locations[location]["kind"] == LocationKind.AT_REGISTER
    assert evaluate(table, location, hand.frame(), read_memory) == 1234


def test_globals_hold_everywhere(hand: Hand, table: VariablesTable) -> None:
    found = {table.variables.name[table.locations[row]["variable"]]: row for row in table.globals.tolist()}
    values = {name: evaluate(table, row, hand.frame(), read_memory) for name, row in found.items()}
    assert values == {"shared": 2.5, "own": 99}
    assert "shared" not in listed(table, PROBE + 8)


def test_a_slot_that_no_line_is_known_to_have_assigned_is_not_listed(hand: Hand, table: VariablesTable) -> None:
    assert "never_assigned" not in listed(table, PROBE + 8)


def test_an_entry_value_needs_the_call_that_was_made(hand: Hand, table: VariablesTable) -> None:
    """Reached by a tail call, the function was called by somebody else: the site's target is not its entry."""
    location = listed(table, PROBE + 8)["case34"]
    assert table.locations[location]["kind"] == LocationKind.ENTRY
    here = hand.frame()
    elsewhere = Frame(
        here.registers, here.cfa, BIAS, return_address=hand.target.call_returns + BIAS + 1, caller=here.caller
    )
    assert evaluate(table, location, here, read_memory) == 42
    assert evaluate(table, location, elsewhere, read_memory) is None
