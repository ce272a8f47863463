"""Damage stays where it is: every other chunk is still read, and what was passed over is counted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyperf.recording.raw_log.chunks import MAGIC, MAX_PAYLOAD, ChunkReader, encode_chunk

_payloads = st.binary(max_size=60) | st.just(MAGIC * 5) | st.binary(max_size=20).map(lambda b: encode_chunk(1, b))
_chunks = st.lists(st.tuples(st.integers(0, 5), _payloads), max_size=12)


def read(content: bytes) -> tuple[list[tuple[int, bytes]], int]:
    reader = ChunkReader()
    return [(chunk.kind, bytes(chunk.payload)) for chunk in reader.in_bytes(content)], reader.damaged_bytes


@given(_chunks)
def test_chunks_come_back(chunks: list[tuple[int, bytes]]) -> None:
    assert read(b"".join(encode_chunk(*chunk) for chunk in chunks)) == (chunks, 0)


@given(_chunks, st.data())
def test_a_log_cut_anywhere_keeps_what_came_before(chunks: list[tuple[int, bytes]], data: st.DataObject) -> None:
    encoded = [encode_chunk(*chunk) for chunk in chunks]
    content = b"".join(encoded)
    cut = data.draw(st.integers(0, len(content)))
    whole, end = 0, 0
    while whole < len(encoded) and end + len(encoded[whole]) <= cut:
        end += len(encoded[whole])
        whole += 1
    found, damaged = read(content[:cut])
    assert found[:whole] == chunks[:whole]
    # Only a payload that itself holds chunks can give more.
    assert damaged <= cut - end


@given(_chunks.filter(bool), st.data())
def test_one_flipped_bit_costs_one_chunk(chunks: list[tuple[int, bytes]], data: st.DataObject) -> None:
    encoded = [encode_chunk(*chunk) for chunk in chunks]
    victim = data.draw(st.integers(0, len(chunks) - 1))
    bit = data.draw(st.integers(0, 8 * len(encoded[victim]) - 1))
    broken = bytearray(encoded[victim])
    broken[bit // 8] ^= 1 << bit % 8
    found, damaged = read(b"".join((*encoded[:victim], bytes(broken), *encoded[victim + 1 :])))
    assert found[:victim] == chunks[:victim]
    rest = len(chunks) - victim - 1
    assert rest == 0 or found[-rest:] == chunks[victim + 1 :]
    assert 0 < damaged <= len(broken)


@given(st.binary(max_size=3000))
def test_noise_is_never_more_than_damage(noise: bytes) -> None:
    assert read(noise) == ([], len(noise))


def test_too_long_a_payload_is_refused_when_written() -> None:
    with pytest.raises(ValueError, match="too long"):
        encode_chunk(1, bytes(MAX_PAYLOAD + 1))


@pytest.mark.parametrize("payload", [b"[1]", b"\xff", b"{", b"[" * 100_000], ids=["list", "bytes", "cut", "deep"])
def test_json_that_is_no_object_is_empty(payload: bytes) -> None:
    (chunk,) = ChunkReader().in_bytes(encode_chunk(2, payload))
    assert chunk.json() == {}
