"""Every bit of a sample's type, against what was put into the sample."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.importers import made
from whyperf.importers.perf_data.container import open_container
from whyperf.importers.perf_data.layout import RecordKind
from whyperf.importers.perf_data.samples import decode

WORD = st.integers(0, (1 << 63) - 1)
NUMBER = st.integers(0, (1 << 22) - 1)
BOUNDED = {"time": st.integers(0, (1 << 60) - 1), "period": st.integers(0, (1 << 53) - 1)}
USER_PC = st.integers(0x1000, (1 << 47) - 1)
KERNEL_PC = st.integers(0xFFFFFFFF80000000, 0xFFFFFFFFFFFF0000)
CONTEXT_KERNEL, CONTEXT_USER, CONTEXT_GUEST = (1 << 64) - 128, (1 << 64) - 512, (1 << 64) - 2048
REGISTERS = 0xFF01FF
READ_FORMATS = st.sampled_from((0, 4, 8, 12, 15, 3, 20, 31))


class _Made:
    """Builds one sample bit by bit, in the kernel's order, and notes what a reader must find."""

    def __init__(self, draw: st.DrawFn, bits: frozenset[int], event: made.Event) -> None:
        self.draw, self.bits, self.event = draw, bits, event
        self.body = b""
        self.expected: dict[str, int] = {}
        self.user: list[int] = []
        self.kernel: list[int] = []
        self.raw = b""

    def words(self, *values: int) -> None:
        self.body += struct.pack(f"<{len(values)}Q", *values)

    def field(self, bit: int, name: str) -> None:
        if bit in self.bits:
            value = self.draw(BOUNDED.get(name, WORD))
            self.words(value)
            self.expected[name] = value

    def build(self) -> bytes:
        draw = self.draw
        self.words(self.event.identity)
        self.field(0, "ip")
        if 1 in self.bits:
            self.expected["pid"], self.expected["tid"] = draw(NUMBER), draw(NUMBER)
            self.body += struct.pack("<II", self.expected["pid"], self.expected["tid"])
        self.field(2, "time")
        self.field(3, "address")
        if 6 in self.bits:
            self.words(self.event.identity)
        if 9 in self.bits:
            self.words(draw(WORD))
        if 7 in self.bits:
            self.expected["cpu"] = draw(NUMBER)
            self.body += struct.pack("<II", self.expected["cpu"], 0)
        self.field(8, "period")
        if 4 in self.bits:
            self._counts()
        if 5 in self.bits:
            self._chain()
        if 10 in self.bits:
            size = draw(st.integers(0, 5)) * 8 + 4
            self.raw = draw(st.binary(min_size=size, max_size=size))
            self.body += struct.pack("<I", size) + self.raw
        if 11 in self.bits:
            self._branches()
        if 12 in self.bits:
            abi = draw(st.sampled_from((0, 2)))
            self.words(abi, *(range(17) if abi else ()))
            self.expected["abi"] = abi
        if 13 in self.bits:
            self._memory()
        for _ in (bit for bit in (14, 15, 17, 19, 21, 22, 23) if bit in self.bits):
            self.words(draw(WORD))
        return made.record(RecordKind.SAMPLE, self.body)

    def _counts(self) -> None:
        layout = self.event.read_format
        times = [1] * ((layout & 1) + (layout >> 1 & 1))
        each = 1 + (layout >> 2 & 1) + (layout >> 4 & 1)
        if layout & 8:
            counters = self.draw(st.integers(0, 3))
            self.words(counters, *times, *[1] * counters * each)
        else:
            self.words(*times, *[1] * each)

    def _chain(self) -> None:
        self.kernel = self.draw(st.lists(KERNEL_PC, max_size=4))
        self.user = self.draw(st.lists(USER_PC, max_size=6))
        guest = [CONTEXT_GUEST, 0x1234] if self.draw(st.booleans()) else []
        chain = [*([CONTEXT_KERNEL, *self.kernel] if self.kernel else []), CONTEXT_USER, *self.user, *guest]
        self.words(len(chain), *chain)

    def _branches(self) -> None:
        count = self.draw(st.integers(0, 3))
        index = [5] if self.event.branches & 1 << 17 else []
        counters = [0] * count if self.event.branches & 1 << 19 else []
        self.words(count, *index, *[0] * 3 * count, *counters)

    def _memory(self) -> None:
        size = 8 * self.draw(st.integers(0, 4))
        self.words(size)
        if size:
            used = self.draw(st.integers(0, size))
            self.body += bytes(size) + struct.pack("<Q", used)
            self.expected["memory_size"] = used


