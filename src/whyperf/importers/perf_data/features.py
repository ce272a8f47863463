"""Feature sections: what perf wrote down beside the records."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field

from whyperf.importers.perf_data.attributes import Attributes, parse_attributes
from whyperf.importers.perf_data.layout import RECORD_HEADER, Feature, Misc
from whyperf.importers.perf_data.tracepoints import Format, parse_tracing_data

_BUILD_ID = struct.Struct("<i20sB3x")  # pid, build-id, its size
_BUILD_ID_BYTES = 20


@dataclass(frozen=True)
class Features:
    """Empty where perf said nothing: it was killed, or is too old."""

    host: str = ""
    kernel: str = ""
    machine: str = ""
    cpus: int = 0
    command: tuple[str, ...] = ()
    events: tuple[Attributes, ...] = ()  # with their names
    build_ids: dict[str, str] = field(default_factory=dict)  # by path
    formats: dict[int, Format] = field(default_factory=dict)
    real_minus_clock: int | None = None  # nanoseconds between perf's clock and real time
    damaged: tuple[str, ...] = ()


def parse_features(sections: Iterable[tuple[int, memoryview | None]]) -> Features:
    """What cannot be read is named in `damaged`; what is not used is passed over."""
    found: dict[str, object] = {}
    damaged: list[str] = []
    for number, section in sections:
        try:
            parse = _PARSERS.get(Feature(number))
        except ValueError:
            continue
        if parse is None or section is None:
            continue
        name, reader = parse
        try:
            found[name] = reader(section)
        except (struct.error, ValueError, IndexError):
            damaged.append(name)
    return Features(**found, damaged=tuple(damaged))  # type: ignore[arg-type] # each parser gives its field's type


def _text(section: memoryview) -> str:
    return _string(section, 0)[0]


def _string(section: memoryview, at: int) -> tuple[str, int]:
    (length,) = struct.unpack_from("<I", section, at)
    end = at + 4 + length
    if end > len(section):
        raise ValueError("a text ends early")
    return bytes(section[at + 4 : end]).split(b"\0", 1)[0].decode(errors="replace"), end


def _command(section: memoryview) -> tuple[str, ...]:
    (count,) = struct.unpack_from("<I", section)
    words, at = [], 4
    for _ in range(count):
        word, at = _string(section, at)
        words.append(word)
    return tuple(words)


def _cpus(section: memoryview) -> int:
    return int(struct.unpack_from("<II", section)[1])  # those that are online


def _events(section: memoryview) -> tuple[Attributes, ...]:
    count, size = struct.unpack_from("<II", section)
    found, at = [], 8
    for _ in range(count):
        raw = section[at : at + size]
        (ids,) = struct.unpack_from("<I", section, at + size)
        name, at = _string(section, at + size + 4)
        numbers = struct.unpack_from(f"<{ids}Q", section, at)
        at += 8 * ids
        found.append(parse_attributes(raw, numbers, name))
    return tuple(found)


def _build_ids(section: memoryview) -> dict[str, str]:
    found: dict[str, str] = {}
    at = 0
    while at + RECORD_HEADER.size <= len(section):
        _, misc, size = RECORD_HEADER.unpack_from(section, at)
        if size < RECORD_HEADER.size + _BUILD_ID.size:
            raise ValueError("a build-id makes no sense")
        path, build_id = parse_build_id(section[at + RECORD_HEADER.size : at + size], misc)
        found[path] = build_id
        at += size
    return found


def parse_build_id(body: memoryview, misc: int) -> tuple[str, str]:
    """Path and build-id of a BUILD_ID record without its header."""
    _, identity, length = _BUILD_ID.unpack_from(body)
    used = length if misc & Misc.BUILD_ID_SIZE and 0 < length <= _BUILD_ID_BYTES else _BUILD_ID_BYTES
    path = bytes(body[_BUILD_ID.size :]).split(b"\0", 1)[0].decode(errors="replace")
    return path, identity[:used].hex()


def _clock(section: memoryview) -> int:
    _, _, real, clock = struct.unpack_from("<IIQQ", section)
    return int(real) - int(clock)


_PARSERS = {
    Feature.HOSTNAME: ("host", _text),
    Feature.OS_RELEASE: ("kernel", _text),
    Feature.ARCH: ("machine", _text),
    Feature.CPU_COUNT: ("cpus", _cpus),
    Feature.COMMAND: ("command", _command),
    Feature.EVENT_DESCRIPTIONS: ("events", _events),
    Feature.BUILD_ID: ("build_ids", _build_ids),
    Feature.TRACING_DATA: ("formats", parse_tracing_data),
    Feature.CLOCK_DATA: ("real_minus_clock", _clock),
}
