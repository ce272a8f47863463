"""Streams of the Valgrind tool written by hand, as native/dependences/stream.h describes them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

from whyperf.collect.setup.start import start_of, write_start
from whyperf.recording.sealed.manifest import Sampling

MAGIC = b"whyperf dependences stream 1\n"
_WORD = (1 << 64) - 1


def varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])


def zigzag(value: int) -> int:
    return value << 1 if value >= 0 else (-value << 1) - 1


def other(record: int, *numbers: int | bytes) -> bytes:
    """A record that is no event; bytes come with their length."""
    parts = (varint(n) if isinstance(n, int) else varint(len(n)) + n for n in numbers)
    return varint(record << 4 | 15) + b"".join(parts)


def module(path: str, build_id: str = "", base: int = 0) -> bytes:
    return other(0, base, base, bytes.fromhex(build_id), path.encode(errors="surrogateescape"))


def site(number_of_module: int, address_step: int, function: int, flags: int = 128) -> bytes:
    return other(1, number_of_module, zigzag(address_step), 4, function + 1, flags)


def enter(function: int, instructions: int = 5) -> bytes:
    return other(2, function, instructions, 0)


def leave(activations: int = 1, instructions: int = 5) -> bytes:
    return other(3, activations, instructions, 0)


def event(site_step: int) -> bytes:
    return varint(zigzag(site_step) << 4)


def watch(number: int, at_site: int, at_event: int) -> bytes:
    return other(8, number, at_site, at_event, 1, 2)


def end(instructions: int = 100) -> bytes:
    return other(13, 0, instructions)


def stream(records: Sequence[bytes]) -> bytes:
    payload = b"".join(records)
    return MAGIC + struct.pack("<II", len(payload), check(payload)) + payload


def check(content: bytes) -> int:
    """`dependences_check`."""
    total = 0x9E3779B97F4A7C15 ^ len(content)
    whole = len(content) // 8 * 8
    for (word,) in struct.iter_unpack("<Q", content[:whole]):
        total = (total ^ word) * 0xD6E8FEB86659FD93 & _WORD
        total ^= total >> 29
    for byte in content[whole:]:
        total = (total ^ byte) * 0x100000001B3 & _WORD
    return (total ^ total >> 32) & 0xFFFFFFFF


PLAN = """whyperf-plan 1
outside tag
module tool -
function 1000 {mode}
range 1000 1010
function 1010 {mode}
range 1010 1020
watch 4000 8
"""


def open_deep_recording(path: Path, phase: str, records: Sequence[bytes] | None = None) -> Path:
    """An open deep recording of a program whose file is not there any more."""
    raw = path / "raw"
    raw.mkdir(parents=True)
    (raw / "lock").touch()
    write_start(raw, start_of(("./tool",), {}, Sampling(0.0, "cpu", "valgrind"), "run", 0))
    mode = "zoom" if phase == "zoom" else "entries"
    (raw / "plan").write_text(PLAN.format(mode=mode))
    (raw / "deep.json").write_text(f'{{"phase": "{phase}", "valgrind": "3.19", "symptom": "instructions"}}')
    (raw / "stream").write_bytes(stream(WHOLE if records is None else records))
    return path


WHOLE = (
    module(""),
    module("/no/such/folder/tool"),
    site(1, 0x1000, 0),
    site(1, 0x10, 1),
    enter(0),
    event(1),
    enter(1),
    event(1),
    watch(0, 2, 2),
    leave(),
    leave(),
    end(),
)