@st.composite
def samples(draw: st.DrawFn) -> tuple[made.Event, _Made, bytes]:
    bits = frozenset(draw(st.sets(st.sampled_from([*range(16), 17, 19, 21, 22, 23]))))
    event = made.Event(
        sample_type=sum(1 << bit for bit in bits) | 1 << 16,
        read_format=draw(READ_FORMATS),
        branches=draw(st.sampled_from((0, 1 << 17, 1 << 19))),
        user_registers=REGISTERS,
    )
    content = _Made(draw, bits, event)
    return event, content, content.build()


@pytest.mark.thorough
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(samples())
def test_every_field_is_found_wherever_it_lies(tmp_path: Path, sample: tuple[made.Event, _Made, bytes]) -> None:
    # GIVEN a sample with any set of fields
    event, content, raw = sample
    (tmp_path / "file").write_bytes(made.PerfFile([event], [raw]).to_bytes())

    # WHEN it is decoded
    container = open_container(tmp_path / "file")
    decoded = decode(container, tmp_path)

    # THEN it holds what was put into it
    assert (len(decoded.samples), decoded.foreign, decoded.damaged) == (1, 0, 0)
    found = decoded.samples[0]
    for name, value in content.expected.items():
        assert found[name] == value, name
    at, size = int(found["raw"]), int(found["raw_size"])
    assert bytes(container.data[at : at + size]) == content.raw
    pcs, ends = (np.frombuffer(part, kind) for part, kind in zip(decoded.decoder.stacks(), ("u8", "i8"), strict=True))
    stacks = [pcs[start:end].tolist() for start, end in zip((0, *ends[:-1]), ends, strict=True)] if len(ends) else []
    user = content.user or ([content.expected["ip"]] if content.expected.get("ip") else [])
    assert (stacks[found["user_stack"] - 1] if found["user_stack"] else []) == user
    assert (stacks[found["kernel_stack"] - 1] if found["kernel_stack"] else []) == content.kernel


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(samples(), st.data())
def test_a_sample_that_is_too_short_is_damaged_and_nothing_else(
    tmp_path: Path, sample: tuple[made.Event, _Made, bytes], data: st.DataObject
) -> None:
    event, _, raw = sample
    needed = 8 * (1 + sum(event.sample_type >> bit & 1 for bit in range(14)))  # the shortest that these bits can be
    size = data.draw(st.integers(1, max(1, min(len(raw), needed) // 8 - 1))) * 8
    cut = struct.pack("<IHH", RecordKind.SAMPLE, made.USER, size) + raw[8:size]
    (tmp_path / "file").write_bytes(made.PerfFile([event], [cut]).to_bytes())

    decoded = decode(open_container(tmp_path / "file"), tmp_path)

    assert len(decoded.samples) + decoded.foreign + decoded.damaged == 1


def test_samples_come_in_the_order_of_their_times(tmp_path: Path) -> None:
    # GIVEN two CPUs' buffers one after the other
    event = made.Event()
    times = [10, 30, 50, 20, 40, 60]
    (tmp_path / "file").write_bytes(made.PerfFile([event], [made.plain_sample(event, t) for t in times]).to_bytes())

    decoded = decode(open_container(tmp_path / "file"), tmp_path)

    assert decoded.samples["time"].tolist() == sorted(times)


def test_events_are_told_apart_by_their_ids(tmp_path: Path) -> None:
    first, second = made.Event(identity=5), replace(made.Event(), identity=3, config=1, name="task-clock")
    records = [made.plain_sample(second, 1), made.plain_sample(first, 2), made.plain_sample(second, 3)]
    (tmp_path / "file").write_bytes(made.PerfFile([first, second], records).to_bytes())

    assert decode(open_container(tmp_path / "file"), tmp_path).samples["event"].tolist() == [1, 0, 1]
