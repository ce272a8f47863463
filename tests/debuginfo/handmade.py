"""DWARF written by hand: a program of two functions whose variables are wherever a test wants them.

The code is nothing but no-ops and one call; what matters are the expressions. Everything is linked at fixed addresses,
so that no relocation is needed and every byte of the debug information is written here. Nobody runs the program: which
machine it is for is written into it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.native.unwind.rows import sleb, uleb

from .building import run

TEXT = 0x401000
PROBE = TEXT
PROBE_END = TEXT + 0x40
CALLER = TEXT + 0x80
CALLER_END = CALLER + 0x40
DATA = 0x402000


@dataclass(frozen=True)
class Target:
    """The machine that a program is for."""

    name: str
    elf_number: int
    frame_register: int
    first_vector: int
    """DWARF's number."""
    register: Mapping[int, int]
    """Those that calls keep, by x86-64's number: the others are passed or lost on both."""
    nop: bytes
    leave: bytes
    call: Callable[[int], bytes]
    """By distance from its start."""

    @property
    def call_returns(self) -> int:
        return CALLER + 16 + len(self.call(0))


X86_64 = Target("x86-64", 62, 6, 17, {}, b"\x90", b"\xc3", lambda distance: struct.pack("<Bi", 0xE8, distance - 5))
AARCH64 = Target(
    "aarch64",
    183,
    29,
    64,
    {3: 19, 6: 29, 7: 31, 12: 20},
    struct.pack("<I", 0xD503201F),
    struct.pack("<I", 0xD65F03C0),
    lambda distance: struct.pack("<I", 0x94000000 | (distance >> 2 & 0x3FFFFFF)),
)


def _text(value: str) -> bytes:
    return value.encode() + b"\0"


def _block(content: bytes) -> bytes:
    return uleb(len(content)) + content


@dataclass(frozen=True)
class Variable:
    name: str
    type: str
    """One of `TYPES`."""
    expression: bytes = b""
    constant: int | bytes | None = None
    """DW_AT_const_value instead of a location."""
    whole_scope: bool = False
    """An expression for the whole scope instead of a list of places."""


@dataclass(frozen=True)
class Argument:
    """What the caller says of a register that it passed."""

    reg: int
    value: bytes


# Attributes and forms of each abbreviation: (number, tag, has children, [(attribute, form)]).
_STRING, _REF, _EXPRESSION, _LIST = 0x08, 0x13, 0x18, 0x17
_ADDRESS, _DATA1, _DATA4, _SDATA, _BLOCK1 = 0x01, 0x0B, 0x06, 0x0D, 0x0A
_ABBREVIATIONS = (
    (1, 0x11, True, [(0x03, _STRING), (0x13, _DATA1), (0x11, _ADDRESS), (0x12, _DATA4)]),
    (2, 0x24, False, [(0x03, _STRING), (0x3E, _DATA1), (0x0B, _DATA1)]),
    (3, 0x13, True, [(0x03, _STRING), (0x0B, _DATA1)]),
    (4, 0x0D, False, [(0x03, _STRING), (0x49, _REF), (0x38, _DATA1)]),
    (5, 0x0F, False, [(0x49, _REF)]),
    (6, 0x2E, True, [(0x03, _STRING), (0x11, _ADDRESS), (0x12, _DATA4), (0x40, _EXPRESSION)]),
    (7, 0x34, False, [(0x03, _STRING), (0x49, _REF), (0x02, _LIST)]),
    (8, 0x34, False, [(0x03, _STRING), (0x49, _REF), (0x02, _EXPRESSION)]),
    (9, 0x34, False, [(0x03, _STRING), (0x49, _REF), (0x1C, _SDATA)]),
    (10, 0x34, False, [(0x03, _STRING), (0x49, _REF), (0x1C, _BLOCK1)]),
    (11, 0x4109, True, [(0x11, _ADDRESS)]),
    (12, 0x410A, False, [(0x02, _EXPRESSION), (0x2111, _EXPRESSION)]),
)
_SCALARS = {"int": (5, 4), "unsigned": (7, 4), "long": (5, 8), "word": (7, 8), "double": (4, 8), "float": (4, 4)}
_UNIT_HEADER = 11


