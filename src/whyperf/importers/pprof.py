"""pprof's profile.proto: CPU profiles of Go, gperftools, Rust's pprof and others."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from whyperf.errors import WhyperfError
from whyperf.importers.named_stacks import NamedPlace, NamedProfile, NamedStack
from whyperf.recording.names.identity import name_by_address
from whyperf.recording.safe_files.limits import MOST_PROFILE_BYTES
from whyperf.recording.schemas.tables import Clock
from whyperf.wire import BrokenMessage, fields, numbers, signed

# Samples, locations, functions and texts together, and bytes of all samples. Profiles of large servers have some
# hundred thousand of 30 bytes; beyond that the objects made of a small file would take all memory.
_MOST_MESSAGES = 1_000_000
_MOST_SAMPLE_BYTES = 32 << 20
_SAMPLE = 2  # number of the field
_SECONDS = {"nanoseconds": 1e-9, "microseconds": 1e-6, "milliseconds": 1e-3, "seconds": 1.0}
# Sample types that are time, best first; "wait" is what our own export writes.
_CPU_TYPES = ("cpu", "samples", "wall", "time")
_WAIT_TYPES = ("wait", "delay")


@dataclass
class _Raw:
    """The messages of a profile, by field."""

    sample_types: list[tuple[int, int]] = field(default_factory=list)  # text numbers of type and unit
    samples: list[tuple[list[int], list[int], list[tuple[int, int]]]] = field(default_factory=list)
    mappings: dict[int, int] = field(default_factory=dict)  # id -> text number of the file
    locations: dict[int, tuple[int, int, list[tuple[int, int]]]] = field(default_factory=dict)
    functions: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    time_ns: int = 0
    duration_ns: int = 0
    period: int = 0

    def text(self, number: int) -> str:
        return self.texts[number] if 0 <= number < len(self.texts) else ""


def read_pprof(path: Path, content: bytes) -> NamedProfile:
    raw = _parsed(path, content)
    columns = list(_columns(path, raw))
    stacks = tuple(_stacks(raw, columns))
    first = raw.mappings[min(raw.mappings)] if raw.mappings else 0
    program = raw.text(first) or path.name.split(".")[0]
    return NamedProfile(
        program=program.rsplit("/", 1)[-1],
        stacks=stacks,
        rate_hz=_rate(raw, columns),
        wall_s=raw.duration_ns / 1e9,
        start_real=raw.time_ns,
    )


def _parsed(path: Path, content: bytes) -> _Raw:
    try:
        if content[:2] == b"\x1f\x8b":
            inflating = zlib.decompressobj(wbits=31)
            content = inflating.decompress(content, MOST_PROFILE_BYTES)
            if inflating.unconsumed_tail or len(content) == MOST_PROFILE_BYTES:
                raise BrokenMessage(f"it decompresses to more than {MOST_PROFILE_BYTES:,} bytes")
            if not inflating.eof:
                raise BrokenMessage("it is cut short")
        return _messages(content)
    except (BrokenMessage, zlib.error, gzip.BadGzipFile, UnicodeDecodeError, TypeError, ValueError) as error:
        raise WhyperfError(f"{path} is no pprof profile that can be read: {error}.", "whyperf import --help") from None


def _messages(content: bytes) -> _Raw:
    raw, room = _Raw(), _MOST_SAMPLE_BYTES
    for read, (number, value) in enumerate(fields(content)):
        room -= len(value) if number == _SAMPLE and isinstance(value, memoryview) else 0
        if read > _MOST_MESSAGES or room < 0:
            raise BrokenMessage("it holds more samples than anybody can mean")
        match number, value:
            case 1, memoryview():
                raw.sample_types.append(_numbers_of(value, 1, 2))
            case 2, memoryview():
                raw.samples.append(_sample(value))
            case 3, memoryview():
                identity, file = _numbers_of(value, 1, 5)
                raw.mappings[identity] = file
            case 4, memoryview():
                identity, mapping = _numbers_of(value, 1, 2)
                address = _numbers_of(value, 3, 3)[0]
                lines = [
                    _numbers_of(line, 1, 2) for n, line in fields(value) if n == 4 and isinstance(line, memoryview)
                ]
                raw.locations[identity] = (mapping, address, lines)
            case 5, memoryview():
                identity, name = _numbers_of(value, 1, 2)
                file, declared = _numbers_of(value, 4, 5)
                raw.functions[identity] = (name, file, declared)
            case 6, memoryview():
                raw.texts.append(bytes(value).decode(errors="replace"))
            case 9, int():
                raw.time_ns = value
            case 10, int():
                raw.duration_ns = value
            case 12, int():
                raw.period = value
    return raw


def _numbers_of(message: memoryview, first: int, second: int) -> tuple[int, int]:
    found = {number: value for number, value in fields(message) if isinstance(value, int)}
    return found.get(first, 0), found.get(second, 0)


def _sample(message: memoryview) -> tuple[list[int], list[int], list[tuple[int, int]]]:
    locations: list[int] = []
    values: list[int] = []
    labels = []
    for number, value in fields(message):
        if number == 1:
            locations += numbers(value)
        elif number == 2:
            values += map(signed, numbers(value))
        elif number == 3 and isinstance(value, memoryview):
            labels.append(_numbers_of(value, 1, 2))
    return locations, values, labels


def _columns(path: Path, raw: _Raw) -> Iterator[tuple[int, Clock, float]]:
    """Which values of a sample are time, of which clock, and what one of them is in seconds."""
    names = [(raw.text(kind), _SECONDS.get(raw.text(unit), 0.0)) for kind, unit in raw.sample_types]
    for kinds, clock in ((_CPU_TYPES, Clock.CPU), (_WAIT_TYPES, Clock.BLOCKED)):
        timed = [column for kind in kinds for column, (name, unit) in enumerate(names) if name == kind and unit]
        if timed:
            yield timed[0], clock, names[timed[0]][1]
    if not any(unit and name in (*_CPU_TYPES, *_WAIT_TYPES) for name, unit in names):
        held = ", ".join(name for name, _ in names) or "nothing"
        raise WhyperfError(f"{path} holds {held}, and no time: whyperf compares CPU and waiting time.", "go tool pprof")


def _rate(raw: _Raw, columns: list[tuple[int, Clock, float]]) -> float:
    return 1 / (raw.period * columns[0][2]) if raw.period > 0 else 100.0


def _stacks(raw: _Raw, columns: list[tuple[int, Clock, float]]) -> Iterator[NamedStack]:
    thread_texts = {number for number, text in enumerate(raw.texts) if text == "thread"}
    places = {identity: tuple(_places(raw, *location)) for identity, location in raw.locations.items()}
    rate = _rate(raw, columns)
    for locations, values, labels in raw.samples:
        path = tuple(place for location in reversed(locations) for place in places.get(location, ()))
        thread = next((raw.text(text) for key, text in labels if key in thread_texts), "")
        for column, clock, unit in columns:
            if column < len(values) and values[column] > 0 and path:
                seconds = values[column] * unit
                yield NamedStack(path, seconds, max(round(seconds * rate), 1), clock, thread)


def _places(raw: _Raw, mapping: int, address: int, lines: list[tuple[int, int]]) -> Iterator[NamedPlace]:
    """Outermost first: the last line is the function into which the others were inlined."""
    program = min(raw.mappings, default=0)
    module = "" if mapping in (0, program) else raw.text(raw.mappings.get(mapping, 0))
    if not lines:
        yield NamedPlace(name_by_address(module.rsplit("/", 1)[-1] or "program", address), module)
    for function, line in reversed(lines):
        name, file, declared = raw.functions.get(function, (0, 0, 0))
        yield NamedPlace(raw.text(name) or "[unknown]", module, raw.text(file), line, declared)
