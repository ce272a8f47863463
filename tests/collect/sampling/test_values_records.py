"""Records of values that are damaged, or that no sampler wrote, cost their sample's values and nothing else."""

from __future__ import annotations

import struct
import subprocess

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whyperf.collect import _session
from whyperf.debuginfo.elf_files.elf import read_elf
from whyperf.debuginfo.variable_tables.making import VariablesTable, table_file, write_table

_HEAD = struct.Struct("<QQHHHH")  # own stack from, to; frames, fetched at, fetched bytes, failed
_FRAME = struct.Struct("<BBH")  # depth, flags, registers
BIAS, CFA, VECTORS, OTHERS, CALLER_ONLY = 1, 2, 4, 8, 16

SOURCE = """
struct box { long first; int second; };
static volatile long sink;
__attribute__((noinline)) static long inner(struct box *box, int count) {
    long sum = box->first;
    for (int i = 0; i < count; i++) sink += sum;
    return sum;
}
__attribute__((noinline)) static long outer(struct box *box) { return inner(box, 3) + box->second; }
int main(void) { struct box box = {1, 2}; return (int)outer(&box); }
"""


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> tuple[VariablesTable, bytes]:
    folder = tmp_path_factory.mktemp("tables")
    binary = folder / "program"
    (folder / "program.c").write_text(SOURCE)
    subprocess.run(["cc", "-g", "-O0", "-o", binary, folder / "program.c"], check=True)
    elf = read_elf(binary)
    assert elf is not None
    table = write_table(str(binary), elf.build_id, folder, cache=folder)
    assert table is not None
    return table, table_file(folder, elf.build_id).read_bytes()


def unpack(table: tuple[VariablesTable, bytes], packed: bytes) -> _session.UnpackedValues:
    """One sample whose three frames lie where most variables can be read."""
    segments = table[0].segments
    places = segments["address"][np.argsort(segments["count"])[-3:]].astype(np.uint64)
    return _session.unpack_values(
        np.zeros(1, np.int32).data,
        np.array([len(packed)], np.int64).data,
        packed,
        np.zeros(1, np.int64).data,
        np.array([3], np.int64).data,
        np.arange(3, dtype=np.int64).data,
        np.zeros(3, np.int32).data,
        np.ascontiguousarray(places).data,
        [memoryview(table[1])],
    )


def test_an_empty_record_has_no_values(described: tuple[VariablesTable, bytes]) -> None:
    record = _HEAD.pack(0x7000, 0x8000, 0, _HEAD.size, 0, 0)
    assert unpack(described, record)["damaged"] == 0
    assert unpack(described, record[:-1])["damaged"] == 1


def test_a_frame_that_is_not_there_is_damage(described: tuple[VariablesTable, bytes]) -> None:
    frame = _FRAME.pack(3, 0, 0)
    record = _HEAD.pack(0x7000, 0x8000, 1, _HEAD.size + len(frame), 0, 0) + frame
    assert unpack(described, record)["damaged"] == 1


@given(
    frames=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 31), st.integers(0, 2**16 - 1)), max_size=5),
    content=st.binary(max_size=600),
    said=st.tuples(st.integers(0, 6), st.integers(0, 700), st.integers(0, 700), st.integers(0, 40)),
)
@settings(max_examples=400, deadline=None)
def test_no_record_does_harm(
    described: tuple[VariablesTable, bytes],
    frames: list[tuple[int, int, int]],
    content: bytes,
    said: tuple[int, int, int, int],
) -> None:
    pieces = [_FRAME.pack(*frame) + content[i * 50 : i * 50 + 120] for i, frame in enumerate(frames)]
    record = _HEAD.pack(0x7000, 0x8000, *said) + b"".join(pieces) + content

    unpacked = unpack(described, record)

    assert unpacked["damaged"] in (0, 1)
    assert len(unpacked["variable"]) == len(unpacked["value"]) // 2
    assert all(0 <= row < len(described[0].variables) for row in np.frombuffer(unpacked["variable"], np.int32))