def _types() -> tuple[bytes, dict[str, int]]:
    """The types' DIEs, and where each starts in the unit; they come right after the unit's own DIE."""
    start = _UNIT_HEADER + len(_unit_entry())
    content, at = b"", dict[str, int]()
    for name, (encoding, size) in _SCALARS.items():
        at[name] = start + len(content)
        content += uleb(2) + _text(name) + bytes([encoding, size])
    at["pair"] = start + len(content)
    content += uleb(3) + _text("pair") + bytes([16])
    for member, kind, offset in (("a", "int", 0), ("b", "int", 4), ("c", "long", 8)):
        content += uleb(4) + _text(member) + struct.pack("<I", at[kind]) + bytes([offset])
    content += b"\0"
    for target in ("int", "pair"):
        at[f"{target} *"] = start + len(content)
        content += uleb(5) + struct.pack("<I", at[target])
    return content, at


def _unit_entry() -> bytes:
    return uleb(1) + _text("hand.c") + b"\x0c" + struct.pack("<QI", TEXT, CALLER_END - TEXT)


TYPES = _types()[1]


def _variable(variable: Variable, places: bytearray) -> bytes:
    head = _text(variable.name) + struct.pack("<I", TYPES[variable.type])
    if isinstance(variable.constant, int):
        return uleb(9) + head + sleb(variable.constant)
    if variable.constant is not None:
        return uleb(10) + head + bytes([len(variable.constant)]) + variable.constant
    if variable.whole_scope:
        return uleb(8) + head + _block(variable.expression)
    start = len(places)
    places += struct.pack("<QQH", PROBE - TEXT, CALLER_END - TEXT, len(variable.expression)) + variable.expression
    places += bytes(16)
    return uleb(7) + head + struct.pack("<I", start)


def _function(name: str, low: int, high: int, frame_base: bytes, children: bytes) -> bytes:
    return uleb(6) + _text(name) + struct.pack("<QI", low, high - low) + _block(frame_base) + children + b"\0"


def build(
    folder: Path,
    target: Target,
    variables: Sequence[Variable],
    *,
    of_caller: Sequence[Variable] = (),
    of_file: Sequence[Variable] = (),
    arguments: Sequence[Argument] = (),
) -> Path:
    """The program, with `variables` in the function `probe`, whose frame base is the CFA; `caller`'s is the
    frame pointer."""
    places = bytearray()
    site = uleb(11) + struct.pack("<Q", target.call_returns)
    for argument in arguments:
        site += uleb(12) + _block(bytes([0x50 + argument.reg])) + _block(argument.value)
    site += b"\0"
    unit = _unit_entry() + _types()[0]
    unit += _function("probe", PROBE, PROBE_END, b"\x9c", b"".join(_variable(v, places) for v in variables))
    inside = b"".join(_variable(v, places) for v in of_caller)
    unit += _function("caller", CALLER, CALLER_END, bytes([0x50 + target.frame_register]), inside + site)
    unit += b"".join(_variable(v, places) for v in of_file) + b"\0"
    header = struct.pack("<IHIB", _UNIT_HEADER - 4 + len(unit), 4, 0, 8)
    sections = {".debug_info": header + unit, ".debug_abbrev": _abbreviations(), ".debug_loc": bytes(places)}
    code = _filled(target.nop, PROBE_END - PROBE) + _filled(target.leave, CALLER - PROBE_END) + _filled(target.nop, 16)
    code += target.call(PROBE - CALLER - 16)
    code += _filled(target.nop, CALLER_END - TEXT - len(code))
    source = folder / "hand.s"
    lines = [".globl _start", ".text", "_start:", _bytes(code)]
    for name, content in sections.items():
        lines += [f'.section {name}, "", @progbits', _bytes(content)]
    source.write_text("\n".join([*lines, ""]))
    program = folder / "hand"
    link = ["-Wl,--build-id", f"-Wl,-Ttext={TEXT:#x}"]
    run("gcc", "-nostdlib", "-static", "-no-pie", *link, source, "-o", program)
    content = bytearray(program.read_bytes())
    content[18:20] = struct.pack("<H", target.elf_number)
    program.write_bytes(content)
    return program


def _filled(instruction: bytes, size: int) -> bytes:
    return instruction * (size // len(instruction))


def _abbreviations() -> bytes:
    content = b""
    for number, tag, has_children, attributes in _ABBREVIATIONS:
        content += uleb(number) + uleb(tag) + bytes([has_children])
        content += b"".join(uleb(attribute) + uleb(form) for attribute, form in attributes) + b"\0\0"
    return content + b"\0"


def _bytes(content: bytes) -> str:
    return ".byte " + ", ".join(map(str, content)) if content else ""
