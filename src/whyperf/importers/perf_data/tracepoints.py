"""The formats of tracepoints, as perf copies them from tracefs: which field lies where in an event's bytes."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

_MAGIC = b"\x17\x08\x44tracing"
_ID = re.compile(r"^ID: (\d+)$", re.MULTILINE)
_NAME = re.compile(r"^name: (\S+)$", re.MULTILINE)
_FIELD = re.compile(r"field:([^;]+);\s*offset:(\d+);\s*size:(\d+);\s*signed:([01]);")


@dataclass(frozen=True)
class Field:
    offset: int
    size: int
    signed: bool


@dataclass(frozen=True)
class Format:
    """`system:name` and its fields."""

    name: str
    fields: dict[str, Field]


class _Cursor:
    def __init__(self, data: memoryview) -> None:
        self._data, self._at = data, 0

    def take(self, size: int) -> memoryview:
        if size > len(self._data) - self._at:
            raise ValueError("tracing data end early")
        self._at += size
        return self._data[self._at - size : self._at]

    def number(self, packed: str) -> int:
        form = struct.Struct(packed)
        return int(form.unpack(self.take(form.size))[0])

    def text(self) -> str:
        end = bytes(self._data[self._at : self._at + 4096]).find(b"\0")
        if end < 0:
            raise ValueError("tracing data hold an endless name")
        return bytes(self.take(end + 1)[:-1]).decode(errors="replace")

    def block(self) -> str:
        return bytes(self.take(self.number("<Q"))).decode(errors="replace")


def parse_tracing_data(data: memoryview) -> dict[int, Format]:
    """Formats by the number that is an event's `config`; as many as could be read."""
    formats: dict[int, Format] = {}
    cursor = _Cursor(data)
    try:
        if cursor.take(len(_MAGIC)) != _MAGIC:
            return formats
        cursor.text()  # version
        cursor.take(1 + 1 + 4)  # byte order, size of long, size of pages
        for _ in range(2):  # header_page, header_event
            cursor.text()
            cursor.block()
        for _ in range(cursor.number("<I")):
            cursor.block()  # of ftrace's own events
        for _ in range(cursor.number("<I")):
            system = cursor.text()
            for _ in range(cursor.number("<I")):
                _add(formats, system, cursor.block())
    except ValueError:
        pass  # what was read until here holds
    return formats


def _add(formats: dict[int, Format], system: str, text: str) -> None:
    number, name = _ID.search(text), _NAME.search(text)
    if number is None or name is None:
        return
    fields = {
        _field_name(declaration): Field(int(offset), int(size), signed == "1")
        for declaration, offset, size, signed in _FIELD.findall(text)
    }
    formats[int(number[1])] = Format(f"{system}:{name[1]}", fields)


def _field_name(declaration: str) -> str:
    return declaration.partition("[")[0].split()[-1].lstrip("*")
