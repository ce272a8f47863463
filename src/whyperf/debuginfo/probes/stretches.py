"""Stretches of code: functions, and the parts that were split off them.

Their entries in `.eh_frame` also say where exceptions land (by way of the table for the language's run-time library),
and whether the stretch starts in the midst of a function: with something on the stack already. Of functions that were
compiled without such entries debug information tells where they lie; no exception lands there.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.code_maps.places import lines_at
from whyperf.debuginfo.code_maps.unwind_index import unwind_ranges
from whyperf.debuginfo.elf_files.elf import ElfFile
from whyperf.debuginfo.image import Image
from whyperf.debuginfo.machines import machine_of

_WORDS = struct.Struct("<IIiI")  # of an entry: length, distance of the common entry, start, size
_COMMON_MAX, _ENTRY_MAX, _TABLE_MAX = 256, 1 << 12, 1 << 20
_OMITTED = 0xFF
_RELATIVE, _APPLICATION = 0x10, 0x70
_SIZES = {0x00: 8, 0x02: 2, 0x03: 4, 0x04: 8, 0x0A: 2, 0x0B: 4, 0x0C: 8}
_SIGNED = 0x08
_FORMAT_BITS = 0x0F
_ULEB = 0x01
_DEF_CFA, _DEF_CFA_OFFSET, _NOP, _REMEMBER_STATE = 0x0C, 0x0E, 0x00, 0x0A
_SIGNED_ADDRESS = 0x2D  # aarch64: the return address is signed from here on
_OFFSET_OF, _OPERATION_BITS = 0x80, 0xC0


@dataclass(frozen=True)
class Stretch:
    low: int
    high: int
    landings: frozenset[int] | None
    """Where exceptions land; None when that is not known."""
    is_part: bool
    """It starts with something on the stack: nobody calls it."""


class DamagedError(Exception):
    """What is read is not as expected."""


def stretches(elf: ElfFile, image: Image, bodies: Iterable[Stretch] = ()) -> Iterator[Stretch]:
    """In order of their addresses, without overlaps. `bodies` count where there are no unwind rows."""
    with_rows = list(_with_rows(elf, image))
    if not with_rows:
        return iter(())  # what cannot be read may be there
    return _joined(with_rows, bodies)


def bodies_of(binary: Binary) -> Iterator[Stretch]:
    """Of the functions that compilers tell the lines of: assembly has none."""
    code = binary.code
    entries = code.scope_entry[code.body_scope].tolist()
    lines = lines_at(code, code.body_low)[1].tolist()
    for low, high, entry, line in zip(code.body_low.tolist(), code.body_high.tolist(), entries, lines, strict=True):
        if line > 0:
            yield Stretch(low, high, frozenset(), low != entry)


def _joined(with_rows: list[Stretch], bodies: Iterable[Stretch]) -> Iterator[Stretch]:
    lows = [one.low for one in with_rows]
    found, last = list(with_rows), 0
    for body in sorted(bodies, key=lambda one: (one.low, one.high)):
        row = bisect_right(lows, body.low) - 1
        before = with_rows[row].high if row >= 0 else 0
        after = lows[row + 1] if row + 1 < len(lows) else body.high
        if max(before, last) <= body.low < body.high <= after:
            found.append(body)
            last = body.high
    return iter(sorted(found, key=lambda one: one.low))


def _with_rows(elf: ElfFile, image: Image) -> Iterator[Stretch]:
    ranges = unwind_ranges(elf)
    machine = machine_of(elf)
    entries = _Entries(image, machine.registers.depth_at_entry if machine is not None else 0)
    for low, high, entry in zip(ranges.low.tolist(), ranges.high.tolist(), ranges.entry.tolist(), strict=True):
        try:
            landings, is_part = entries.described(entry, low)
        except (DamagedError, IndexError, struct.error, UnicodeDecodeError):
            landings, is_part = None, True
        yield Stretch(low, high, landings, is_part)


@dataclass(frozen=True)
class _Common:
    """What many entries share."""

    table_encoding: int
    has_length: bool


class _Entries:
    def __init__(self, image: Image, depth_at_entry: int) -> None:
        self._image, self._depth_at_entry = image, depth_at_entry
        self._common: dict[int, _Common] = {}

    def described(self, entry: int, low: int) -> tuple[frozenset[int], bool]:
        length, distance, _, _ = _WORDS.unpack(self._image.read(entry, _WORDS.size))
        common = self._common_at(entry + 4 - distance)
        content = self._image.read(entry, min(length + 4, _ENTRY_MAX))
        rest = Bytes(content, _WORDS.size)
        landings: frozenset[int] = frozenset()
        if common.has_length:
            ends = rest.uleb() + rest.at
            if common.table_encoding != _OMITTED:
                table = rest.pointer(common.table_encoding, entry)
                landings = self._landings(table, low) if table else landings
            rest.at = ends
        return landings, _starts_with_stack(rest, self._depth_at_entry)

    def _common_at(self, address: int) -> _Common:
        if address not in self._common:
            self._common[address] = _read_common(Bytes(self._image.read(address, _COMMON_MAX), 8))
        return self._common[address]

    def _landings(self, table: int, low: int) -> frozenset[int]:
        """The call-site table of the Itanium C++ ABI, exception handling tables."""
        rest = Bytes(self._image.read(table, _TABLE_MAX), 0)
        if rest.byte() != _OMITTED:
            raise DamagedError  # landing pads relative to something else than the function: no compiler here does that
        if rest.byte() != _OMITTED:
            rest.uleb()
        encoding = rest.byte()
        end = rest.uleb() + rest.at
        found = set()
        while rest.at < end:
            _start, _size, landing = (rest.number(encoding) for _ in range(3))
            rest.uleb()
            if landing:
                found.add(low + landing)
        return frozenset(found)


def _read_common(rest: Bytes) -> _Common:
    rest.byte()  # version
    letters = rest.text()
    rest.uleb(), rest.uleb(), rest.uleb()  # alignment of code and data, return register
    encoding = _OMITTED
    if not letters.startswith("z"):
        if letters:
            raise DamagedError
        return _Common(encoding, False)
    rest.uleb()
    for letter in letters[1:]:
        if letter == "L":
            encoding = rest.byte()
        elif letter == "P":
            rest.pointer(rest.byte(), 0)
        elif letter == "R":
            rest.byte()
        elif letter not in "SBG":
            raise DamagedError
    return _Common(encoding, True)


def _starts_with_stack(rest: Bytes, depth_at_entry: int) -> bool:
    """Whether the rows say that before its first instruction there is more on the stack than when it is called."""
    while rest.at < len(rest.content):
        operation = rest.byte()
        if operation == _DEF_CFA_OFFSET:
            return rest.uleb() != depth_at_entry
        if operation == _DEF_CFA:
            rest.uleb()
            return rest.uleb() != depth_at_entry
        if operation & _OPERATION_BITS == _OFFSET_OF:  # some register was saved already
            return True
        if operation not in (_NOP, _REMEMBER_STATE, _SIGNED_ADDRESS):
            return False
    return False


class Bytes:
    """Reads on from a place."""

    def __init__(self, content: bytes, at: int) -> None:
        self.content, self.at = content, at

    def byte(self) -> int:
        self.at += 1
        return self.content[self.at - 1]

    def uleb(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def sleb(self) -> int:
        start = self.at
        value = self.uleb()
        bits = 7 * (self.at - start)
        return value - (1 << bits) if value >> (bits - 1) & 1 else value

    def text(self) -> str:
        end = self.content.index(b"\0", self.at)
        found = self.content[self.at : end].decode("ascii")
        self.at = end + 1
        return found

    def number(self, encoding: int) -> int:
        form = encoding & _FORMAT_BITS
        if form == _ULEB:
            return self.uleb()
        size = _SIZES.get(form)
        if size is None:
            raise DamagedError
        self.at += size
        if self.at > len(self.content):
            raise DamagedError
        return int.from_bytes(self.content[self.at - size : self.at], "little", signed=bool(form & _SIGNED))

    def pointer(self, encoding: int, base: int) -> int:
        """Relative to itself or not; `base` is the address of the content."""
        here = base + self.at
        value = self.number(encoding)
        if encoding & _APPLICATION not in (0, _RELATIVE):
            raise DamagedError
        return value + here if value and encoding & _APPLICATION == _RELATIVE else value
