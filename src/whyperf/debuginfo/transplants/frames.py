"""Unwind information for a copy, so that exceptions pass through it and land in it.

The giver's entries in `.eh_frame` are taken over, with new distances. What they find by pointers (the routine that
handles exceptions, the types that are caught) is found by slots of the copy.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from whyperf.debuginfo.code_maps.unwind_index import unwind_ranges
from whyperf.debuginfo.probes.stretches import Bytes, DamagedError
from whyperf.debuginfo.transplants.module import TransplantModule
from whyperf.debuginfo.transplants.references import CodePart
from whyperf.debuginfo.transplants.refused import RefusedError

_WORD = struct.Struct("<i")
_OMITTED = 0xFF
_NEAR, _BY_POINTER = 0x1B, 0x9B  # a distance of four signed bytes; to where a pointer is
_ENTRY_HEAD = 16  # length, distance of the common entry, start, size
_COMMON_MAX, _TABLE_MAX = 256, 1 << 20
_ALIGNMENT = 8


@dataclass(frozen=True)
class LandingTable:
    """Which exceptions land where in a stretch of code, as the language's run-time library reads it."""

    address: int
    content: bytes
    types: tuple[int, ...]
    """Where in it the distances to pointers to types are."""


@dataclass(frozen=True)
class _Common:
    content: bytes
    routine_at: int | None
    """Where the distance of a pointer to the routine is that handles exceptions."""
    has_tables: bool


@dataclass(frozen=True)
class StackFrame:
    part: CodePart
    common: _Common
    rows: bytes
    """How registers are found."""
    table: LandingTable | None
    routine: int | None
    """Where the pointer to the routine is, in the giver."""

    @property
    def pointers(self) -> set[int]:
        """Where the giver has pointers that this needs."""
        found = {_pointed(self.table, one) for one in self.table.types} if self.table is not None else set()
        return found if self.routine is None else found | {self.routine}


class Frames:
    """Of a module."""

    def __init__(self, module: TransplantModule) -> None:
        self._image = module.image
        ranges = unwind_ranges(module.elf)
        self._entries = dict(zip(ranges.low.tolist(), ranges.entry.tolist(), strict=True))

    def of(self, part: CodePart) -> StackFrame | None:
        """None where the file has none: nothing passes through it then either."""
        entry = self._entries.get(part.low)
        if entry is None:
            return None
        try:
            return self._read(part, entry)
        except (DamagedError, IndexError, struct.error, UnicodeDecodeError):
            raise RefusedError("its unwind information was not understood") from None

    def _read(self, part: CodePart, entry: int) -> StackFrame:
        length, distance = struct.unpack("<II", self._image.read(entry, 8))
        common, start = self._common(entry + 4 - distance)
        rest = Bytes(self._image.read(entry, length + 4), _ENTRY_HEAD)
        end = rest.uleb() + rest.at
        table = rest.pointer(_NEAR, entry) if common.has_tables else 0
        found = self._table(table) if table else None
        routine = None
        if common.routine_at is not None:
            at = common.routine_at
            routine = start + at + _WORD.unpack_from(common.content, at)[0]
        return StackFrame(part, common, rest.content[end:], found, routine)

    def _common(self, address: int) -> tuple[_Common, int]:
        (length,) = struct.unpack("<I", self._image.read(address, 4))
        rest = Bytes(self._image.read(address, min(length + 4, _COMMON_MAX)), 9)
        letters = rest.text()
        rest.uleb(), rest.uleb(), rest.uleb()
        if not letters.startswith("z"):
            raise DamagedError
        rest.uleb()
        routine_at, has_tables = None, False
        for letter in letters[1:]:
            encoding = rest.byte() if letter in "LPR" else 0
            if letter == "P":
                routine_at = rest.at
                rest.at += _WORD.size
            has_tables = has_tables or (letter == "L" and encoding != _OMITTED)
            if encoding not in {"P": (_BY_POINTER,), "L": (_NEAR, _OMITTED), "R": (_NEAR,)}.get(letter, (0,)):
                raise DamagedError
        return _Common(rest.content, routine_at, has_tables), address

    def _table(self, address: int) -> LandingTable:
        rest = Bytes(self._image.read(address, _TABLE_MAX), 0)
        if rest.byte() != _OMITTED:
            raise DamagedError
        types_encoding = rest.byte()
        types_end = rest.uleb() + rest.at if types_encoding != _OMITTED else None
        encoding = rest.byte()
        actions = rest.uleb() + rest.at
        chosen = set()
        while rest.at < actions:
            for _ in range(3):
                rest.number(encoding)
            chosen.add(rest.uleb())
        filters = list(_filters(rest.content, actions, chosen - {0}))
        if types_end is None or not filters:
            end = max([actions, *(at for at, _ in filters)])
            return LandingTable(address, rest.content[: types_end or end + 1], ())
        if types_encoding != _BY_POINTER or min(number for _, number in filters) < 0:
            raise DamagedError
        types = {types_end - _WORD.size * number for _, number in filters if number > 0}
        used = tuple(at for at in sorted(types) if _WORD.unpack_from(rest.content, at)[0])
        return LandingTable(address, rest.content[:types_end], used)


def _filters(content: bytes, actions: int, chosen: set[int]) -> Iterator[tuple[int, int]]:
    """Of action records, where each ends and which type it is for."""
    for first in chosen:
        at = actions + first - 1
        seen: set[int] = set()
        while at not in seen:
            seen.add(at)
            rest = Bytes(content, at)
            number = rest.sleb()
            place = rest.at
            following = rest.sleb()
            yield rest.at, number
            if not following:
                break
            at = place + following


def written(
    frames: list[StackFrame], at: int, placed: Callable[[int], int], slot_of: Callable[[int], int]
) -> tuple[bytes, list[tuple[int, int]]]:
    """Unwind information for a place in the copy, and where which distance of tables changes. `placed`: where in the
    copy an address of the giver is; `slot_of`: where in it a pointer is that the giver has at an address."""
    content = bytearray()
    for frame in frames:
        common = bytearray(frame.common.content)
        start = len(content)
        if frame.common.routine_at is not None and frame.routine is not None:
            here = frame.common.routine_at
            _WORD.pack_into(common, here, slot_of(frame.routine) - (at + start + here))
        content += common
        content += bytes(-len(content) % _ALIGNMENT)
        _lengthen(content, start)
        entry = len(content)
        low = placed(frame.part.low)
        augmentation = b"\0"
        if frame.common.has_tables:
            table = placed(frame.table.address) - (at + entry + _ENTRY_HEAD + 1) if frame.table else 0
            augmentation = b"\4" + _WORD.pack(table)
        content += struct.pack("<IIiI", 0, entry + 4 - start, low - (at + entry + 8), len(frame.part.content))
        content += augmentation + frame.rows
        content += bytes(-len(content) % _ALIGNMENT)
        _lengthen(content, entry)
    changes = [
        (here, slot_of(_pointed(frame.table, one)) - here)
        for frame in frames
        if frame.table is not None
        for one in frame.table.types
        for here in [placed(frame.table.address) + one]
    ]
    return bytes(content + bytes(_ALIGNMENT)), changes


def _pointed(table: LandingTable, at: int) -> int:
    """Where the giver has a pointer to a type."""
    (distance,) = _WORD.unpack_from(table.content, at)
    return table.address + at + int(distance)


def _lengthen(content: bytearray, start: int) -> None:
    struct.pack_into("<I", content, start, len(content) - start - 4)
